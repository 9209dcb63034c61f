//! The bulkhead: slots, a bounded line in order of arrival, and slots per key inside them.

#[cfg(not(all(test, resilience_loom)))]
mod place;
mod queue;
mod reserve;
mod word;

#[cfg(all(test, not(resilience_loom)))]
mod crowd;
#[cfg(all(test, resilience_loom))]
mod loom;
#[cfg(test)]
mod tests;

use std::sync::PoisonError;
use std::task::{Poll, Waker};

use queue::Queue;
pub(crate) use queue::Ticket;
use reserve::{Reserve, Shape};
use word::{RESERVES, Shared, WAITER, has_reserves, taken, waiting};

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// A key's 128-bit hash; the key itself is never kept.
pub(crate) type Key = Option<u128>;

/// Slots of one dependency.
///
/// One word holds the slots taken (low half), the waiters and a mark (high half) together, so that taking and giving back
/// are one addition each while nobody waits, and what it gives back tells who came in between. While somebody waits, and
/// for keyed calls always, the lock decides.
///
/// Where threads were seen to meet at the word, the mark is set, and they keep free slots in [reserve](Reserve) beside
/// it. In the word these count as taken, so no more calls run than are taken there, and no more are taken than there
/// are. Nobody is refused, stands in line or reads a count before all of them were gathered back into the word: with the
/// mark there are no waiters, and without it every count is exact.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    shared: Shared,
    limit: AtomicU32,
    /// How many can be inside: the limit, or what a smaller one found and lets drain.
    most: AtomicU32,
    /// Slots per key; 0 for no such limit.
    per_key: AtomicU32,
    reserve: Reserve,
    queue: Mutex<Queue>,
}

/// One slot. Whoever holds it gives it back through [`Bulkhead::release`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Slot(Home);

/// Where a slot goes when it is given back.
#[derive(Debug)]
enum Home {
    Word,
    /// To the thread's reserve, if there is room.
    Reserve,
    /// To the word, and it is counted under its holder's key too.
    Key,
}

impl Slot {
    fn of(key: Key) -> Self {
        Self(if key.is_some() { Home::Key } else { Home::Word })
    }
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

/// Meetings after which threads get a reserve. A test may be too short for many; a model opens it by hand.
const OFTEN: u32 = if cfg!(resilience_loom) || !cfg!(any(test, feature = "testing")) {
    64
} else {
    1
};

impl Default for Bulkhead {
    fn default() -> Self {
        Self::new(0, None)
    }
}

impl Bulkhead {
    pub(crate) fn new(limit: u32, per_key: Option<u32>) -> Self {
        Self {
            shared: Shared::default(),
            limit: AtomicU32::new(limit),
            most: AtomicU32::new(limit),
            per_key: AtomicU32::new(per_key.unwrap_or(0)),
            reserve: Reserve::default(),
            queue: Mutex::new(Queue::default()),
        }
    }

    /// Takes a slot if one is free now, and if nobody who could use it came before.
    #[inline]
    pub(crate) fn try_acquire(&self, key: Key) -> Option<Slot> {
        if key.is_some() && self.per_key.load(Ordering::Relaxed) != 0 {
            return self.try_acquire_locked(key);
        }
        let limit = u64::from(self.limit.load(Ordering::Relaxed));
        let word = self.word().load(Ordering::Relaxed);
        // Waiters and the mark stand above any number of slots.
        if word >= limit {
            return self.try_acquire_else(key, word);
        }
        // Added and not exchanged: callers that meet here do not make each other try again.
        let found = self.word().fetch_add(1, Ordering::Acquire);
        if found == word {
            return Some(Slot(Home::Word));
        }
        self.meet(key, found)
    }

    /// Others came in between: their doings decide whether this slot was too many.
    #[cold]
    fn meet(&self, key: Key, found: u64) -> Option<Slot> {
        if !self.allows(found) {
            return self.step_back(key);
        }
        let meetings = self.shared.meetings.load(Ordering::Relaxed) + 1;
        let often = meetings >= OFTEN;
        self.shared
            .meetings
            .store(if often { 0 } else { meetings }, Ordering::Relaxed);
        if often {
            self.open(&self.lock());
        }
        Some(Slot(Home::Word))
    }

