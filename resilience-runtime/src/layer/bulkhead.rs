//! The bulkhead: slots, a bounded line in order of arrival, and slots per key inside them.

mod queue;

#[cfg(all(test, resilience_loom))]
mod loom;

use std::sync::PoisonError;
use std::task::{Poll, Waker};

use queue::Queue;
pub(crate) use queue::Ticket;

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// A key's 128-bit hash; the key itself is never kept.
pub(crate) type Key = Option<u128>;

/// Slots of one dependency.
///
/// `word` holds the slots taken (low half) and the waiters (high half) together, so that taking and giving back are one
/// addition each while nobody waits, and what it gives back tells who came in between. While somebody waits, and for
/// keyed calls always, the lock decides.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    word: Line<AtomicU64>,
    limit: AtomicU32,
    /// Slots per key; 0 for no such limit.
    per_key: AtomicU32,
    queue: Mutex<Queue>,
}

/// Alone on its cache line: every call writes it, and what stands around it is only read.
#[derive(Debug)]
#[repr(align(64))]
struct Line<T>(T);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// One slot. Whoever holds it gives it back through [`Bulkhead::release`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Slot {
    /// Whether it is counted under its holder's key too.
    keyed: bool,
}

/// A waiter that was given its slot, to be woken outside the lock.
struct Granted(Option<Waker>);

impl Granted {
    fn wake(self) {
        if let Some(waker) = self.0 {
            waker.wake();
        }
    }
}

/// Why there is no place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineFull;

const WAITER: u64 = 1 << 32;

fn taken(word: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // the low half is meant
    let low = word as u32;
    low
}

fn waiting(word: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // the high half fits
    let high = (word >> 32) as u32;
    high
}

