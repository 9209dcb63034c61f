//! What the breaker looks at: the last N results, exact, or the last T of time, in slices.

use resilience_policy::Window as Shape;

use crate::clock::{NEVER, nanos};
use crate::sliding::Sliding;

/// Slices of a time window. A result leaves between T − T/32 and T.
const SLICES: usize = 32;
/// Above this a ring is made at the first result, so that an idle dependency stays small.
const EAGER: u32 = 4_096;

/// Sums over the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) calls: u32,
    pub(crate) failed: u32,
    pub(crate) slow: u32,
    /// Failed or slow.
    pub(crate) bad: u32,
}

/// For how many good results in a row, all before an instant, a window may be left alone: recorded later they make of it
/// what they would have made at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) results: u32,
    pub(crate) before: u64,
}

#[derive(Debug)]
pub(crate) struct Window {
    shape: Shape,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Calls(Ring),
    Time(Sliding<SLICES, 4>),
}

impl Window {
    pub(crate) fn new(shape: Shape) -> Self {
        let kind = match shape {
            Shape::Calls(calls) => Kind::Calls(Ring::new(calls)),
            Shape::Time(time) => Kind::Time(Sliding::new(nanos(time))),
        };
        Self { shape, kind }
    }

    /// Whether a good result would leave it as it is: full, and nothing bad in it.
    pub(crate) fn is_clean(&self) -> bool {
        match &self.kind {
            Kind::Calls(ring) => ring.good == ring.capacity,
            // Time goes on, so every result counts.
            Kind::Time(_) => false,
        }
    }

    /// The one that makes it clean finds no room: whoever brings it says so.
    pub(crate) fn room(&self) -> Room {
        match &self.kind {
            Kind::Calls(ring) => Room {
                results: (ring.capacity - ring.good).saturating_sub(1),
                before: NEVER,
            },
            // Within a slice nothing leaves.
            Kind::Time(sliding) => sliding.end_of_newest().map_or_else(Room::default, |before| Room {
                results: u32::MAX,
                before,
            }),
        }
    }

    /// Counts good results that [`room`](Self::room) was made for.
    pub(crate) fn push_good(&mut self, results: u32) {
        match &mut self.kind {
            Kind::Calls(ring) => ring.push_good(results),
            Kind::Time(sliding) => sliding.add_to_newest([results, 0, 0, 0]),
        }
    }

    /// Its totals when it was last looked at or counted into.
    pub(crate) fn latest(&self) -> Totals {
        match &self.kind {
            Kind::Calls(ring) => ring.totals,
            Kind::Time(sliding) => sliding.latest().into(),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Counts a result where no time is needed; `None` if this window needs one.
    pub(crate) fn push_untimed(&mut self, failed: bool, slow: bool) -> Option<Totals> {
        match &mut self.kind {
            Kind::Calls(ring) => {
                ring.push(failed, slow);
                Some(ring.totals)
            }
            Kind::Time(_) => None,
        }
    }

    pub(crate) fn push(&mut self, now: u64, failed: bool, slow: bool) -> Totals {
        match &mut self.kind {
            Kind::Calls(ring) => {
                ring.push(failed, slow);
                ring.totals
            }
            Kind::Time(sliding) => {
                sliding.add(now, [1, u32::from(failed), u32::from(slow), u32::from(failed || slow)]);
                Self::read(sliding, now)
            }
        }
    }

    pub(crate) fn totals(&mut self, now: u64) -> Totals {
        match &mut self.kind {
            Kind::Calls(ring) => ring.totals,
            Kind::Time(sliding) => Self::read(sliding, now),
        }
    }

    /// What it holds, by when each stretch of it began; nothing where results have no time.
    #[inline]
    pub(crate) fn stretches(&mut self, now: u64) -> Option<Vec<(u64, Totals)>> {
        match &mut self.kind {
            Kind::Calls(_) => None,
            Kind::Time(sliding) => Some(
                sliding
                    .slices(now)
                    .map(|(at, counts)| (at, Totals::from(counts)))
                    .collect(),
            ),
        }
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.kind {
            Kind::Calls(ring) => ring.clear(),
            Kind::Time(sliding) => sliding.clear(),
        }
    }

    fn read(sliding: &mut Sliding<SLICES, 4>, now: u64) -> Totals {
        sliding.totals(now).into()
    }
}

impl From<[u32; 4]> for Totals {
    fn from([calls, failed, slow, bad]: [u32; 4]) -> Self {
        Self {
            calls,
            failed,
            slow,
            bad,
        }
    }
}

impl Totals {
    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            failed: self.failed.saturating_add(other.failed),
            slow: self.slow.saturating_add(other.slow),
            bad: self.bad.saturating_add(other.bad),
        }
    }
}

