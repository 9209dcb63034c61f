//! What other instances counted, added by who looks now and then. Nothing here is on the path of a call.

use super::Breaker;
use super::state::{Look, Transition};
use super::window::Totals;

impl Breaker {
    /// What the window holds.
    #[inline]
    pub(crate) fn look(&self, now: u64) -> Look {
        self.lock().look(now)
    }

    /// Judges the own results of `period` together with those of others; see [`Machine::judge_with`].
    ///
    /// [`Machine::judge_with`]: super::state::Machine::judge_with
    #[inline]
    pub(crate) fn judge_with(&self, others: Totals, period: u64, now: u64) -> Option<(Transition, Totals)> {
        self.lock().judge_with(others, period, now)
    }
}
