//! One caller's books.

use super::{Outcome, Stretches, Tally, each};
use crate::simulate::report::{Gauges, Kept};
use crate::simulate::scenario::{Nanos, SECOND};

/// A stream of calls that is counted by itself.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// Whether it is a row of its own, or a part of another caller.
    pub(crate) shown: bool,
    /// The paths of its calls.
    pub(crate) paths: Vec<usize>,
    pub(crate) parts: Vec<usize>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
    row: Tally,
    row_ended: Vec<Nanos>,
    changed: bool,
    written: Gauges,
}

/// One caller over one stretch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stretch {
    pub(crate) tally: Tally,
    pub(crate) first_ok: Option<Nanos>,
    pub(crate) last_ok: Option<Nanos>,
    pub(crate) first_rejection: Option<(Nanos, resilience_runtime::Reason)>,
    pub(crate) first_failure: Option<Nanos>,
    pub(crate) first_timeout: Option<Nanos>,
    pub(crate) first_left: Option<Nanos>,
    pub(crate) sold_out: Option<Nanos>,
    pub(crate) longest_ok: Option<Nanos>,
    pub(crate) ended: Vec<Nanos>,
    pub(crate) abandoned: u64,
    pub(crate) twice: u64,
    /// Rejections whose promised time was right, and all of them.
    pub(crate) kept: (u64, u64),
    pub(crate) refused_working: u64,
    /// Set when it ends.
    pub(crate) gauges: Gauges,
    pub(crate) oldest: Option<Nanos>,
}

impl Account {
    pub(crate) fn new(name: String, shown: bool, paths: Vec<usize>, stretches: usize) -> Self {
        Self {
            name,
            shown,
            paths,
            parts: Vec::new(),
            stretches: vec![Stretch::default(); stretches],
            in_flight: 0,
            waiting: 0,
            row: Tally::default(),
            row_ended: Vec::new(),
            changed: false,
            written: Gauges::default(),
        }
    }

    pub(crate) fn each(&mut self, active: Stretches, mut act: impl FnMut(&mut Stretch)) {
        for stretch in each(active) {
            act(&mut self.stretches[stretch]);
        }
    }

    /// Counts something in the row and in every stretch that holds.
    pub(crate) fn count(&mut self, active: Stretches, mut act: impl FnMut(&mut Tally)) {
        act(&mut self.row);
        self.changed = true;
        self.each(active, |stretch| act(&mut stretch.tally));
    }

    pub(crate) fn arrive(&mut self, active: Stretches) {
        self.in_flight += 1;
        self.count(active, |tally| tally.counts.arrived += 1);
    }

    /// A call ended in front of its caller, after so long.
    pub(crate) fn end(&mut self, active: Stretches, now: Nanos, outcome: Outcome, lasted: Nanos) {
        self.count(active, |tally| {
            let counts = &mut tally.counts;
            match outcome {
                Outcome::Ok | Outcome::Saved => counts.ok += 1,
                Outcome::Business => counts.business += 1,
                Outcome::Failed => counts.failed += 1,
                Outcome::TimedOut => counts.timed_out += 1,
                Outcome::Rejected(..) => {}
            }
            match outcome {
                Outcome::Ok | Outcome::Business => counts.served.primary += 1,
                Outcome::Saved => counts.served.fallback += 1,
                Outcome::Failed | Outcome::TimedOut | Outcome::Rejected(..) => counts.served.error += 1,
            }
            if let Outcome::Rejected(reason, _) = outcome {
                tally.reject(reason);
            }
        });
        self.lasted(active, lasted);
        self.each(active, |stretch| match outcome {
            Outcome::Ok | Outcome::Saved => {
                stretch.first_ok.get_or_insert(now);
                stretch.last_ok = Some(now);
                stretch.longest_ok = stretch.longest_ok.max(Some(lasted));
            }
            Outcome::Business => {}
            Outcome::Failed => {
                stretch.first_failure.get_or_insert(now);
            }
            Outcome::TimedOut => {
                stretch.first_timeout.get_or_insert(now);
            }
            Outcome::Rejected(reason, _) => {
                stretch.first_rejection.get_or_insert((now, reason));
            }
        });
    }

    /// Its caller has gone.
    pub(crate) fn leave(&mut self, active: Stretches, now: Nanos, lasted: Nanos) {
        self.count(active, |tally| tally.counts.left += 1);
        self.lasted(active, lasted);
        self.each(active, |stretch| {
            stretch.first_left.get_or_insert(now);
        });
    }

    fn lasted(&mut self, active: Stretches, lasted: Nanos) {
        self.row_ended.push(lasted);
        self.each(active, |stretch| stretch.ended.push(lasted));
    }

    pub(crate) fn gauges(&self, (pool_used, pool_waiting): (u64, u64)) -> Gauges {
        Gauges {
            in_flight: self.in_flight,
            waiting: self.waiting,
            pool_used,
            pool_waiting,
        }
    }

    /// The row that ends, if anything happened in it.
    pub(super) fn close_row(&mut self, row: u64, gauges: Gauges) -> Option<Kept> {
        if !self.changed && gauges == self.written {
            return None;
        }
        self.changed = false;
        self.written = gauges;
        let counts = std::mem::take(&mut self.row).finish();
        self.row_ended.sort_unstable();
        let (p50_ms, p99_ms) = (percentile(&self.row_ended, 50), percentile(&self.row_ended, 99));
        self.row_ended.clear();
        Some(Kept {
            row,
            counts,
            gauges,
            p50_ms,
            p99_ms,
        })
    }
}

/// The nearest rank of a sorted list, in milliseconds.
pub(crate) fn percentile(sorted: &[Nanos], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).map(|nanos| milliseconds(*nanos))
}

#[allow(clippy::cast_precision_loss)] // 60 days have 53 bits of nanoseconds
pub(crate) fn milliseconds(nanos: Nanos) -> f64 {
    nanos as f64 / (SECOND / 1000) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let sorted: Vec<_> = (1..=200).map(|ms| ms * 1_000_000).collect();
        assert_eq!(
            (percentile(&sorted, 50), percentile(&sorted, 99)),
            (Some(100.0), Some(198.0))
        );
        assert_eq!(percentile(&sorted[..1], 99), Some(1.0));
        assert_eq!(percentile(&[], 50), None);
    }
}