/// Two bits a result, 32 results a word, oldest overwritten first.
#[derive(Debug)]
struct Ring {
    words: Vec<u64>,
    capacity: u32,
    next: u32,
    /// Good results since the last bad one, as far as it holds so many.
    good: u32,
    totals: Totals,
}

const FAILED: u64 = 0b01;
const SLOW: u64 = 0b10;
/// The low bit of each result in a word.
const EACH: u64 = 0x5555_5555_5555_5555;
/// Results in a word.
const A_WORD: u32 = 32;

impl Ring {
    fn new(capacity: u32) -> Self {
        let mut ring = Self {
            words: Vec::new(),
            capacity: capacity.max(1),
            next: 0,
            good: 0,
            totals: Totals::default(),
        };
        if capacity <= EAGER {
            ring.grow();
        }
        ring
    }

    #[cold]
    fn grow(&mut self) {
        self.words = vec![0; self.capacity.div_ceil(A_WORD) as usize];
    }

    fn push(&mut self, failed: bool, slow: bool) {
        if self.words.is_empty() {
            self.grow();
        }
        let word = &mut self.words[(self.next / A_WORD) as usize];
        let shift = (self.next % A_WORD) * 2;
        let new = u64::from(failed) | (u64::from(slow) << 1);
        let old = (*word >> shift) & 0b11;
        *word = *word & !(0b11 << shift) | (new << shift);
        self.next += 1;
        if self.next == self.capacity {
            self.next = 0;
        }
        self.good = if new == 0 { self.capacity.min(self.good + 1) } else { 0 };
        // Before the ring is full the places ahead hold zeroes, which take nothing away.
        if self.totals.calls < self.capacity {
            self.totals.calls += 1;
        }
        if old != new {
            self.totals.failed = self.totals.failed + u32::from(new & FAILED != 0) - u32::from(old & FAILED != 0);
            self.totals.slow = self.totals.slow + u32::from(new & SLOW != 0) - u32::from(old & SLOW != 0);
            self.totals.bad = self.totals.bad + u32::from(new != 0) - u32::from(old != 0);
        }
    }

    /// So many good results at once.
    fn push_good(&mut self, results: u32) {
        // More than it holds would only be overwritten.
        let results = results.min(self.capacity);
        let to_the_end = results.min(self.capacity - self.next);
        self.wipe(self.next, to_the_end);
        self.wipe(0, results - to_the_end);
        self.next = (self.next + results) % self.capacity;
        self.good = self.capacity.min(self.good + results);
        self.totals.calls = self.capacity.min(self.totals.calls + results);
    }

