//! Good results that wait beside the window, so that nobody takes the lock for one.

use super::state::Room;
use crate::clock::NEVER;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The most there can be room for; more than any window of calls holds.
const MOST: u32 = 0xF_FFFF;
/// The low bits of the word: for how many more there is room.
const ROOM: u64 = MOST as u64;
const PERIOD: u32 = MOST.count_ones();

/// How many good results wait, told by what is left of the room that whoever had the lock last made for them.
#[derive(Debug)]
pub(super) struct Pending {
    /// Of which period results may wait, and the room left. One word, so that a result is never counted in a period
    /// that did not admit it, nor while someone is at work under the lock: then there is no room.
    word: AtomicU64,
    /// Results may wait before this instant.
    before: AtomicU64,
}

impl Pending {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            before: AtomicU64::new(NEVER),
        }
    }

    /// One good result more of `period`, if it may wait. `clock` gives now, or later: it is read only where results may
    /// not wait for ever.
    pub(super) fn add(&self, period: u64, clock: impl FnOnce() -> u64) -> bool {
        if self.word.load(Ordering::Relaxed) & ROOM == 0 {
            return false;
        }
        // The clock goes before the word: what is then found there was made after this instant, or was there at it. The
        // other way round a new window could put the same word back, with an end that this instant is behind.
        let now = match self.before.load(Ordering::Relaxed) {
            NEVER => NEVER - 1,
            _ => clock(),
        };
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word >> PERIOD != period || word & ROOM == 0 || now >= self.before.load(Ordering::Relaxed) {
                return false;
            }
            match self
                .word
                .compare_exchange_weak(word, word - 1, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(other) => word = other,
            }
        }
    }

    /// Leaves no room, and says how much of it was left.
    pub(super) fn close(&self) -> u32 {
        let left = self.word.swap(0, Ordering::AcqRel) & ROOM;
        u32::try_from(left).expect("it was masked to fewer bits")
    }

    #[cfg(all(test, not(resilience_loom)))]
    pub(super) fn left(&self) -> u32 {
        u32::try_from(self.word.load(Ordering::Acquire) & ROOM).unwrap()
    }

    /// Makes room for results of `period`: as much as is said, or as fits.
    pub(super) fn open(&self, period: u64, room: Room) -> u32 {
        let results = room.results.min(MOST);
        if results > 0 {
            self.before.store(room.before, Ordering::Relaxed);
            self.word
                .store((period << PERIOD) | u64::from(results), Ordering::Release);
        }
        results
    }
}