impl Bulkhead {
    pub(crate) fn new(limit: u32, per_key: Option<u32>) -> Self {
        Self {
            word: Line(AtomicU64::new(0)),
            limit: AtomicU32::new(limit),
            per_key: AtomicU32::new(per_key.unwrap_or(0)),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// Takes a slot if one is free now, and if nobody who could use it came before.
    #[inline]
    pub(crate) fn try_acquire(&self, key: Key) -> Option<Slot> {
        if key.is_some() && self.per_key.load(Ordering::Relaxed) != 0 {
            return self.try_acquire_locked(key);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let word = self.word.load(Ordering::Relaxed);
        if waiting(word) != 0 {
            return self.try_acquire_locked(key);
        }
        if taken(word) >= limit {
            return None;
        }
        // Added and not exchanged: callers that meet here do not make each other try again.
        let word = self.word.fetch_add(1, Ordering::Acquire);
        if waiting(word) == 0 && taken(word) < limit {
            return Some(Slot { keyed: false });
        }
        self.step_back(key)
    }

    /// Others came in between: the slot that was too many goes back, like any other, and the lock decides.
    #[cold]
    fn step_back(&self, key: Key) -> Option<Slot> {
        self.release(Slot { keyed: false }, None);
        self.try_acquire_locked(key)
    }

    #[cold]
    fn try_acquire_locked(&self, key: Key) -> Option<Slot> {
        let mut queue = self.lock();
        let served = self.serve(&mut queue);
        let slot = self.take_locked(&mut queue, key);
        drop(queue);
        served.into_iter().for_each(Granted::wake);
        slot
    }

    /// Joins the line, unless a slot became free in between.
    pub(crate) fn join(&self, key: Key, max_waiting: u32) -> Result<Result<Slot, Ticket>, LineFull> {
        let mut queue = self.lock();
        let mut served = self.serve(&mut queue);
        let joined = loop {
            if let Some(slot) = self.take_locked(&mut queue, key) {
                break Ok(Ok(slot));
            }
            let word = self.word.load(Ordering::Relaxed);
            if waiting(word) >= max_waiting {
                break Err(LineFull);
            }
            let per_key_full = self.key_is_full(&queue, key);
            if taken(word) < self.limit.load(Ordering::Relaxed) && !per_key_full {
                // A slot was given back between the two looks; it is for the line, if there is one.
                served.extend(self.serve(&mut queue));
                continue;
            }
            if self
                .word
                .compare_exchange(word, word + WAITER, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                break Ok(Err(queue.push(self.effective(key))));
            }
        };
        drop(queue);
        served.into_iter().for_each(Granted::wake);
        joined
    }

    /// Whether the waiter has been given its slot; else it is woken when it has.
    pub(crate) fn poll_wait(&self, ticket: &Ticket, waker: &Waker) -> Poll<Slot> {
        let mut queue = self.lock();
        match queue.poll(ticket, waker) {
            Poll::Ready(key) => Poll::Ready(Slot { keyed: key.is_some() }),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Leaves the line. A slot that was given in the same moment goes to the next in line.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let mut queue = self.lock();
        match queue.remove(ticket) {
            Some(key) => self.release_locked(queue, key),
            None => {
                self.word.fetch_sub(WAITER, Ordering::Relaxed);
            }
        }
    }

    /// Gives a slot back, to the first in line who can use it.
    #[inline]
    #[allow(clippy::needless_pass_by_value)] // a slot is given back once, so it ends here
    pub(crate) fn release(&self, slot: Slot, key: Key) {
        if slot.keyed {
            return self.release_locked(self.lock(), key);
        }
        // Whoever joins the line after this finds the slot free, and whoever stands in it before is seen here.
        if waiting(self.word.fetch_sub(1, Ordering::Release)) != 0 {
            self.serve_line();
        }
    }

    #[cold]
    fn serve_line(&self) {
        // One at a time: a list of them would have to be allocated.
        while self.line_can_move() {
            let granted = self.grant(&mut self.lock());
            let Some(granted) = granted else { return };
            granted.wake();
        }
    }

    fn line_can_move(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        waiting(word) != 0 && taken(word) < self.limit.load(Ordering::Relaxed)
    }

    /// Gives slots that were given back without the lock to those who wait for one. Whoever takes the lock does this
    /// first: it may come before the one that gave back, and may not overtake the line.
    fn serve(&self, queue: &mut Queue) -> Vec<Granted> {
        let mut served = Vec::new();
        if self.line_can_move() {
            while let Some(granted) = self.grant(queue) {
                served.push(granted);
            }
        }
        served
    }

    /// New limits. A smaller bulkhead drains; a larger one serves its line at once.
    pub(crate) fn renumber(&self, limit: u32, per_key: Option<u32>) {
        let mut queue = self.lock();
        self.limit.store(limit, Ordering::Relaxed);
        self.per_key.store(per_key.unwrap_or(0), Ordering::Relaxed);
        let served = self.serve(&mut queue);
        drop(queue);
        served.into_iter().for_each(Granted::wake);
    }

    pub(crate) fn in_flight(&self) -> u32 {
        taken(self.word.load(Ordering::Relaxed))
    }

    pub(crate) fn waiting(&self) -> u32 {
        waiting(self.word.load(Ordering::Relaxed))
    }

    /// Whether a call that came now would get a slot at once.
    pub(crate) fn has_room(&self) -> bool {
        taken(self.word.load(Ordering::Relaxed)) < self.limit.load(Ordering::Relaxed)
    }

    /// A key counts only while there is a limit per key.
    fn effective(&self, key: Key) -> Key {
        if self.per_key.load(Ordering::Relaxed) == 0 {
            None
        } else {
            key
        }
    }

    fn key_is_full(&self, queue: &Queue, key: Key) -> bool {
        let per_key = self.per_key.load(Ordering::Relaxed);
        per_key > 0 && key.is_some_and(|key| queue.taken_by(key) >= per_key)
    }

    fn take_locked(&self, queue: &mut Queue, key: Key) -> Option<Slot> {
        // A slot that is given back in this moment is for the line.
        let comes_after = self.waiting() != 0 && queue.first_that_can(self.per_key.load(Ordering::Relaxed)).is_some();
        if comes_after || self.key_is_full(queue, key) || !self.take_one() {
            return None;
        }
        let key = self.effective(key);
        queue.count(key);
        Some(Slot { keyed: key.is_some() })
    }

    /// One more slot taken, if the limit allows it. Under the lock every waiter that could use a free
    /// slot has been [served](Self::serve), so a free slot found here belongs to nobody else.
    fn take_one(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        self.word
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |word| {
                (taken(word) < limit).then(|| word + 1)
            })
            .is_ok()
    }

    fn release_locked(&self, mut queue: MutexGuard<'_, Queue>, key: Key) {
        queue.uncount(key);
        self.word.fetch_sub(1, Ordering::Release);
        // One slot given back makes room for one: either the limit was what held the line up, and
        // then for the first in it, or only this slot's key was.
        let granted = self.grant(&mut queue);
        drop(queue);
        if let Some(granted) = granted {
            granted.wake();
        }
    }

    /// Gives a free slot to the first in line who can use it; `None` if there is no such pair.
    fn grant(&self, queue: &mut Queue) -> Option<Granted> {
        let place = queue.first_that_can(self.per_key.load(Ordering::Relaxed))?;
        if !self.take_one() {
            return None;
        }
        self.word.fetch_sub(WAITER, Ordering::Relaxed);
        Some(Granted(queue.grant(place)))
    }

    /// Only `Hash`-free code of ours and wakers run under this lock; a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(bulkhead: &Bulkhead, ticket: &Ticket) -> bool {
        bulkhead.poll_wait(ticket, Waker::noop()).is_ready()
    }

    #[test]
    fn blk_21_two_slots_are_two_slots() {
        let bulkhead = Bulkhead::new(2, None);
        let a = bulkhead.try_acquire(None).unwrap();
        let b = bulkhead.try_acquire(None).unwrap();
        assert!(bulkhead.try_acquire(None).is_none());
        bulkhead.release(a, None);
        bulkhead.release(b, None);
        assert_eq!(bulkhead.in_flight(), 0);
    }

    #[test]
    fn waiters_are_served_in_order_of_arrival() {
        let bulkhead = Bulkhead::new(1, None);
        let running = bulkhead.try_acquire(None).unwrap();
        let first = bulkhead.join(None, 2).unwrap().unwrap_err();
        let second = bulkhead.join(None, 2).unwrap().unwrap_err();
        assert_eq!(bulkhead.join(None, 2).unwrap_err(), LineFull);
        assert!(bulkhead.try_acquire(None).is_none(), "a newcomer does not overtake");
        bulkhead.release(running, None);
        assert!(!ready(&bulkhead, &second));
        assert!(ready(&bulkhead, &first));
        assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 1));
    }