    /// Makes good ones of `count` results from `first` on, a word at a time.
    fn wipe(&mut self, first: u32, count: u32) {
        let (mut at, end) = (first, first + count);
        while at < end && self.totals.bad > 0 {
            let (word, from) = (at / A_WORD, at % A_WORD);
            let many = (A_WORD - from).min(end - at);
            let mask = (u64::MAX >> (2 * (A_WORD - many))) << (2 * from);
            let old = self.words[word as usize] & mask;
            self.words[word as usize] &= !mask;
            self.totals.failed -= (old & EACH).count_ones();
            self.totals.slow -= ((old >> 1) & EACH).count_ones();
            self.totals.bad -= ((old | (old >> 1)) & EACH).count_ones();
            at += many;
        }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.next = 0;
        self.good = 0;
        self.totals = Totals::default();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_ring_equals_a_recount_of_the_last_n() {
        for capacity in [1_u32, 2, 5, 31, 32, 33, 100, 5_000] {
            let mut window = Window::new(Shape::Calls(capacity));
            let mut last = VecDeque::new();
            let mut random = fastrand::Rng::with_seed(u64::from(capacity));
            for _ in 0..12_000 {
                let (failed, slow) = (random.bool(), random.u8(..) < 50);
                last.push_back((failed, slow));
                if last.len() > capacity as usize {
                    last.pop_front();
                }
                let totals = window.push(0, failed, slow);
                let count =
                    |f: &dyn Fn(&(bool, bool)) -> bool| u32::try_from(last.iter().filter(|x| f(x)).count()).unwrap();
                assert_eq!(totals.calls, u32::try_from(last.len()).unwrap());
                assert_eq!(totals.failed, count(&|x| x.0));
                assert_eq!(totals.slow, count(&|x| x.1));
                assert_eq!(totals.bad, count(&|x| x.0 || x.1));
            }
        }
    }

    #[test]
    fn good_results_at_once_equal_as_many_in_a_row() {
        for capacity in [1_u32, 2, 31, 32, 33, 64, 100, 5_000] {
            let (mut at_once, mut in_a_row) = (Ring::new(capacity), Ring::new(capacity));
            let mut random = fastrand::Rng::with_seed(u64::from(capacity));
            for _ in 0..600 {
                for _ in 0..random.u32(..40) {
                    let (failed, slow) = (random.bool(), random.u8(..50) == 0);
                    at_once.push(failed, slow);
                    in_a_row.push(failed, slow);
                }
                let most = [3, 70, capacity, 3 * capacity][random.usize(..4)];
                let good = random.u32(..most);
                at_once.push_good(good);
                for _ in 0..good {
                    in_a_row.push(false, false);
                }
                assert_eq!(at_once.totals, in_a_row.totals, "{good} of {capacity}");
                assert_eq!(at_once.good, in_a_row.good);
                assert_eq!(
                    at_once.good == capacity,
                    at_once.totals.calls == capacity && at_once.totals.bad == 0
                );
            }
        }
    }

    #[test]
    fn win_04_totals_of_a_five_second_window() {
        let mut window = Window::new(Shape::Time(Duration::from_secs(5)));
        let ms = |ms: u64| 1_000_000_000 + ms * 1_000_000;
        let steps = [
            (0, true, 1, 1),
            (100, false, 2, 1),
            (200, false, 3, 1),
            (1_200, false, 4, 1),
            (2_200, false, 5, 1),
            (3_200, true, 6, 2),
            (4_200, false, 7, 2),
            (5_200, false, 5, 1),
            (6_200, false, 5, 1),
            (11_200, false, 1, 0),
        ];
        for (at, failed, calls, failures) in steps {
            let totals = window.push(ms(at), failed, false);
            assert_eq!((totals.calls, totals.failed), (calls, failures), "at {at} ms");
        }
    }

    #[test]
    fn stretches_are_what_a_window_of_time_holds_by_when_each_began() {
        let mut window = Window::new(Shape::Time(Duration::from_secs(32)));
        let second = |number: u64| number * 1_000_000_000;
        assert_eq!(window.stretches(second(5)), Some(Vec::new()));
        for (at, failed) in [(5, true), (5, false), (7, false), (36, true)] {
            window.push(second(at), failed, false);
        }
        let one = |calls, failed| Totals {
            calls,
            failed,
            slow: 0,
            bad: failed,
        };
        let all = vec![(second(5), one(2, 1)), (second(7), one(1, 0)), (second(36), one(1, 1))];
        assert_eq!(window.stretches(second(36)), Some(all.clone()));
        assert_eq!(
            window.stretches(second(37)),
            Some(all[1..].to_vec()),
            "the oldest has left"
        );
        let mut window = Window::new(Shape::Calls(3));
        window.push(second(5), true, false);
        assert_eq!(window.stretches(second(5)), None, "its results have no time");
    }

    #[test]
    fn clearing_forgets_everything() {
        let mut window = Window::new(Shape::Calls(3));
        window.push(0, true, true);
        window.clear();
        assert_eq!(window.totals(0), Totals::default());
        assert_eq!(
            window.push(0, false, false),
            Totals {
                calls: 1,
                ..Totals::default()
            }
        );
    }
}
