//! The rows of time, put together until they fit the width of a picture.

use super::super::report::{Counts, Gauges, Kept, Seconds, seconds_of};

/// More than this cannot be told apart.
const MOST: u64 = 300;

/// What a call came to, as the picture shows it.
pub(super) struct Kind {
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) count: fn(&Counts) -> u64,
}

/// From the bottom of the stack to its top.
pub(super) const KINDS: [Kind; 7] = [
    Kind {
        class: "ok",
        word: "served",
        count: |counts| counts.ok.saturating_sub(counts.served.fallback + counts.served.stale),
    },
    Kind {
        class: "fallback",
        word: "by a fallback",
        count: |counts| counts.served.fallback + counts.served.stale,
    },
    Kind {
        class: "business",
        word: "business",
        count: |counts| counts.business,
    },
    Kind {
        class: "left",
        word: "left",
        count: |counts| counts.left,
    },
    Kind {
        class: "rejected",
        word: "refused",
        count: Counts::rejections,
    },
    Kind {
        class: "timed-out",
        word: "timed out",
        count: |counts| counts.timed_out,
    },
    Kind {
        class: "failed",
        word: "failed",
        count: |counts| counts.failed,
    },
];

/// A stretch of the picture.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bin {
    pub(super) arrived: f64,
    /// In the order of [`KINDS`].
    pub(super) counts: [f64; KINDS.len()],
    /// The most in it.
    pub(super) in_flight: f64,
    pub(super) waiting: f64,
    pub(super) p50: Option<f64>,
    pub(super) p99: Option<f64>,
}

impl Bin {
    pub(super) fn held(&self) -> f64 {
        self.in_flight + self.waiting
    }

    /// The higher of what came and what went.
    pub(super) fn ended_and_arrived(&self) -> f64 {
        self.counts.iter().sum::<f64>().max(self.arrived)
    }
}

/// The bins of a caller, and how many seconds one is wide.
pub(super) fn all(kept: &[Kept], seconds: &Seconds) -> (Vec<Bin>, f64) {
    let each = seconds.rows.div_ceil(MOST).max(1);
    let bins = seconds.rows.div_ceil(each);
    let mut next = kept.iter().peekable();
    let mut gauges = Gauges::default();
    let all = (0..bins).map(|bin| {
        let mut made = Bin::default();
        made.most(gauges);
        let end = (bin + 1) * each;
        let mut first = true;
        while let Some(row) = next.next_if(|row| row.row < end) {
            gauges = row.gauges;
            if first && row.row == bin * each {
                // Nothing of the row before is left in this one.
                made = Bin::default();
            }
            first = false;
            made.most(gauges);
            made.add(&row.counts);
            made.p50 = most(made.p50, row.p50_ms);
            made.p99 = most(made.p99, row.p99_ms);
        }
        made
    });
    #[allow(clippy::cast_precision_loss)] // a few rows
    let width = each as f64 * seconds_of(seconds.step);
    (all.collect(), width)
}

impl Bin {
    #[allow(clippy::cast_precision_loss)] // drawn in tenths of a pixel
    fn add(&mut self, counts: &Counts) {
        self.arrived += counts.arrived as f64;
        for (sum, kind) in self.counts.iter_mut().zip(&KINDS) {
            *sum += (kind.count)(counts) as f64;
        }
    }

    #[allow(clippy::cast_precision_loss)] // drawn in tenths of a pixel
    fn most(&mut self, gauges: Gauges) {
        self.in_flight = self.in_flight.max(gauges.in_flight as f64);
        self.waiting = self.waiting.max(gauges.waiting as f64);
    }
}

fn most(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.max(right)),
        (left, right) => left.or(right),
    }
}
