//! Where a thread stands among its like: a small number, the same in every bulkhead.

use std::cell::{Cell, OnceCell};
use std::sync::{Mutex, PoisonError};

/// The most places that there are, and so the most lines of a reserve.
pub(super) const PLACES: usize = 16;

const NOWHERE: usize = usize::MAX;

/// Threads at each place.
static THREADS: Mutex<[u32; PLACES]> = Mutex::new([0; PLACES]);

thread_local! {
    static PLACE: Cell<usize> = const { Cell::new(NOWHERE) };
    static LEASE: OnceCell<Lease> = const { OnceCell::new() };
}

/// Counts as a thread at its place until it is dropped.
struct Lease(usize);

impl Drop for Lease {
    fn drop(&mut self) {
        THREADS.lock().unwrap_or_else(PoisonError::into_inner)[self.0] -= 1;
    }
}

/// Where this thread stands, in every bulkhead.
#[inline]
pub(super) fn place() -> usize {
    let place = PLACE.get();
    if place == NOWHERE { find() } else { place }
}

/// The first of the places where fewest stand, so that as many threads as there are lines never share one.
#[cold]
fn find() -> usize {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (0..PLACES).min_by_key(|place| threads[*place]).unwrap_or_default();
    threads[place] += 1;
    drop(threads);
    PLACE.set(place);
    // A thread that is ending cannot keep the lease and gives it back here; what it still does, it does at that place.
    let lease = Lease(place);
    let _ = LEASE.try_with(|mine| mine.set(lease));
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stand_apart_and_leave_their_places_to_others() {
        let places = || {
            let barrier = std::sync::Barrier::new(PLACES);
            let stand = || {
                barrier.wait();
                let place = place();
                barrier.wait();
                place
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..PLACES).map(|_| scope.spawn(stand)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect::<Vec<_>>()
            })
        };
        for _ in 0..3 {
            let mut places = places();
            places.sort_unstable();
            places.dedup();
            // Threads of other tests stand here too.
            assert!(places.len() > PLACES / 2, "{places:?}");
        }
        assert_eq!(place(), place());
    }

    #[test]
    fn threads_that_are_gone_stand_nowhere() {
        for _ in 0..2_000 {
            std::thread::spawn(place).join().unwrap();
        }
        let standing: u32 = THREADS.lock().unwrap().iter().sum();
        assert!(standing < 1_000, "{standing}");
    }
}
