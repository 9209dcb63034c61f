//! Counts of calls by outcome and by who answered. Every call is in exactly one cell, so the cells
//! sum to the calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::event::Served;

/// How a call ended, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Success,
    Business,
    /// Timed out included.
    Failure,
    Throttled,
    Ignored,
    Rejected,
    Cancelled,
    Panicked,
}

const OUTCOMES: usize = 8;
const SERVED: usize = 4;
/// The stretch of the degraded ratio, in seconds.
const MINUTE: u64 = 60;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    begun: AtomicU64,
    ended: [[AtomicU64; SERVED]; OUTCOMES],
    minute: Minute,
}

/// The totals at the begin of each second of the last minute in which something happened.
#[derive(Debug, Default)]
struct Minute {
    newest: AtomicU64,
    samples: Mutex<VecDeque<(u64, u64, u64)>>,
}

impl Tally {
    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// One call ended. `now` may be missing where nobody read the clock; the call then counts into
    /// the second that was seen last.
    pub(crate) fn end(&self, outcome: CallOutcome, served: Served, now: Option<u64>) {
        if let Some(now) = now {
            self.see(now);
        }
        self.ended[outcome as usize][served as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn in_flight(&self) -> u64 {
        // Ends are read first, so that a call that begins and ends in between cannot make it negative.
        let ended = self.calls();
        self.begun.load(Ordering::Relaxed).saturating_sub(ended)
    }

    /// Calls that ended.
    pub(crate) fn calls(&self) -> u64 {
        self.ended.iter().flatten().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn ended(&self, outcome: CallOutcome) -> u64 {
        self.ended[outcome as usize].iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn served(&self, served: Served) -> u64 {
        self.ended.iter().map(|row| row[served as usize].load(Ordering::Relaxed)).sum()
    }

    fn degraded(&self) -> u64 {
        self.served(Served::Fallback) + self.served(Served::Stale)
    }

    /// Share of the last minute's calls that a fallback answered.
    pub(crate) fn degraded_ratio(&self, now: u64) -> f64 {
        let second = now / SECOND;
        let mut samples = self.minute.samples.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut samples, second);
        let Some(&(_, calls, degraded)) = samples.front() else { return 0.0 };
        let calls = self.calls().saturating_sub(calls);
        #[allow(clippy::cast_precision_loss)] // a minute's calls are far below 2^52
        if calls == 0 { 0.0 } else { self.degraded().saturating_sub(degraded) as f64 / calls as f64 }
    }

    fn see(&self, now: u64) {
        let second = now / SECOND;
        if self.minute.newest.swap(second, Ordering::Relaxed) == second {
            return;
        }
        let mut samples = self.minute.samples.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut samples, second);
        if samples.back().is_none_or(|newest| newest.0 < second) {
            samples.push_back((second, self.calls(), self.degraded()));
        }
    }
}

fn forget(samples: &mut VecDeque<(u64, u64, u64)>, second: u64) {
    while samples.front().is_some_and(|oldest| oldest.0 + MINUTE <= second) {
        samples.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_of_the_last_minute() {
        let tally = Tally::default();
        for _ in 0..10 {
            tally.end(CallOutcome::Success, Served::Primary, Some(SECOND));
        }
        assert_eq!(tally.degraded_ratio(SECOND).to_bits(), 0.0_f64.to_bits());
        for _ in 0..10 {
            tally.end(CallOutcome::Failure, Served::Fallback, Some(30 * SECOND));
        }
        assert!((tally.degraded_ratio(30 * SECOND) - 0.5).abs() < 1e-9);
        assert!((tally.degraded_ratio(61 * SECOND) - 1.0).abs() < 1e-9);
        assert_eq!(tally.degraded_ratio(90 * SECOND).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn outcomes_sum_to_calls() {
        let tally = Tally::default();
        tally.begin();
        tally.begin();
        assert_eq!(tally.in_flight(), 2);
        tally.end(CallOutcome::Cancelled, Served::Error, None);
        assert_eq!((tally.in_flight(), tally.calls(), tally.ended(CallOutcome::Cancelled)), (1, 1, 1));
    }
}
