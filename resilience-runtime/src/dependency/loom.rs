//! Every interleaving of those who change the numbers of one entry, by loom. What arc-swap does is arc-swap's to prove:
//! here a number stands for what it points to.

use ::loom::sync::Arc;
use ::loom::thread;

use super::*;

#[derive(Default)]
struct Model {
    pinned: AtomicU64,
    traits: AtomicU32,
    slow_after: AtomicU64,
}

impl Model {
    fn publish(&self) {
        let write = |pinned: &u64| {
            self.slow_after.swap(pinned * 10, Ordering::AcqRel);
            self.traits.swap(u32::try_from(*pinned).unwrap(), Ordering::AcqRel);
        };
        follow(|| self.pinned.load(Ordering::Acquire), write, u64::eq);
    }
}

#[test]
fn figures_of_numbers_that_are_gone_never_stay() {
    ::loom::model(|| {
        let entry = Arc::new(Model::default());
        entry.pinned.store(1, Ordering::Release);
        let beside = Arc::clone(&entry);
        let reload = thread::spawn(move || {
            beside.pinned.store(2, Ordering::Release);
            beside.publish();
        });
        // A hand whose time is over while the reload runs.
        let _ = entry.pinned.compare_exchange(1, 3, Ordering::AcqRel, Ordering::Acquire);
        entry.publish();
        reload.join().unwrap();
        let pinned = entry.pinned.load(Ordering::Acquire);
        let (traits, slow_after) = (
            entry.traits.load(Ordering::Relaxed),
            entry.slow_after.load(Ordering::Relaxed),
        );
        assert_eq!((u64::from(traits), slow_after), (pinned, pinned * 10));
    });
}
