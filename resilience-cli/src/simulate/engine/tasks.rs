//! The executor: one thread, a list of what is ready, and no time but the simulation's.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// Tasks to poll, in the order in which they were woken.
    static READY: RefCell<VecDeque<usize>> = const { RefCell::new(VecDeque::new()) };
}

/// A task that can be polled.
pub(super) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Wakes the task at its place. A place that is used again may be woken for who had it before: one poll for nothing.
#[derive(Debug)]
struct Bell(usize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        ring(self.0);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        ring(self.0);
    }
}

/// Lets the task at `place` be polled.
pub(super) fn ring(place: usize) {
    READY.with_borrow_mut(|ready| ready.push_back(place));
}

#[derive(Default)]
pub(super) struct Tasks {
    places: RefCell<Vec<Place>>,
    free: RefCell<Vec<usize>>,
    begun: Cell<u64>,
    polled: Cell<usize>,
}

struct Place {
    /// Which task stands here; 0 for none.
    number: u64,
    /// None while it is polled.
    work: Option<Work>,
    waker: Waker,
}

impl Tasks {
    /// A thread may have run another simulation before.
    pub(super) fn new() -> Self {
        READY.with_borrow_mut(VecDeque::clear);
        Self::default()
    }

    /// A place for a task, by its number, to be filled by [`begin`](Self::begin).
    pub(super) fn reserve(&self) -> (usize, u64) {
        self.begun.set(self.begun.get() + 1);
        let number = self.begun.get();
        let place = self.free.borrow_mut().pop();
        let mut places = self.places.borrow_mut();
        if let Some(place) = place {
            places[place].number = number;
            return (place, number);
        }
        let place = places.len();
        places.push(Place {
            number,
            work: None,
            waker: Waker::from(Arc::new(Bell(place))),
        });
        (place, number)
    }

    pub(super) fn begin(&self, place: usize, work: Work) {
        self.places.borrow_mut()[place].work = Some(work);
        ring(place);
    }

    pub(super) fn is(&self, place: usize, number: u64) -> bool {
        self.places.borrow()[place].number == number
    }

    /// The place of the task that is being polled.
    pub(super) fn polled(&self) -> usize {
        self.polled.get()
    }

    /// Drops a task that is not being polled.
    pub(super) fn drop_task(&self, place: usize) {
        let work = self.places.borrow_mut()[place].work.take();
        self.give_back(place);
        // What it holds looks at this very list when it goes.
        drop(work);
    }

    /// Polls until nobody is ready.
    pub(super) fn run(&self) {
        while let Some(place) = READY.with_borrow_mut(VecDeque::pop_front) {
            let (work, waker) = {
                let here = &mut self.places.borrow_mut()[place];
                (here.work.take(), here.waker.clone())
            };
            let Some(mut work) = work else { continue };
            self.polled.set(place);
            match work.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => self.places.borrow_mut()[place].work = Some(work),
                Poll::Ready(()) => {
                    drop(work);
                    self.give_back(place);
                }
            }
        }
    }

    /// Drops everything that still runs.
    pub(super) fn clear(&self) {
        let works: Vec<_> = self
            .places
            .borrow_mut()
            .iter_mut()
            .filter_map(|place| place.work.take())
            .collect();
        drop(works);
        READY.with_borrow_mut(VecDeque::clear);
    }

    fn give_back(&self, place: usize) {
        self.places.borrow_mut()[place].number = 0;
        self.free.borrow_mut().push(place);
    }
}
