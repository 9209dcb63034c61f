//! One path's books: its slots, its connections, its breakers, of all instances together.

use super::{Stretches, each};
use crate::simulate::report::{Ended, Recorded};
use crate::simulate::scenario::Nanos;

/// What there is now, of one instance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
}

#[derive(Debug)]
pub(crate) struct PathMeter {
    pub(crate) loads: Vec<Load>,
    in_flight: u64,
    waiting: u64,
    pub(crate) pool_used: u64,
    pub(crate) pool_waiting: u64,
    fallbacks: u64,
    pub(crate) stretches: Vec<PathStretch>,
}

/// One path over one stretch.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathStretch {
    pub(crate) peak_in_flight: u64,
    pub(crate) peak_waiting: u64,
    pub(crate) peak_tasks: u64,
    pub(crate) peak_pool_used: u64,
    pub(crate) peak_pool_waiting: u64,
    pub(crate) peak_fallbacks: u64,
    pub(crate) full: Option<Nanos>,
    pub(crate) opened: Vec<Nanos>,
    pub(crate) closed: Vec<Nanos>,
    pub(crate) recorded: Recorded,
    pub(crate) ended: Vec<Ended>,
}

impl PathMeter {
    pub(crate) fn new(instances: usize, stretches: usize) -> Self {
        Self {
            loads: vec![Load::default(); instances],
            in_flight: 0,
            waiting: 0,
            pool_used: 0,
            pool_waiting: 0,
            fallbacks: 0,
            stretches: vec![PathStretch::default(); stretches],
        }
    }

    pub(crate) fn each(&mut self, active: Stretches, mut act: impl FnMut(&mut PathStretch)) {
        for stretch in each(active) {
            act(&mut self.stretches[stretch]);
        }
    }

    /// A call runs more or less.
    pub(crate) fn flies(&mut self, active: Stretches, instance: usize, more: bool) {
        step(&mut self.loads[instance].in_flight, more);
        step(&mut self.in_flight, more);
        if more {
            self.observe(active);
        }
    }

    /// A call waits for a slot more or less.
    pub(crate) fn waits(&mut self, active: Stretches, instance: usize, more: bool) {
        step(&mut self.loads[instance].waiting, more);
        step(&mut self.waiting, more);
        if more {
            self.observe(active);
        }
    }

    pub(crate) fn falls(&mut self, active: Stretches, more: bool) {
        step(&mut self.fallbacks, more);
        if more {
            self.observe(active);
        }
    }

    pub(crate) fn is_full_known(&self, active: Stretches) -> bool {
        each(active).all(|stretch| self.stretches[stretch].full.is_some())
    }

    /// Holds the peaks against what there is.
    pub(crate) fn observe(&mut self, active: Stretches) {
        let (flying, waiting, fallbacks) = (self.in_flight, self.waiting, self.fallbacks);
        let (used, queued) = (self.pool_used, self.pool_waiting);
        self.each(active, |stretch| {
            raise(&mut stretch.peak_in_flight, flying);
            raise(&mut stretch.peak_waiting, waiting);
            raise(&mut stretch.peak_tasks, flying + waiting);
            raise(&mut stretch.peak_pool_used, used);
            raise(&mut stretch.peak_pool_waiting, queued);
            raise(&mut stretch.peak_fallbacks, fallbacks);
        });
    }
}

fn step(count: &mut u64, more: bool) {
    *count = if more { *count + 1 } else { count.saturating_sub(1) };
}

fn raise(peak: &mut u64, now: u64) {
    *peak = (*peak).max(now);
}
