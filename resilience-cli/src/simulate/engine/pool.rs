//! Connections between the guards and the far side: so many, and a line before them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::World;
use super::events::{Class, Event};
use super::tasks::ring;
use crate::simulate::scenario::Nanos;

/// The connections of one instance.
#[derive(Debug)]
pub(super) struct Pool {
    size: u64,
    max_waiting: Option<u64>,
    max_wait: Option<Nanos>,
    used: u64,
    waiting: u64,
    /// Places of waiters, those that are gone included.
    line: VecDeque<(usize, u64)>,
}

impl Pool {
    pub(super) fn new(settings: &crate::simulate::scenario::Pool) -> Self {
        Self {
            size: settings.size,
            max_waiting: settings.max_waiting,
            max_wait: settings.max_wait,
            used: 0,
            waiting: 0,
            line: VecDeque::new(),
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }
}

/// Everybody who waits, whatever for.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    places: Vec<Waiter>,
    free: Vec<usize>,
    made: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    task: usize,
    is: Is,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Waiting,
    Granted,
    /// It waited too long.
    Refused,
    Gone,
}

impl Waiters {
    fn add(&mut self, task: usize) -> (usize, u64) {
        self.made += 1;
        let waiter = Waiter {
            number: self.made,
            task,
            is: Is::Waiting,
        };
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(waiter);
        } else {
            self.places[place] = waiter;
        }
        (place, self.made)
    }

    fn is(&self, (place, number): (usize, u64)) -> Is {
        let waiter = &self.places[place];
        if waiter.number == number { waiter.is } else { Is::Gone }
    }

    fn set(&mut self, place: usize, is: Is) {
        self.places[place].is = is;
        ring(self.places[place].task);
    }

    fn remove(&mut self, place: usize) {
        self.places[place].is = Is::Gone;
        self.places[place].number = 0;
        self.free.push(place);
    }

    /// Its time is up: whether somebody still waited there.
    pub(super) fn refuse(&mut self, place: usize, number: u64) -> bool {
        let waits = self.is((place, number)) == Is::Waiting;
        if waits {
            self.set(place, Is::Refused);
        }
        waits
    }
}

/// A connection; dropping it hands it to the next in line.
#[derive(Debug)]
pub(super) struct Connection {
    world: Rc<World>,
    pool: (usize, usize),
}

impl Drop for Connection {
    fn drop(&mut self) {
        release(&self.world, self.pool);
    }
}

/// There is none, and none came in time.
#[derive(Debug)]
pub(super) struct NoConnection;

/// Takes a connection of the pool with this number and instance.
pub(super) fn take(world: &Rc<World>, pool: (usize, usize)) -> Take {
    Take {
        world: Rc::clone(world),
        pool,
        place: None,
    }
}

#[derive(Debug)]
pub(super) struct Take {
    world: Rc<World>,
    pool: (usize, usize),
    place: Option<(usize, u64)>,
}

impl Take {
    fn connection(&self) -> Poll<Result<Connection, NoConnection>> {
        Poll::Ready(Ok(Connection {
            world: Rc::clone(&self.world),
            pool: self.pool,
        }))
    }

    fn begin(&mut self) -> Poll<Result<Connection, NoConnection>> {
        let world = Rc::clone(&self.world);
        let (taken, max_wait) = world.with_pool(self.pool, |pool| {
            if pool.used < pool.size && pool.waiting == 0 {
                pool.used += 1;
                return (Some(true), None);
            }
            let full = pool.max_waiting.is_some_and(|most| pool.waiting >= most);
            if full || pool.max_wait == Some(0) {
                return (Some(false), None);
            }
            pool.waiting += 1;
            (None, pool.max_wait)
        });
        match taken {
            Some(true) => {
                world.pool_changed(self.pool);
                return self.connection();
            }
            Some(false) => return Poll::Ready(Err(NoConnection)),
            None => {}
        }
        let (place, number) = world.waiters.borrow_mut().add(world.tasks.polled());
        self.place = Some((place, number));
        world.with_pool(self.pool, |pool| pool.line.push_back((place, number)));
        world.pool_changed(self.pool);
        if let Some(wait) = max_wait {
            world.later(wait, Class::Timeout, Event::PoolPatience { place, number });
        }
        Poll::Pending
    }
}

impl Future for Take {
    type Output = Result<Connection, NoConnection>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(ticket) = self.place else {
            return self.begin();
        };
        let world = Rc::clone(&self.world);
        let is = world.waiters.borrow().is(ticket);
        match is {
            Is::Waiting => Poll::Pending,
            Is::Granted => {
                self.place = None;
                world.waiters.borrow_mut().remove(ticket.0);
                self.connection()
            }
            Is::Refused | Is::Gone => {
                self.place = None;
                world.waiters.borrow_mut().remove(ticket.0);
                world.with_pool(self.pool, |pool| pool.waiting -= 1);
                world.pool_changed(self.pool);
                Poll::Ready(Err(NoConnection))
            }
        }
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        let Some(ticket) = self.place.take() else { return };
        let is = self.world.waiters.borrow().is(ticket);
        self.world.waiters.borrow_mut().remove(ticket.0);
        if is == Is::Granted {
            return release(&self.world, self.pool);
        }
        self.world.with_pool(self.pool, |pool| pool.waiting -= 1);
        self.world.pool_changed(self.pool);
    }
}

/// One connection is free: for the first in line, if there is one.
fn release(world: &World, at: (usize, usize)) {
    world.with_pool(at, |pool| {
        let mut waiters = world.waiters.borrow_mut();
        while let Some(next) = pool.line.pop_front() {
            if waiters.is(next) == Is::Waiting {
                waiters.set(next.0, Is::Granted);
                pool.waiting -= 1;
                return;
            }
        }
        pool.used -= 1;
    });
    world.pool_changed(at);
}

/// The pools by number, each with its instances.
pub(super) type Pools = Vec<Vec<RefCell<Pool>>>;
