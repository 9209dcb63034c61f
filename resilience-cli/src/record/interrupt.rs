//! Ctrl-C while something is recorded: the last line is to be whole, and the sum is to be told.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Recordings that run in this process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// What a shell takes for "ended by Ctrl-C".
const BY_HAND: i32 = 130;

pub(super) struct Interrupt {
    before: usize,
}

impl Interrupt {
    pub(super) fn listen() -> Self {
        static ONCE: Once = Once::new();
        RUNNING.fetch_add(1, Ordering::SeqCst);
        let before = ASKED.load(Ordering::SeqCst);
        ONCE.call_once(|| {
            // Where there is a handler already, it decides; the lines are whole all the same.
            let _ = ctrlc::set_handler(|| {
                let again = ASKED.fetch_add(1, Ordering::SeqCst) > 0;
                if again || RUNNING.load(Ordering::SeqCst) == 0 {
                    std::process::exit(BY_HAND);
                }
            });
        });
        Self { before }
    }

    pub(super) fn came(&self) -> bool {
        ASKED.load(Ordering::SeqCst) != self.before
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}
