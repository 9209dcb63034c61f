//! Counts of calls by outcome and by who answered. Every call is in exactly one cell, so the cells
//! sum to the calls.
//!
//! Each thread writes cells of its own, so that counting costs two plain moves and no core takes a
//! line from another; readers add the threads up.

mod lanes;
mod minute;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::Served;
use crate::rejection::Reason;
use lanes::Lanes;
use minute::Minute;

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

impl CallOutcome {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; OUTCOMES] = [
        Self::Success,
        Self::Business,
        Self::Failure,
        Self::Throttled,
        Self::Ignored,
        Self::Rejected,
        Self::Cancelled,
        Self::Panicked,
    ];

    /// The word used in JSON and labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Business => "business",
            Self::Failure => "failure",
            Self::Throttled => "throttled",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
        }
    }
}

pub(crate) const OUTCOMES: usize = 8;
pub(crate) const SERVED: usize = Served::ALL.len();

/// The counts of one name.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    lanes: Lanes,
    /// Calls that were pending at least once and have not ended.
    running: AtomicU64,
    minute: Minute,
}

/// Ended calls by outcome and by who answered, and behind them rejections by reason: a call that was cut in each of its
/// attempts has several.
#[derive(Debug)]
struct Cells([AtomicU64; ENDED + Reason::ALL.len()]);

const ENDED: usize = OUTCOMES * SERVED;

/// The cell of such a call.
const fn ended(outcome: CallOutcome, served: Served) -> usize {
    outcome as usize * SERVED + served as usize
}

/// The cell of such a rejection.
const fn rejected(reason: Reason) -> usize {
    ENDED + reason as usize
}

impl Tally {
    /// A call is pending: from now on it is seen to run.
    pub(crate) fn pending(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that was [`pending`](Self::pending) ended.
    pub(crate) fn done(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls that run.
    pub(crate) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// One call ended. `now` may be missing where nobody read the clock; the call then counts into
    /// the second that was seen last.
    #[inline]
    pub(crate) fn end(&self, outcome: CallOutcome, served: Served, now: Option<u64>) {
        if let Some(now) = now {
            self.minute.see(now, || self.sums());
        }
        self.count(ended(outcome, served));
    }

    /// A call, or an attempt of it, was rejected.
    pub(crate) fn reject(&self, reason: Reason) {
        self.count(rejected(reason));
    }

    /// Both, of a call that found its breaker open and has no fallback.
    #[inline]
    pub(crate) fn end_open(&self, now: Option<u64>) {
        const PLACES: [usize; 2] = [ended(CallOutcome::Rejected, Served::Error), rejected(Reason::Open)];
        if let Some(now) = now {
            self.minute.see(now, || self.sums());
        }
        match self.lanes.mine() {
            Some(cells) => PLACES.iter().for_each(|place| cells.up(*place)),
            None => PLACES.iter().for_each(|place| self.lanes.up_first(*place)),
        }
    }

    /// Counts in this of this thread's cells.
    #[inline]
    fn count(&self, place: usize) {
        match self.lanes.mine() {
            Some(cells) => cells.up(place),
            None => self.lanes.up_first(place),
        }
    }

    /// Calls that ended.
    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn calls(&self) -> u64 {
        self.sums().0
    }

    /// Calls that ended, by outcome and by who answered.
    pub(crate) fn ended(&self) -> [[u64; SERVED]; OUTCOMES] {
        let all = self.all();
        let mut sums = [[0; SERVED]; OUTCOMES];
        for (sum, cell) in sums.iter_mut().flatten().zip(all) {
            *sum = cell;
        }
        sums
    }

    /// How often calls were rejected, by reason.
    pub(crate) fn rejections(&self) -> impl Iterator<Item = (Reason, u64)> {
        let all = self.all();
        Reason::ALL.iter().map(move |reason| (*reason, all[rejected(*reason)]))
    }

    /// Share of the last minute's calls that a fallback answered.
    pub(crate) fn degraded_ratio(&self, now: u64) -> f64 {
        self.minute.ratio(now, || self.sums())
    }

    /// Calls, and those that a fallback answered.
    pub(crate) fn sums(&self) -> (u64, u64) {
        let ended = self.ended();
        let of = |served: Served| ended.iter().map(|row| row[served as usize]).sum::<u64>();
        (ended.iter().flatten().sum(), of(Served::Fallback) + of(Served::Stale))
    }

    /// Every cell, of all threads.
    fn all(&self) -> [u64; ENDED + Reason::ALL.len()] {
        let mut sums = [0; ENDED + Reason::ALL.len()];
        for cells in self.lanes.all() {
            for (sum, cell) in sums.iter_mut().zip(&cells.0) {
                *sum += load(cell);
            }
        }
        sums
    }
}

impl Default for Cells {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Cells {
    /// Written by one thread only, so a load and a store are enough.
    #[inline]
    fn up(&self, place: usize) {
        let cell = &self.0[place];
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The same where several threads write.
    fn up_shared(&self, place: usize) {
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }
}

fn load(cell: &AtomicU64) -> u64 {
    cell.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_threads_that_are_gone_stay_counted() {
        let tally = Tally::default();
        for _ in 0..100 {
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| tally.end(CallOutcome::Success, Served::Primary, None));
                }
            });
        }
        tally.end(CallOutcome::Cancelled, Served::Error, None);
        tally.end(CallOutcome::Failure, Served::Stale, None);
        assert_eq!(
            (
                tally.calls(),
                tally.ended()[CallOutcome::Success as usize].iter().sum::<u64>(),
                tally.sums().1
            ),
            (302, 300, 1)
        );
        // Those of other tests stand beside them.
        assert!(tally.lanes.all().count() < 150, "threads count on where others stood");
    }

    #[test]
    fn a_rejection_is_counted_by_its_reason_on_every_thread() {
        let tally = Tally::default();
        for (place, reason) in Reason::ALL.iter().enumerate() {
            for _ in 0..=place {
                std::thread::scope(|scope| scope.spawn(|| tally.reject(*reason)).join().unwrap());
            }
        }
        tally.end_open(None);
        let counts: Vec<_> = tally.rejections().collect();
        let expected: Vec<_> = Reason::ALL.iter().copied().zip([2, 2, 3, 4, 5, 6, 7, 8]).collect();
        assert_eq!(counts, expected);
        assert_eq!(tally.ended()[CallOutcome::Rejected as usize].iter().sum::<u64>(), 1);
    }

    #[test]
    fn every_tally_starts_at_zero() {
        for _ in 0..3 {
            let tally = Tally::default();
            assert_eq!(tally.calls(), 0);
            tally.end(CallOutcome::Success, Served::Primary, None);
            assert_eq!(tally.calls(), 1);
        }
    }

    #[test]
    fn the_ratio_is_of_the_last_minute() {
        const SECOND: u64 = 1_000_000_000;
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
}
