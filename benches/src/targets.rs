//! What has to be reached, measured against what stood beside it in the same run.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::measure::{Group, Shared};
use crate::stats::figure;

/// What every row showed.
#[derive(Debug, Default)]
pub struct Seen(HashMap<&'static str, Value>);

#[derive(Debug, Clone)]
struct Value {
    name: String,
    p10: f64,
    median: f64,
    allocations: f64,
}

impl Seen {
    /// Adds what one thread showed.
    pub fn add(&mut self, groups: &[Group]) {
        for row in groups.iter().flat_map(|group| &group.rows) {
            let (p10, median) = (row.samples.p10(), row.samples.median());
            let value = Value {
                name: row.name.clone(),
                p10,
                median,
                allocations: row.allocations,
            };
            self.0.insert(row.id, value);
        }
    }

    /// Adds what two threads showed.
    pub fn add_shared(&mut self, rows: &[Shared]) {
        for row in rows {
            let (p10, median) = (row.together.p10(), row.together.median());
            let value = Value {
                name: row.name.clone(),
                p10,
                median,
                allocations: f64::NAN,
            };
            self.0.insert(row.id, value);
        }
    }

    fn get(&self, id: &str) -> &Value {
        self.0
            .get(id)
            .unwrap_or_else(|| panic!("no row is called `{id}`: correct the target"))
    }
}

/// One of the things to reach.
#[derive(Debug)]
pub struct Verdict {
    /// In words.
    pub what: String,
    /// What ours took.
    pub ours: String,
    /// What it may take.
    pub limit: String,
    /// What the limit was measured against.
    pub against: String,
    /// By how much it is missed, if it is: 0.1 is a tenth above the limit.
    pub missed: Option<f64>,
}

struct Target {
    what: &'static str,
    ours: &'static str,
    factor: f64,
    /// The cheapest of these counts.
    against: &'static [&'static str],
}

/// In nanoseconds, p10, one thread. A factor of 1.1 or 1.25 says "the same", within what the machine's noise allows.
const ALONE: &[Target] = &[
    Target {
        what: "breaker alone, closed",
        ours: "alone",
        factor: 0.75,
        against: &["recloser"],
    },
    Target {
        what: "… slow calls watched",
        ours: "slow",
        factor: 0.6,
        against: &["seatbelt"],
    },
    Target {
        what: "rejection when open",
        ours: "open",
        factor: 0.6,
        against: &[
            "open-recloser",
            "open-failsafe",
            "open-seatbelt",
            "open-tower-resilience",
            "open-sentinel",
        ],
    },
    Target {
        what: "… cheaper than accepting, as far as slow calls are watched",
        ours: "open",
        factor: 1.0,
        against: &["slow"],
    },
    Target {
        what: "… cheaper than accepting without a clock",
        ours: "open",
        factor: 1.0,
        against: &["alone"],
    },
    Target {
        what: "bulkhead alone",
        ours: "room",
        factor: 1.0,
        against: &["semaphore"],
    },
    Target {
        what: "breaker + bulkhead + timeout, against peers",
        ours: "three",
        factor: 0.5,
        against: &[
            "by-hand",
            "by-hand-failsafe",
            "by-hand-seatbelt",
            "tower-resilience-three",
            "sentinel-three",
        ],
    },
    Target {
        what: "… against its floor",
        ours: "three",
        factor: 1.5,
        against: &["floor-three"],
    },
    Target {
        what: "annotated function, one layer",
        ours: "alone-fn",
        factor: 1.1,
        against: &["alone"],
    },
    Target {
        what: "… three layers",
        ours: "three-fn",
        factor: 1.1,
        against: &["three"],
    },
    Target {
        what: "… all layers",
        ours: "repeat-fn",
        factor: 1.1,
        against: &["repeat"],
    },
    Target {
        what: "flat: 100 000 calls against 10",
        ours: "calls-100000",
        factor: 1.25,
        against: &["calls-10"],
    },
    Target {
        what: "flat: 1 000 calls against 10",
        ours: "calls-1000",
        factor: 1.25,
        against: &["calls-10"],
    },
    Target {
        what: "flat: 1 h against 10 s",
        ours: "time-3600",
        factor: 1.25,
        against: &["time-10"],
    },
];

/// The peers of the row with two threads.
const SHARED: &[&str] = &[
    "shared-recloser",
    "shared-failsafe-run",
    "shared-failsafe",
    "shared-seatbelt",
    "shared-tower-resilience",
    "shared-sentinel",
];

/// Rows of ours that may not allocate.
const UNALLOCATING: &[&str] = &[
    "alone",
    "alone-fn",
    "slow",
    "mixed",
    "slow-mixed",
    "open",
    "room",
    "three",
    "three-fn",
    "repeat",
    "repeat-fn",
];

/// The most that one idle dependency may take, in bytes.
const IDLE_BYTES: f64 = 4096.0;

/// Holds what was seen against what has to be reached.
pub fn judge(seen: &Seen, idle_bytes: f64) -> Vec<Verdict> {
    let mut verdicts: Vec<_> = ALONE
        .iter()
        .map(|target| timed(seen, target, |value| value.p10))
        .collect();
    let two = Target {
        what: "two threads, all features (median)",
        ours: "shared-three",
        factor: 0.5,
        against: SHARED,
    };
    verdicts.push(timed(seen, &two, |value| value.median));

    let most = UNALLOCATING
        .iter()
        .map(|id| seen.get(id).allocations)
        .fold(0.0, f64::max);
    verdicts.push(Verdict {
        what: "allocations a call, the most of all these rows".to_owned(),
        ours: figure(most),
        limit: "0".to_owned(),
        against: String::new(),
        missed: (most > 0.0).then_some(f64::INFINITY),
    });
    verdicts.push(Verdict {
        what: "bytes of an idle dependency".to_owned(),
        ours: figure(idle_bytes),
        limit: figure(IDLE_BYTES),
        against: String::new(),
        missed: over(idle_bytes, IDLE_BYTES),
    });
    verdicts
}

fn timed(seen: &Seen, target: &Target, read: impl Fn(&Value) -> f64) -> Verdict {
    let ours = read(seen.get(target.ours));
    let cheapest = target
        .against
        .iter()
        .map(|id| seen.get(id))
        .min_by(|a, b| read(a).total_cmp(&read(b)));
    let cheapest = cheapest.expect("every target names a row");
    let limit = read(cheapest) * target.factor;
    Verdict {
        what: target.what.to_owned(),
        ours: figure(ours),
        limit: figure(limit),
        against: format!("{} × {} ({})", target.factor, figure(read(cheapest)), cheapest.name),
        missed: over(ours, limit),
    }
}

/// By how much; not a number where one of them was not measured.
fn over(ours: f64, limit: f64) -> Option<f64> {
    ours.partial_cmp(&limit)
        .is_none_or(Ordering::is_gt)
        .then(|| ours / limit - 1.0)
}
