//! How many of the service's tasks a route holds.

use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub(super) struct Held {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Held {
    pub(super) fn enter(&self) -> Task<'_> {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(now, Ordering::Relaxed);
        Task(self)
    }

    pub(super) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn take_peak(&self) -> usize {
        self.peak.swap(self.now(), Ordering::Relaxed)
    }
}

pub(super) struct Task<'a>(&'a Held);

impl Drop for Task<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}
