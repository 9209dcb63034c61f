//! The line of a bulkhead: a list inside a slab, so that a waiter who leaves costs one step and
//! waiting allocates only when the line is longer than it ever was.

use std::collections::HashMap;
use std::task::{Poll, Waker};

use super::Key;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    nodes: Vec<Node>,
    free: Vec<usize>,
    head: Option<usize>,
    tail: Option<usize>,
    /// Slots taken by each key that has any.
    taken: HashMap<u128, u32>,
}

#[derive(Debug)]
struct Node {
    key: Key,
    waker: Option<Waker>,
    granted: bool,
    previous: Option<usize>,
    next: Option<usize>,
}

/// A place in the line. Its holder gives it back through `poll` (once it is ready) or `remove`.
#[derive(Debug)]
#[must_use]
pub(crate) struct Ticket(usize);

impl Queue {
    pub(crate) fn push(&mut self, key: Key) -> Ticket {
        let node = Node {
            key,
            waker: None,
            granted: false,
            previous: self.tail,
            next: None,
        };
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place] = node;
            place
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        match self.tail {
            Some(tail) => self.nodes[tail].next = Some(place),
            None => self.head = Some(place),
        }
        self.tail = Some(place);
        Ticket(place)
    }

    /// Ready with the key once granted; the place is free from then on.
    pub(crate) fn poll(&mut self, ticket: &Ticket, waker: &Waker) -> Poll<Key> {
        let node = &mut self.nodes[ticket.0];
        if node.granted {
            let key = node.key;
            self.free.push(ticket.0);
            return Poll::Ready(key);
        }
        match &mut node.waker {
            Some(known) => known.clone_from(waker),
            unknown @ None => *unknown = Some(waker.clone()),
        }
        Poll::Pending
    }

    /// Gives the place up. `Some` if a slot had been granted to it, with that slot's key.
    #[allow(clippy::needless_pass_by_value)] // a place is given up once, so it ends here
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Key> {
        let Ticket(place) = ticket;
        let granted = self.nodes[place].granted.then_some(self.nodes[place].key);
        if granted.is_none() {
            self.unlink(place);
        }
        self.nodes[place].waker = None;
        self.free.push(place);
        granted
    }

    /// The first waiter whose key has room.
    pub(crate) fn first_that_can(&self, per_key: u32) -> Option<usize> {
        let mut place = self.head;
        while let Some(here) = place {
            let node = &self.nodes[here];
            let full = per_key > 0 && node.key.is_some_and(|key| self.taken_by(key) >= per_key);
            if !full {
                return Some(here);
            }
            place = node.next;
        }
        None
    }

    /// Gives the waiter at `place` its slot. Whom to wake is handed out, so that it happens outside
    /// the lock.
    pub(crate) fn grant(&mut self, place: usize) -> Option<Waker> {
        self.unlink(place);
        self.count(self.nodes[place].key);
        let node = &mut self.nodes[place];
        node.granted = true;
        node.waker.take()
    }

    pub(crate) fn taken_by(&self, key: u128) -> u32 {
        self.taken.get(&key).copied().unwrap_or(0)
    }

    pub(crate) fn count(&mut self, key: Key) {
        if let Some(key) = key {
            *self.taken.entry(key).or_insert(0) += 1;
        }
    }

    pub(crate) fn uncount(&mut self, key: Key) {
        if let Some(key) = key
            && let Some(taken) = self.taken.get_mut(&key)
        {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(&key);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> usize {
        self.taken.len()
    }

    fn unlink(&mut self, place: usize) {
        let (previous, next) = (self.nodes[place].previous, self.nodes[place].next);
        match previous {
            Some(before) => self.nodes[before].next = next,
            None => self.head = next,
        }
        match next {
            Some(after) => self.nodes[after].previous = previous,
            None => self.tail = previous,
        }
    }
}