    /// The slot that was too many goes back, like any other, and the lock decides.
    #[cold]
    fn step_back(&self, key: Key) -> Option<Slot> {
        self.release_shared();
        self.try_acquire_locked(key)
    }

    /// Where the word says more than how many slots are taken, or that all are.
    #[inline(never)]
    fn try_acquire_else(&self, key: Key, word: u64) -> Option<Slot> {
        if has_reserves(word) {
            self.try_acquire_reserved(key)
        } else if waiting(word) != 0 {
            self.try_acquire_locked(key)
        } else {
            None
        }
    }

    fn try_acquire_reserved(&self, key: Key) -> Option<Slot> {
        if self.reserve.take() {
            return Some(Slot(Home::Reserve));
        }
        if !self.allows(self.word().load(Ordering::Relaxed)) {
            return self.try_acquire_locked(key);
        }
        if self.allows(self.word().fetch_add(1, Ordering::Acquire)) {
            return Some(Slot(Home::Reserve));
        }
        self.step_back(key)
    }

    /// Whether one more may be taken of what the word holds, without asking the line.
    fn allows(&self, word: u64) -> bool {
        waiting(word) == 0 && taken(word) < self.limit.load(Ordering::Relaxed)
    }

    #[cold]
    fn try_acquire_locked(&self, key: Key) -> Option<Slot> {
        let mut queue = self.lock();
        self.gather(&queue);
        let served = self.serve(&mut queue);
        let slot = self.take_locked(&mut queue, key);
        drop(queue);
        served.into_iter().for_each(Granted::wake);
        slot
    }

    /// Lets threads keep slots in reserve, if there is room for that.
    fn open(&self, _: &MutexGuard<'_, Queue>) {
        let limit = self.limit.load(Ordering::Relaxed);
        let word = self.word().load(Ordering::Relaxed);
        // Keyed calls go through the lock, whatever lies where.
        if has_reserves(word) || waiting(word) != 0 || self.per_key.load(Ordering::Relaxed) != 0 {
            return;
        }
        let Some(shape) = Shape::of(limit) else { return };
        if taken(word) <= limit - shape.slots() {
            self.open_as(shape);
        }
    }

    fn open_as(&self, shape: Shape) {
        // The mark first: nobody may find all taken, and no mark, while a slot lies in reserve.
        self.word().fetch_or(RESERVES, Ordering::AcqRel);
        self.reserve.open(shape);
    }

    /// Takes back into the word what threads keep. From here on until the lock is gone, and until threads meet again
    /// after that, the word alone counts.
    fn gather(&self, _: &MutexGuard<'_, Queue>) {
        if has_reserves(self.word().load(Ordering::Relaxed)) {
            let kept = self.reserve.close();
            self.word().fetch_sub(RESERVES + u64::from(kept), Ordering::Release);
        }
    }

