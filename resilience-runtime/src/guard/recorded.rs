//! What a recording is told of a call.

use super::{Calling, Running};
use crate::clock;
use crate::recorder::{End, Ended};
use crate::rejection::Reason;

impl Calling {
    /// An attempt is over.
    #[cold]
    pub(super) fn record_attempt(&self, running: &Running, end: End) {
        self.record(running.started, self.attempts, end);
    }

    /// The call is refused before another attempt.
    #[cold]
    pub(super) fn record_refused(&self, reason: Reason) {
        self.record(self.pause_until, self.attempts + 1, End::Refused(reason));
    }

    /// The caller went from the line.
    #[cold]
    pub(super) fn record_left(&self) {
        if self.traits.is_recorded() {
            self.record(self.pause_until, 1, End::Left);
        }
    }

    fn record(&self, began: u64, attempt: u32, end: End) {
        let now = clock::now();
        // A repeat without a pause begins as it is refused.
        let began = if began == 0 { now } else { began };
        self.entry.recorders().put(&Ended {
            identity: self.entry.identity(),
            site: self.site,
            key: self.key,
            began,
            took: now.saturating_sub(began),
            attempt,
            end,
        });
    }
}
