//! What wakes a thread that otherwise comes by from time to time, and tells it when to leave. A channel would do the
//! same, and everybody would compile all that channels can do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rung: bool,
    over: bool,
}

impl Bell {
    /// Wakes who waits, or lets the next wait end at once.
    #[cfg_attr(not(feature = "watch"), allow(dead_code))] // without it nobody rings, and the time alone wakes
    #[inline]
    pub(crate) fn ring(&self) {
        self.lock().rung = true;
        self.rung.notify_one();
    }

    /// Who waits is to leave.
    #[inline]
    pub(crate) fn end(&self) {
        self.lock().over = true;
        self.rung.notify_one();
    }

    /// Waits until it rings, for this long at most, and says whether to go on.
    #[inline]
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let silent = |state: &mut State| !state.rung && !state.over;
        let waited = self.rung.wait_timeout_while(self.lock(), most, silent);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.over
    }

    /// What rang until now is done.
    #[inline]
    pub(crate) fn hush(&self) {
        self.lock().rung = false;
    }

    /// Held for an assignment.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn who_waits_goes_on_when_it_rings_or_the_time_is_over_and_leaves_at_its_end() {
        let bell = Bell::default();
        assert!(bell.wait(Duration::ZERO));
        bell.ring();
        bell.ring();
        assert!(bell.wait(LONG), "it rang before");
        bell.hush();
        assert!(bell.wait(Duration::ZERO));
        bell.end();
        assert!(!bell.wait(LONG));
        bell.ring();
        assert!(!bell.wait(LONG), "the end stays");
    }

    #[test]
    fn a_thread_that_waits_is_woken() {
        let bell = Bell::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let first = bell.wait(LONG);
                bell.hush();
                (first, bell.wait(LONG))
            });
            bell.ring();
            bell.end();
            assert!(!waiting.join().unwrap().1);
        });
    }
}
