//! Attempts that wait for the far side's answer.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::{Answering, Asker, latency};
use crate::simulate::engine::World;
use crate::simulate::engine::chance::draw;
use crate::simulate::engine::events::{Class, Event};
use crate::simulate::engine::tasks::ring;
use crate::simulate::scenario::{Answer, Nanos};

/// Attempts that are at the far side.
#[derive(Debug, Default)]
pub(crate) struct Running {
    places: Vec<Attempt>,
    free: Vec<usize>,
    made: u64,
}

#[derive(Debug)]
struct Attempt {
    /// 0 for none.
    number: u64,
    task: usize,
    asker: Asker,
    /// Which attempt of its call it is.
    nth: u64,
    began: Nanos,
    answer: Answer,
    done: bool,
}

impl Running {
    /// Gives an attempt its place and its number.
    fn add(&mut self, mut attempt: Attempt) -> (usize, u64) {
        self.made += 1;
        let place = self.free.pop().unwrap_or(self.places.len());
        attempt.number = self.made;
        if place == self.places.len() {
            self.places.push(attempt);
        } else {
            self.places[place] = attempt;
        }
        (place, self.made)
    }

    fn remove(&mut self, place: usize) {
        self.places[place].number = 0;
        self.free.push(place);
    }

    /// The answer is there.
    pub(crate) fn finish(&mut self, place: usize, number: u64) {
        let attempt = &mut self.places[place];
        if attempt.number == number {
            attempt.done = true;
            ring(attempt.task);
        }
    }
}

/// Asks the far side, and waits for its answer.
#[derive(Debug)]
pub(crate) struct Ask {
    world: Rc<World>,
    asker: Asker,
    dealt: Option<(usize, Answer)>,
    attempt: u64,
    place: Option<(usize, Answering)>,
}

impl Ask {
    pub(crate) fn new(world: &Rc<World>, asker: Asker, dealt: Option<(usize, Answer)>, attempt: u64) -> Self {
        Self {
            world: Rc::clone(world),
            asker,
            dealt,
            attempt,
            place: None,
        }
    }

    fn begin(&mut self) {
        let world = Rc::clone(&self.world);
        let now = world.now.get();
        let operation = world.paths[self.asker.path].operation.as_deref();
        let answering = match self.asker.recorded {
            Some(recorded) => Answering {
                answer: recorded.answer,
                latency: (recorded.answer != Answer::Never).then_some(recorded.latency),
                retry_after: None,
            },
            None => world.far_of(self.asker.path, |far| {
                far.answer(now, &self.asker, operation, self.dealt, self.attempt)
            }),
        };
        let (place, number) = world.running.borrow_mut().add(Attempt {
            number: 0,
            task: world.tasks.polled(),
            asker: self.asker,
            nth: self.attempt,
            began: now,
            answer: answering.answer,
            done: false,
        });
        if let Some(latency) = answering.latency {
            world.later(latency, Class::Completion, Event::Answered { place, number });
        }
        self.place = Some((place, answering));
    }
}

impl Future for Ask {
    type Output = (Answer, Option<Nanos>);

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((place, answering)) = self.place else {
            self.begin();
            return Poll::Pending;
        };
        let done = self.world.running.borrow().places[place].done;
        if !done {
            return Poll::Pending;
        }
        self.place = None;
        self.world.running.borrow_mut().remove(place);
        Poll::Ready((answering.answer, answering.retry_after))
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        if let Some((place, _)) = self.place.take() {
            self.world.running.borrow_mut().remove(place);
        }
    }
}

/// An entry begins to hold that stretches: calls which it is about and which run already take its latency, counted from
/// their own start.
pub(crate) fn stretch(world: &World, path: usize, entry: usize) {
    let now = world.now.get();
    let mut running = world.running.borrow_mut();
    let group = world.paths[path].far;
    let count = running.places.len();
    for place in 0..count {
        let attempt = &running.places[place];
        let of = &world.paths[attempt.asker.path];
        if attempt.number == 0 || attempt.done || of.far != group || attempt.answer == Answer::Never {
            continue;
        }
        let taken = world.far_of(attempt.asker.path, |far| {
            let holds = far.holds(now, &attempt.asker, of.operation.as_deref()) == Some(entry);
            let drawn = draw(&[attempt.asker.draw, attempt.nth, 2]);
            holds.then(|| latency(&far.entries[entry].latency, attempt.answer, drawn))
        });
        if let Some(Some(latency)) = taken {
            let end = attempt.began.saturating_add(latency).max(now);
            // A new number makes void the event that stands for the old end.
            running.made += 1;
            let number = running.made;
            running.places[place].number = number;
            world.later(end - now, Class::Completion, Event::Answered { place, number });
        }
    }
}
