//! Counts of calls by outcome and by who answered. Every call is in exactly one cell, so the cells
//! sum to the calls.
//!
//! Each thread writes cells of its own, so that counting costs two plain moves and no core takes a
//! line from another; readers add the threads up.

mod minute;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::Served;
use crate::rejection::Reason;
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
#[derive(Debug)]
pub(crate) struct Tally {
    /// Place in each thread's list; used again when the tally is gone.
    place: usize,
    /// Tells this tally from those that had its place before.
    serial: u64,
    threads: Mutex<Threads>,
    /// Calls that were pending at least once and have not ended.
    running: AtomicU64,
    minute: Minute,
}

#[derive(Debug, Default)]
struct Threads {
    /// What threads that are gone have counted.
    gone: Cells,
    alive: Vec<Arc<Cells>>,
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

struct Mine {
    serial: u64,
    cells: Arc<Cells>,
}

thread_local! {
    static MINE: RefCell<Vec<Option<Mine>>> = const { RefCell::new(Vec::new()) };
}

static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));
static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Default for Tally {
    fn default() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = free.0.pop().unwrap_or_else(|| {
            free.1 += 1;
            free.1 - 1
        });
        Self {
            place,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            threads: Mutex::default(),
            running: AtomicU64::new(0),
            minute: Minute::default(),
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.place);
    }
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
        self.count([ended(outcome, served)]);
    }

    /// A call, or an attempt of it, was rejected.
    pub(crate) fn reject(&self, reason: Reason) {
        self.count([rejected(reason)]);
    }

    /// Both, of a call that was rejected and has no fallback.
    #[inline]
    pub(crate) fn end_rejected(&self, reason: Reason, now: Option<u64>) {
        if let Some(now) = now {
            self.minute.see(now, || self.sums());
        }
        self.count([ended(CallOutcome::Rejected, Served::Error), rejected(reason)]);
    }

    /// Counts in these of this thread's cells.
    #[inline]
    fn count<const N: usize>(&self, places: [usize; N]) {
        let counted = MINE.try_with(|mine| {
            let Ok(mine) = mine.try_borrow() else { return false };
            let Some(Some(mine)) = mine.get(self.place) else {
                return false;
            };
            if mine.serial != self.serial {
                return false;
            }
            mine.cells.up(places);
            true
        });
        if counted != Ok(true) {
            self.count_first(places);
        }
    }

    /// The first count of this thread.
    #[cold]
    fn count_first<const N: usize>(&self, places: [usize; N]) {
        let cells = Arc::new(Cells::default());
        cells.up(places);
        let mut threads = self.lock();
        // Who else holds it is its thread; nobody else means that the thread is gone.
        let Threads { gone, alive } = &mut *threads;
        alive.retain(|cells| {
            let lives = Arc::strong_count(cells) > 1;
            if !lives {
                gone.take(cells);
            }
            lives
        });
        let kept = MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            if mine.len() <= self.place {
                mine.resize_with(self.place + 1, || None);
            }
            mine[self.place] = Some(Mine {
                serial: self.serial,
                cells: Arc::clone(&cells),
            });
        });
        if kept.is_ok() {
            alive.push(cells);
        } else {
            // The thread is ending; its cells go straight to those that are gone.
            gone.take(&cells);
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
        let threads = self.lock();
        for cells in threads.alive.iter().map(|cells| &**cells).chain([&threads.gone]) {
            for (sum, cell) in sums.iter_mut().zip(&cells.0) {
                *sum += load(cell);
            }
        }
        sums
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn up<const N: usize>(&self, places: [usize; N]) {
        for place in places {
            let cell = &self.0[place];
            cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Takes over what a thread that is gone has counted. Called under the lock.
    fn take(&self, gone: &Cells) {
        for (mine, theirs) in self.0.iter().zip(&gone.0) {
            mine.fetch_add(load(theirs), Ordering::Relaxed);
        }
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
        for _ in 0..5 {
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
            (17, 15, 1)
        );
        assert!(tally.lock().alive.len() < 10, "threads that are gone are folded up");
    }

    #[test]
    fn a_rejection_is_counted_by_its_reason_on_every_thread() {
        let tally = Tally::default();
        for (place, reason) in Reason::ALL.iter().enumerate() {
            for _ in 0..=place {
                std::thread::scope(|scope| scope.spawn(|| tally.reject(*reason)).join().unwrap());
            }
        }
        tally.end_rejected(Reason::Open, None);
        let counts: Vec<_> = tally.rejections().collect();
        let expected: Vec<_> = Reason::ALL.iter().copied().zip([2, 2, 3, 4, 5, 6, 7, 8]).collect();
        assert_eq!(counts, expected);
        assert_eq!(tally.ended()[CallOutcome::Rejected as usize].iter().sum::<u64>(), 1);
    }

    #[test]
    fn a_place_that_is_used_again_starts_at_zero() {
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
