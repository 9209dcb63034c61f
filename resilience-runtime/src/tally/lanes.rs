//! Cells that each thread has for itself: counting is a plain load and a plain store, and no core takes a line from
//! another.
//!
//! A thread stands somewhere as long as it lives, at the same place in every tally; then the place is another thread's,
//! which counts on in the same cells. So nothing has to be done for threads that are gone.

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Cells;

/// Lanes of the first row; each further one has four times as many.
const FIRST: usize = 16;
/// All rows together have lanes for 87 376 threads at once.
const ROWS: usize = 7;

type Row = Box<[OnceLock<Box<Cells>>]>;

/// The cells of all threads.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    rows: [OnceLock<Row>; ROWS],
    /// Of those who stand nowhere: threads that are ending, and more than there are lanes for.
    nobodys: OnceLock<Box<Cells>>,
}

impl Lanes {
    /// This thread's cells, once it has some.
    #[inline]
    pub(super) fn mine(&self) -> Option<&Cells> {
        // Not `get`, which is not inlined everywhere.
        let (row, lane) = STANDS.try_with(Cell::get).ok()?;
        let cells = self.rows.get(row)?.get()?.get(lane)?.get()?;
        Some(cells)
    }

    /// Counts in this of this thread's cells, the first time.
    #[cold]
    #[inline(never)]
    pub(super) fn up_first(&self, place: usize) {
        let Some((row, lane)) = stand() else {
            self.nobodys.get_or_init(Box::default).up_shared(place);
            return;
        };
        let lanes = self.rows[row].get_or_init(|| (0..lanes_of(row)).map(|_| OnceLock::new()).collect());
        lanes[lane].get_or_init(Box::default).up(place);
    }

    /// The cells of all threads, of those that are gone too.
    pub(super) fn all(&self) -> impl Iterator<Item = &Cells> {
        let rows = self.rows.iter().filter_map(OnceLock::get);
        let cells = rows.flatten().chain([&self.nobodys]).filter_map(OnceLock::get);
        cells.map(|cells| &**cells)
    }
}

/// Rows there are none of.
const NOWHERE: (usize, usize) = (usize::MAX, 0);

/// Numbers of threads that are gone, and the first that no thread had yet.
static FREE: Mutex<(BinaryHeap<Reverse<usize>>, usize)> = Mutex::new((BinaryHeap::new(), 0));

thread_local! {
    /// Row and lane.
    static STANDS: Cell<(usize, usize)> = const { Cell::new(NOWHERE) };
    static LEASE: OnceCell<Lease> = const { OnceCell::new() };
}

/// A number that is this thread's until it is dropped.
struct Lease(usize);

impl Drop for Lease {
    fn drop(&mut self) {
        STANDS.set(NOWHERE);
        // Who takes it from there sees all that was counted under it.
        FREE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .push(Reverse(self.0));
    }
}

fn stand() -> Option<(usize, usize)> {
    if STANDS.get() == NOWHERE {
        // The least one, so that the rows stay few.
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = free.0.pop().map_or_else(
            || {
                free.1 += 1;
                free.1 - 1
            },
            |Reverse(number)| number,
        );
        drop(free);
        let lease = Lease(number);
        // A thread that is ending cannot keep it.
        if LEASE.try_with(|mine| mine.set(lease).is_ok()) == Ok(true) {
            STANDS.set(place_of(number));
        }
    }
    Some(STANDS.get()).filter(|stands| stands.0 < ROWS)
}

const fn lanes_of(row: usize) -> usize {
    FIRST << (2 * row)
}

fn place_of(number: usize) -> (usize, usize) {
    let mut lane = number;
    for row in 0..ROWS {
        if lane < lanes_of(row) {
            return (row, lane);
        }
        lane -= lanes_of(row);
    }
    NOWHERE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_lane_of_its_own_while_there_are_some() {
        let most: usize = (0..ROWS).map(lanes_of).sum();
        assert_eq!(most, 87_376);
        let places: std::collections::BTreeSet<_> = (0..most).map(place_of).collect();
        assert_eq!(places.len(), most);
        assert!(places.iter().all(|(row, lane)| *lane < lanes_of(*row)));
        assert_eq!(place_of(most), NOWHERE);
    }

    #[test]
    fn threads_that_live_at_once_stand_apart_and_leave_their_lanes_to_others() {
        const MANY: usize = 40;
        let stood = || {
            let barrier = std::sync::Barrier::new(MANY);
            let stands = || {
                let stands = stand();
                barrier.wait();
                stands.unwrap()
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..MANY).map(|_| scope.spawn(stands)).collect();
                let places = threads.into_iter().map(|thread| thread.join().unwrap());
                places.collect::<std::collections::BTreeSet<_>>()
            })
        };
        for _ in 0..50 {
            let places = stood();
            assert_eq!(places.len(), MANY, "two stand at one place");
            // Beside the threads of other tests.
            assert!(places.iter().all(|(row, _)| *row < 3), "{places:?}");
        }
    }

    #[test]
    fn who_stands_nowhere_is_counted_too() {
        thread_local! {
            static LAST: OnceCell<CountsLast> = const { OnceCell::new() };
        }
        struct CountsLast(std::sync::Arc<Lanes>);
        impl Drop for CountsLast {
            fn drop(&mut self) {
                // As if its place had been given back before.
                STANDS.set(NOWHERE);
                self.0.up_first(3);
                self.0.up_first(3);
            }
        }
        let lanes = std::sync::Arc::new(Lanes::default());
        let last = CountsLast(std::sync::Arc::clone(&lanes));
        std::thread::spawn(move || {
            assert!(LAST.with(|mine| mine.set(last).is_ok()));
            assert!(stand().is_some());
        })
        .join()
        .unwrap();
        let counted: u64 = lanes.all().map(|cells| super::super::load(&cells.0[3])).sum();
        assert_eq!(counted, 2);
        assert!(lanes.nobodys.get().is_some(), "it had no place any more");
    }
}
