//! Somebody may record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use crossbeam_queue::ArrayQueue;

use super::Ended;
use crate::clock;

/// Who records the calls of one name.
#[derive(Debug, Default)]
pub(crate) struct Recorders {
    tapes: ArcSwap<Vec<Arc<Tape>>>,
}

impl Recorders {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.tapes.load().is_empty()
    }

    pub(crate) fn set(&self, tapes: Vec<Arc<Tape>>) {
        self.tapes.store(Arc::new(tapes));
    }

    pub(crate) fn put(&self, ended: &Ended) {
        for tape in &**self.tapes.load() {
            tape.put(ended);
        }
    }
}

/// What one recording has not been asked for yet: bounded, and made whole at its begin, so that a call that ends
/// neither waits nor allocates.
#[derive(Debug)]
pub(crate) struct Tape {
    /// Names; none for all.
    only: Vec<String>,
    since: u64,
    ended: ArrayQueue<Ended>,
    lost: AtomicU64,
    stopped: AtomicBool,
}

impl Tape {
    pub(crate) fn new(only: Vec<String>, room: usize) -> Self {
        Self {
            only,
            since: clock::now(),
            ended: ArrayQueue::new(room),
            lost: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether it is about this name: a dependency brings its operations.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let is = |only: &String| match name.strip_prefix(only.as_str()) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        };
        self.only.is_empty() || self.only.iter().any(is)
    }

    fn put(&self, ended: &Ended) {
        // A call that began while another recorded is not whole here, and one that ends after the end is too late.
        if ended.began < self.since || self.stopped.load(Ordering::Relaxed) {
            return;
        }
        if self.ended.push(*ended).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn take(&self) -> Option<Ended> {
        self.ended.pop()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempts::Ending;
    use crate::identity::Identity;
    use crate::recorder::End;

    fn ended(began: u64) -> Ended {
        Ended {
            identity: Identity::intern("taped", None, None),
            site: None,
            key: None,
            began,
            took: 1,
            attempt: 1,
            end: End::Attempt(Ending::Success),
        }
    }

    #[test]
    fn a_dependency_brings_its_operations_and_nobody_else() {
        let tape = Tape::new(vec!["pay".into()], 1);
        assert!(tape.wants("pay") && tape.wants("pay.refund"));
        assert!(!tape.wants("payrail") && !tape.wants("redis"));
        assert!(Tape::new(Vec::new(), 1).wants("redis"));
    }

    #[test]
    fn what_has_no_room_is_counted_and_what_began_before_is_not_its_own() {
        let tape = Tape::new(Vec::new(), 2);
        let now = clock::now();
        tape.put(&ended(0));
        for _ in 0..5 {
            tape.put(&ended(now));
        }
        assert_eq!(tape.lost(), 3);
        assert_eq!(std::iter::from_fn(|| tape.take()).count(), 2);
        tape.stop();
        tape.put(&ended(now));
        assert!(tape.take().is_none());
    }
}