    /// Joins the line, unless a slot became free in between.
    pub(crate) fn join(&self, key: Key, max_waiting: u32) -> Result<Result<Slot, Ticket>, LineFull> {
        let mut queue = self.lock();
        self.gather(&queue);
        let mut served = self.serve(&mut queue);
        let joined = loop {
            if let Some(slot) = self.take_locked(&mut queue, key) {
                break Ok(Ok(slot));
            }
            let word = self.word().load(Ordering::Relaxed);
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
                .word()
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
            Poll::Ready(key) => Poll::Ready(Slot::of(key)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Leaves the line. A slot that was given in the same moment goes to the next in line.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let mut queue = self.lock();
        match queue.remove(ticket) {
            Some(key) => self.release_locked(queue, key),
            None => {
                self.word().fetch_sub(WAITER, Ordering::Relaxed);
            }
        }
    }

    /// Gives a slot back, to the first in line who can use it.
    #[inline]
    pub(crate) fn release(&self, slot: Slot, key: Key) {
        match slot.0 {
            Home::Word => self.release_shared(),
            _ => self.release_else(slot, key),
        }
    }

    #[inline(never)]
    #[allow(clippy::needless_pass_by_value)] // a slot is given back once, so it ends here
    fn release_else(&self, slot: Slot, key: Key) {
        match slot.0 {
            Home::Key => self.release_locked(self.lock(), key),
            // Nobody waits while there are reserves.
            Home::Reserve if self.reserve.put() => {}
            Home::Word | Home::Reserve => self.release_shared(),
        }
    }

    #[inline]
    fn release_shared(&self) {
        // Whoever joins the line after this finds the slot free, and whoever stands in it before is seen here.
        if waiting(self.word().fetch_sub(1, Ordering::Release)) != 0 {
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
        let word = self.word().load(Ordering::Relaxed);
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
        self.gather(&queue);
        let inside = taken(self.word().load(Ordering::Relaxed)).min(self.most.load(Ordering::Relaxed));
        self.most.store(limit.max(inside), Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
        self.per_key.store(per_key.unwrap_or(0), Ordering::Relaxed);
        let served = self.serve(&mut queue);
        drop(queue);
        served.into_iter().for_each(Granted::wake);
    }

    pub(crate) fn in_flight(&self) -> u32 {
        taken(self.counts()).min(self.most())
    }

    /// How many can be inside. The word says more for the moment in which callers that found all taken step back.
    fn most(&self) -> u32 {
        let limit = self.limit.load(Ordering::Relaxed);
        if self.most.load(Ordering::Relaxed) <= limit {
            return limit;
        }
        // A smaller bulkhead drains, and what has left does not come back.
        let _queue = self.lock();
        let inside = taken(self.word().load(Ordering::Relaxed));
        let most = self.most.load(Ordering::Relaxed).min(inside);
        let most = most.max(self.limit.load(Ordering::Relaxed));
        self.most.store(most, Ordering::Relaxed);
        most
    }

    pub(crate) fn waiting(&self) -> u32 {
        waiting(self.word().load(Ordering::Relaxed))
    }

    /// Whether a call that came now would get a slot at once.
    pub(crate) fn has_room(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        taken(self.word().load(Ordering::Relaxed)) < limit || taken(self.counts()) < limit
    }

    /// The word, with nothing in reserve. Threads that had a reserve may fill it anew.
    fn counts(&self) -> u64 {
        let word = self.word().load(Ordering::Relaxed);
        if !has_reserves(word) {
            return word;
        }
        let queue = self.lock();
        self.gather(&queue);
        let word = self.word().load(Ordering::Relaxed);
        self.open(&queue);
        word
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        &self.shared.word
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
        Some(Slot::of(key))
    }

    /// One more slot taken, if the limit allows it. Under the lock every waiter that could use a free
    /// slot has been [served](Self::serve), so a free slot found here belongs to nobody else.
    fn take_one(&self) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        self.word()
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |word| {
                (taken(word) < limit).then(|| word + 1)
            })
            .is_ok()
    }

    fn release_locked(&self, mut queue: MutexGuard<'_, Queue>, key: Key) {
        queue.uncount(key);
        self.word().fetch_sub(1, Ordering::Release);
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
        self.word().fetch_sub(WAITER, Ordering::Relaxed);
        Some(Granted(queue.grant(place)))
    }

    /// One whose threads may keep a slot each from the start, however few there are.
    #[cfg(test)]
    fn reserving(limit: u32, per_key: Option<u32>) -> Self {
        let bulkhead = Self::new(limit, per_key);
        bulkhead.open_as(Shape::SMALL);
        bulkhead
    }

    /// Slots that lie in reserve; it is not looked at in any one moment.
    #[cfg(test)]
    fn held_back(&self) -> u32 {
        self.reserve.held()
    }

    /// Only `Hash`-free code of ours and wakers run under this lock; a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
