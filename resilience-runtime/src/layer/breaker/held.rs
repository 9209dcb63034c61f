//! The breaker's machine, held: what waited beside it is in it, and what it then says is published.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use super::state::Machine;
use super::{Breaker, CLEAN, CLOSED, HALF_OPEN, INTRICATE, OPEN, PERIOD};
use crate::sync::MutexGuard;
use crate::sync::atomic::Ordering;
use crate::words::State;

/// What stands under the lock.
#[derive(Debug)]
pub(super) struct Locked {
    pub(super) machine: Machine,
    /// The room that was made for good results without the lock. Who made none need not ask how much is left.
    pub(super) room: u32,
}

/// The machine, for who has the lock. Nobody can look at it before the good results that wait are recorded, nor leave it
/// without the gate saying what it became.
pub(super) struct Held<'b> {
    breaker: &'b Breaker,
    locked: MutexGuard<'b, Locked>,
}

impl<'b> Held<'b> {
    /// No user code runs under this lock, so a panic in it is impossible short of a bug of ours;
    /// even then the next caller is served.
    pub(super) fn new(breaker: &'b Breaker) -> Self {
        let mut locked = breaker.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if locked.room > 0 {
            let waited = locked.room.saturating_sub(breaker.pending.close());
            locked.room = 0;
            locked.machine.settle_good(waited);
        }
        Self { breaker, locked }
    }

    /// Called under the lock, so that the gate never goes back.
    fn publish(&mut self) {
        let machine = &self.locked.machine;
        let state = match machine.state() {
            State::Closed => CLOSED,
            State::Open => OPEN,
            State::HalfOpen => HALF_OPEN,
        };
        let intricate = if machine.is_intricate() { INTRICATE } else { 0 };
        let clean = if machine.is_clean() { CLEAN } else { 0 };
        let gate = (machine.period() << PERIOD) | clean | intricate | state;
        // Writing what stands there already would only take the line from other cores.
        if self.breaker.gate.load(Ordering::Relaxed) != gate || state == OPEN {
            self.breaker.until.store(machine.open_until(), Ordering::Relaxed);
            self.breaker.gate.store(gate, Ordering::Release);
        }
        self.locked.room = self.breaker.pending.open(machine.period(), machine.room());
    }
}

impl Deref for Held<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.locked.machine
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.locked.machine
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.publish();
    }
}
