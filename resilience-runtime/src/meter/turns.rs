//! Who brings a dependency's series up to date, and when somebody else does it for him.

use std::sync::{PoisonError, TryLockError};

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// One at a time looks and tells: of two that look at once the later look could otherwise be told first, and what the
/// earlier one saw, a slot that is long free, would stand until the next call.
#[derive(Debug, Default)]
pub(super) struct Turns {
    busy: Mutex<()>,
    waits: AtomicBool,
}

impl Turns {
    /// Runs `look_and_tell`, or leaves it to another who has yet to look. Whoever comes while one tells and one waits
    /// goes on at once, so that no call waits for more than one other.
    pub(super) fn take(&self, look_and_tell: impl FnOnce()) {
        let turn = match self.busy.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // Both sides exchange, so that the one who waits sees what was done by all who left it to him.
                if self.waits.swap(true, Ordering::AcqRel) {
                    return;
                }
                let turn = self.lock();
                self.waits.swap(false, Ordering::AcqRel);
                turn
            }
        };
        look_and_tell();
        drop(turn);
    }

    /// Runs `look_and_tell` in any case.
    pub(super) fn insist(&self, look_and_tell: impl FnOnce()) {
        let turn = self.lock();
        look_and_tell();
        drop(turn);
    }

    /// It guards an order and no data, so a recorder's panic leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, resilience_loom))]
mod loom {
    use ::loom::sync::Arc;
    use ::loom::sync::atomic::AtomicUsize;
    use ::loom::thread;

    use super::*;

    /// What calls change, and what was told of it last.
    #[derive(Default)]
    struct Shown {
        turns: Turns,
        state: AtomicUsize,
        told: AtomicUsize,
    }

    impl Shown {
        fn change(&self, insist: bool) {
            self.state.fetch_add(1, Ordering::Relaxed);
            let look_and_tell = || {
                let seen = self.state.load(Ordering::Relaxed);
                self.told.store(seen, Ordering::Relaxed);
            };
            if insist {
                self.turns.insist(look_and_tell);
            } else {
                self.turns.take(look_and_tell);
            }
        }
    }

    fn is_told_in_the_end(insists: [bool; 3]) {
        ::loom::model(move || {
            let shown = Arc::new(Shown::default());
            let others: Vec<_> = insists[1..]
                .iter()
                .map(|&insist| {
                    let shown = Arc::clone(&shown);
                    thread::spawn(move || shown.change(insist))
                })
                .collect();
            shown.change(insists[0]);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(shown.told.load(Ordering::Relaxed), 3);
        });
    }

    #[test]
    fn what_was_changed_last_is_what_was_told_last() {
        is_told_in_the_end([false; 3]);
    }

    #[test]
    fn so_it_is_beside_one_who_comes_by() {
        is_told_in_the_end([false, true, false]);
    }
}
