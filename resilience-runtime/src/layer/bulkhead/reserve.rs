//! Free slots that threads keep in reserve, each on a cache line that few others touch: two cores that call at the same
//! time would otherwise take the one shared line from each other with every call.
//!
//! A line is open or closed. Only who holds the bulkhead's lock opens and closes, and always all of them. Putting a slot
//! on a line and taking one from it is one exchange each that fails on a closed line, so it either came before the
//! closing, which then finds the slot where it is, or goes the common way.

use std::sync::OnceLock;

#[cfg(all(test, resilience_loom))]
use super::loom::{PLACES, place};
#[cfg(not(all(test, resilience_loom)))]
use super::place::{PLACES, place};
use crate::sync::atomic::{AtomicU32, Ordering};

/// What a closed line holds; an open one holds fewer slots.
const CLOSED: u32 = u32::MAX;

/// The most slots that a line holds: enough that few steps of a busy thread go the common way.
const DEEPEST: u32 = 32;

/// The lines of one bulkhead.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// Made when they are opened first, so that what is never fought over stays small.
    lines: OnceLock<Box<[Line]>>,
    /// How many lines are in use, less one: a power of two, so this is a mask.
    mask: AtomicU32,
    /// How many slots each holds.
    depth: AtomicU32,
}

/// Cores fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Line(AtomicU32);

/// How many lines, and how many slots each holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    lines: u32,
    depth: u32,
}

impl Shape {
    /// Fit for so many slots and this machine. Together half of the slots, so that the rest seldom runs out; nothing
    /// where that is not even a slot for each of two threads, or where threads cannot meet.
    pub(super) fn of(limit: u32) -> Option<Self> {
        Self::on(cores(), limit)
    }

    fn on(cores: u32, limit: u32) -> Option<Self> {
        let half = limit / 2;
        let lines = cores.next_power_of_two().min(1 << half.checked_ilog2()?);
        (lines > 1).then(|| Self {
            lines,
            depth: (half / lines).min(DEEPEST),
        })
    }

    /// A few slots on each of two lines, whatever the bulkhead allows.
    #[cfg(test)]
    pub(super) const SMALL: Self = Self { lines: 2, depth: 1 };

    /// All slots that the lines may hold.
    pub(super) fn slots(self) -> u32 {
        self.lines * self.depth
    }
}

/// As many as lines are worth having for.
fn cores() -> u32 {
    static CORES: OnceLock<u32> = OnceLock::new();
    if cfg!(test) {
        return 2;
    }
    *CORES.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        #[allow(clippy::cast_possible_truncation)] // a few
        let cores = cores.min(PLACES) as u32;
        cores
    })
}

impl Reserve {
    /// Takes a slot from this thread's line.
    #[inline]
    pub(super) fn take(&self) -> bool {
        self.exchange(|held| (1..CLOSED).contains(&held).then(|| held - 1), Ordering::Acquire)
    }

    /// Puts a slot on this thread's line.
    #[inline]
    pub(super) fn put(&self) -> bool {
        let depth = self.depth.load(Ordering::Relaxed);
        // Acquired too: who finds a line open has to see the mark that was set before it, lest it takes a slot that lies
        // there for one that runs.
        self.exchange(|held| (held < depth).then(|| held + 1), Ordering::AcqRel)
    }

    #[inline]
    fn exchange(&self, step: impl Fn(u32) -> Option<u32>, order: Ordering) -> bool {
        let Some(lines) = self.lines.get() else { return false };
        // Numbers of other times do no harm: a line that is not in use is closed.
        let place = place() & self.mask.load(Ordering::Relaxed) as usize;
        lines
            .get(place)
            .is_some_and(|line| line.0.fetch_update(order, Ordering::Relaxed, step).is_ok())
    }

    /// Opens lines, which all are closed. Called under the bulkhead's lock.
    pub(super) fn open(&self, shape: Shape) {
        self.mask.store(shape.lines - 1, Ordering::Relaxed);
        self.depth.store(shape.depth, Ordering::Relaxed);
        for line in self.lines().iter().take(shape.lines as usize) {
            line.0.store(0, Ordering::Release);
        }
    }

    /// All lines, made and closed when they are first asked for.
    pub(super) fn lines(&self) -> &[Line] {
        let line = || Line(AtomicU32::new(CLOSED));
        let many = cores().next_power_of_two() as usize;
        self.lines
            .get_or_init(|| std::iter::repeat_with(line).take(many).collect())
    }

    /// Closes all lines; gives the slots that lay there. Called under the bulkhead's lock.
    pub(super) fn close(&self) -> u32 {
        let lines = self.lines.get().into_iter().flatten();
        lines
            .map(|line| line.0.swap(CLOSED, Ordering::Acquire))
            .filter(|held| *held != CLOSED)
            .sum()
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> u32 {
        let lines = self.lines.get().into_iter().flatten();
        lines
            .map(|line| line.0.load(Ordering::Relaxed))
            .filter(|held| *held != CLOSED)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_half_of_the_slots_at_most_and_few_slots_are_not_shared_out() {
        for limit in 0..4 {
            assert_eq!(Shape::on(8, limit), None, "{limit}");
        }
        assert_eq!(Shape::on(1, 1_000), None, "nobody meets on one core");
        let shape = |cores, limit| Shape::on(cores, limit).map(|shape| (shape.lines, shape.depth));
        assert_eq!(shape(8, 4), Some((2, 1)));
        assert_eq!(shape(2, 20), Some((2, 5)));
        assert_eq!(shape(12, 20), Some((8, 1)));
        assert_eq!(shape(12, 100), Some((16, 3)));
        assert_eq!(shape(16, u32::MAX), Some((16, DEEPEST)));
        for limit in 4..500 {
            assert!(Shape::on(16, limit).unwrap().slots() <= limit / 2);
        }
    }

    #[test]
    fn every_thread_has_a_line_wherever_it_stands() {
        let reserve = Reserve::default();
        reserve.open(Shape { lines: 2, depth: 16 });
        let barrier = std::sync::Barrier::new(PLACES);
        let puts = || {
            // All at once, so that they stand apart.
            let _ = place();
            barrier.wait();
            reserve.put()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..PLACES).map(|_| scope.spawn(puts)).collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert_eq!(reserve.held(), 16);
    }

    #[test]
    fn a_closed_line_takes_and_gives_nothing() {
        let reserve = Reserve::default();
        assert!(!reserve.put() && !reserve.take(), "there is none yet");
        reserve.open(Shape { lines: 2, depth: 2 });
        assert!(!reserve.take() && reserve.put() && reserve.put() && !reserve.put());
        assert!(reserve.take());
        assert_eq!(reserve.close(), 1);
        assert!(!reserve.put() && !reserve.take());
        assert_eq!(reserve.close(), 0);
    }
}
