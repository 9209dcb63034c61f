//! Room for fallbacks that run. Nobody waits for it: what is left of a caller's patience is for the next form.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::State;

#[derive(Debug, Default)]
pub(super) struct Slots(AtomicU32);

#[cfg(test)]
impl Slots {
    pub(super) fn taken(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One of them; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot(Arc<State>);

impl Slot {
    /// `None` when `max` are taken. A limit that was lowered drains.
    pub(super) fn take(state: &Arc<State>, max: u32) -> Option<Self> {
        let more = |taken: u32| (taken < max).then_some(taken + 1);
        state
            .slots
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more)
            .ok()?;
        Some(Self(Arc::clone(state)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.slots.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_allowed_and_back_again() {
        let state = State::new();
        let first = Slot::take(&state, 2);
        let second = Slot::take(&state, 2);
        assert!(first.is_some() && second.is_some() && Slot::take(&state, 2).is_none());
        drop(first);
        assert_eq!(state.slots_taken(), 1);
        assert!(Slot::take(&state, 1).is_none(), "a lowered limit drains");
        drop(second);
        assert!(Slot::take(&state, 1).is_some());
        assert_eq!(state.slots_taken(), 0);
    }
}
