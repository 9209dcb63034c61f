//! Time that a simulation moves by hand, exact to the nanosecond. It is a thread's own: every other thread keeps the
//! real clock, and so does this one until it enters.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

/// Below this nobody minds timers that are gone and still stand in the heap.
const FEW: usize = 1024;

thread_local! {
    /// 0 outside a simulation.
    static NOW: Cell<u64> = const { Cell::new(0) };
    static TIMERS: RefCell<Timers> = const { RefCell::new(Timers::new()) };
}

#[derive(Debug)]
struct Timers {
    /// When, in which order they were armed, and where they stand.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    places: Vec<Place>,
    free: Vec<usize>,
    armed: u64,
}

#[derive(Debug)]
struct Place {
    /// Which timer stands here; 0 for none.
    number: u64,
    waker: Option<Waker>,
}

impl Timers {
    const fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            places: Vec::new(),
            free: Vec::new(),
            armed: 0,
        }
    }

    fn arm(&mut self, at: u64, waker: Waker) -> Armed {
        self.armed += 1;
        let place = self.free.pop().unwrap_or(self.places.len());
        let here = Place {
            number: self.armed,
            waker: Some(waker),
        };
        if place == self.places.len() {
            self.places.push(here);
        } else {
            self.places[place] = here;
        }
        if self.heap.len() > FEW && self.heap.len() > 4 * (self.places.len() - self.free.len()) {
            let places = &self.places;
            self.heap
                .retain(|Reverse((_, number, place))| places[*place].number == *number);
        }
        self.heap.push(Reverse((at, self.armed, place)));
        Armed {
            place,
            number: self.armed,
        }
    }

    /// The earliest timer that somebody still waits for.
    fn first(&mut self) -> Option<u64> {
        while let Some(Reverse((at, number, place))) = self.heap.peek() {
            if self.places[*place].number == *number && self.places[*place].waker.is_some() {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }
}

/// Now, on a thread that simulates.
#[inline]
pub(super) fn now() -> Option<u64> {
    let now = NOW.get();
    (now != 0).then_some(now)
}

/// The time of this thread stands where it is put, until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Entered {
    /// It leaves the thread that it entered.
    here: PhantomData<*const ()>,
}

/// Takes this thread off the real clock, at `now`.
///
/// # Panics
///
/// When it is off already, and when `now` is 0.
pub fn enter(now: u64) -> Entered {
    assert!(
        NOW.get() == 0 && now > 0,
        "a thread simulates one thing at a time, from a moment above 0"
    );
    NOW.set(now);
    TIMERS.with_borrow_mut(|timers| *timers = Timers::new());
    Entered { here: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        NOW.set(0);
    }
}

/// Moves the time of this thread.
pub fn advance(now: u64) {
    NOW.set(now);
}

/// When the next timer of this thread fires.
pub fn next_timer() -> Option<u64> {
    TIMERS.with_borrow_mut(Timers::first)
}

/// Wakes the task of the earliest timer, if its time has come. They fire in the order of their times, and those of one
/// moment in the order in which they were armed.
pub fn fire() -> bool {
    let waker = TIMERS.with_borrow_mut(|timers| {
        timers.first().filter(|at| *at <= NOW.get())?;
        let Reverse((_, _, place)) = timers.heap.pop()?;
        timers.places[place].waker.take()
    });
    waker.map(Waker::wake).is_some()
}

/// A timer that stands in the heap; dropping it takes it out.
#[derive(Debug)]
struct Armed {
    place: usize,
    number: u64,
}

impl Armed {
    fn renew(&self, waker: &Waker) {
        TIMERS.with_borrow_mut(|timers| {
            if let Some(known) = &mut timers.places[self.place].waker {
                known.clone_from(waker);
            }
        });
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        // Taken out first and dropped after: a waker is foreign code.
        let waker = TIMERS.try_with(|timers| {
            let mut timers = timers.try_borrow_mut().ok()?;
            let place = timers.places.get_mut(self.place)?;
            if place.number != self.number {
                return None;
            }
            place.number = 0;
            let waker = place.waker.take();
            timers.free.push(self.place);
            waker
        });
        drop(waker);
    }
}

pin_project! {
    /// A timer of tokio's, or of a simulation.
    #[project = TimerProject]
    #[derive(Debug)]
    pub(crate) enum Timer {
        Real { #[pin] sleep: tokio::time::Sleep },
        Simulated { at: u64, armed: Option<Armed> },
    }
}

impl Timer {
    pub(super) fn simulated(at: u64) -> Self {
        Self::Simulated { at, armed: None }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project() {
            TimerProject::Real { sleep } => sleep.poll(cx),
            TimerProject::Simulated { at, armed } => {
                if NOW.get() >= *at {
                    *armed = None;
                    return Poll::Ready(());
                }
                match armed {
                    Some(armed) => armed.renew(cx.waker()),
                    None => *armed = Some(TIMERS.with_borrow_mut(|timers| timers.arm(*at, cx.waker().clone()))),
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn timers_fire_in_the_order_of_their_times_and_one_that_is_dropped_never_does() {
        let entered = enter(1_000);
        let mut cx = Context::from_waker(Waker::noop());
        let mut late = pin!(Timer::simulated(3_000));
        let mut soon = Box::pin(Timer::simulated(2_000));
        assert!(late.as_mut().poll(&mut cx).is_pending() && soon.as_mut().poll(&mut cx).is_pending());
        assert_eq!(next_timer(), Some(2_000));
        drop(soon);
        assert_eq!(next_timer(), Some(3_000));
        assert!(!fire(), "its time has not come");
        advance(3_000);
        assert!(fire() && late.as_mut().poll(&mut cx).is_ready());
        assert_eq!(next_timer(), None);
        drop(entered);
        assert_eq!(now(), None);
    }

    #[test]
    fn timers_that_are_gone_do_not_pile_up() {
        let _entered = enter(1);
        let mut cx = Context::from_waker(Waker::noop());
        for at in 0..100_000 {
            let mut timer = pin!(Timer::simulated(1_000_000 + at));
            assert!(timer.as_mut().poll(&mut cx).is_pending());
        }
        assert!(TIMERS.with_borrow(|timers| timers.heap.len()) <= FEW + 1);
    }
}