    #[test]
    fn a_waiter_that_leaves_after_it_was_given_a_slot_hands_it_on() {
        let bulkhead = Bulkhead::new(1, None);
        let running = bulkhead.try_acquire(None).unwrap();
        let first = bulkhead.join(None, 9).unwrap().unwrap_err();
        let second = bulkhead.join(None, 9).unwrap().unwrap_err();
        bulkhead.release(running, None);
        bulkhead.leave(first);
        assert!(ready(&bulkhead, &second));
        assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 0));
    }

    #[test]
    fn gw_r01_a_full_key_refuses_only_itself_and_holds_up_nobody() {
        let bulkhead = Bulkhead::new(3, Some(1));
        let a = bulkhead.try_acquire(Some(1)).unwrap();
        assert!(bulkhead.try_acquire(Some(1)).is_none());
        let waits = bulkhead.join(Some(1), 5).unwrap().unwrap_err();
        let b = bulkhead.try_acquire(Some(2)).unwrap();
        let c = bulkhead.try_acquire(None).unwrap();
        let other = bulkhead.join(Some(3), 5).unwrap().unwrap_err();
        bulkhead.release(b, Some(2));
        assert!(!ready(&bulkhead, &waits), "its key is still full");
        assert!(ready(&bulkhead, &other), "the one behind it is not held up");
        bulkhead.release(a, Some(1));
        assert!(ready(&bulkhead, &waits));
        bulkhead.release(c, None);
    }

    #[test]
    fn who_waits_for_a_slot_of_his_key_is_served_when_keys_are_no_longer_bounded() {
        let bulkhead = Bulkhead::new(2, Some(1));
        let a = bulkhead.try_acquire(Some(1)).unwrap();
        let waiter = bulkhead.join(Some(1), 1).unwrap().unwrap_err();
        bulkhead.renumber(2, None);
        assert!(ready(&bulkhead, &waiter));
        bulkhead.release(a, Some(1));
        assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 0));
    }

    #[test]
    fn gw_r05_keys_that_nobody_uses_are_forgotten() {
        let bulkhead = Bulkhead::new(10, Some(1));
        for key in 0..100_000 {
            let slot = bulkhead.try_acquire(Some(key)).unwrap();
            bulkhead.release(slot, Some(key));
        }
        assert_eq!(bulkhead.lock().keys(), 0);
    }

    #[test]
    fn blk_20_a_larger_bulkhead_serves_its_line_and_a_smaller_one_drains() {
        let bulkhead = Bulkhead::new(1, None);
        let a = bulkhead.try_acquire(None).unwrap();
        let waiter = bulkhead.join(None, 1).unwrap().unwrap_err();
        bulkhead.renumber(2, None);
        assert!(ready(&bulkhead, &waiter));
        bulkhead.renumber(1, None);
        bulkhead.release(a, None);
        assert!(bulkhead.try_acquire(None).is_none(), "still one inside, of one");
        assert_eq!(bulkhead.in_flight(), 1);
    }
}
