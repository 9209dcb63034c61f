//! The hold: a throttling answer of a dependency that binds everybody until a moment.

use crate::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Hold {
    until: AtomicU64,
}

impl Hold {
    /// Binds everybody until `until`; a longer hold that stands already is kept.
    pub(crate) fn set(&self, until: u64) {
        self.until.fetch_max(until, Ordering::Relaxed);
    }

    /// What is left of the hold, if it stands. `clock` is read only if one was ever set.
    #[inline]
    pub(crate) fn left(&self, clock: impl FnOnce() -> u64) -> Option<u64> {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return None;
        }
        self.left_of(until, clock)
    }

    #[cold]
    #[inline(never)]
    fn left_of(&self, until: u64, clock: impl FnOnce() -> u64) -> Option<u64> {
        let now = clock();
        if now < until {
            return Some(until - now);
        }
        // Lost races leave a past instant there, which the next reader removes.
        let _ = self
            .until
            .compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
        None
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test resets by hand
    pub(crate) fn clear(&self) {
        self.until.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_ends_exactly_at_its_moment_and_the_longer_one_stands() {
        let hold = Hold::default();
        assert_eq!(hold.left(|| unreachable!("no clock without a hold")), None);
        hold.set(100);
        hold.set(50);
        assert_eq!(hold.left(|| 99), Some(1));
        assert_eq!(hold.left(|| 100), None);
        assert_eq!(hold.left(|| unreachable!("it is over")), None);
    }
}

#[cfg(all(test, resilience_loom))]
mod loom {
    use ::loom::sync::Arc;
    use ::loom::thread;

    use super::*;

    #[test]
    fn who_clears_a_hold_that_is_over_never_clears_the_next() {
        ::loom::model(|| {
            let hold = Arc::new(Hold::default());
            hold.set(50);
            let beside = Arc::clone(&hold);
            let reader = thread::spawn(move || beside.left(|| 60));
            hold.set(100);
            assert!(matches!(reader.join().unwrap(), None | Some(40)));
            assert_eq!(hold.left(|| 60), Some(40));
        });
    }
}
