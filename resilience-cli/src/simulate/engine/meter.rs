//! What is counted: for each caller and each path, over the whole run, each phase and each step of time.

mod account;
mod path;

use resilience_runtime::Reason;

pub(super) use account::{Account, Stretch, percentile};
pub(super) use path::{PathMeter, PathStretch};

use crate::simulate::report::{Counts, Recorded, Seconds};
use crate::simulate::scenario::Nanos;

/// The stretches that are being summed up, a bit each; bit 0 is the whole run.
pub(super) type Stretches = u64;

/// The numbers of the stretches in a set.
pub(super) fn each(set: Stretches) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let next = rest.trailing_zeros();
        (rest != 0).then(|| {
            rest &= rest - 1;
            next as usize
        })
    })
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    /// A fallback answered, or a part that may be missing is missing.
    Saved,
    Business,
    Failed,
    TimedOut,
    Rejected(Reason, Option<Nanos>),
}

impl Outcome {
    /// Whether whoever asked may go on with it.
    pub(super) fn is_good(self) -> bool {
        matches!(self, Self::Ok | Self::Saved | Self::Business)
    }
}

pub(super) const REASONS: [Reason; 8] = [
    Reason::Open,
    Reason::ProbesBusy,
    Reason::Held,
    Reason::Isolated,
    Reason::BulkheadFull,
    Reason::WaitTimedOut,
    Reason::TimedOut,
    Reason::DeadlineExceeded,
];

/// [`Counts`] as they are counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    rejected: [u64; REASONS.len()],
}

impl Tally {
    pub(super) fn reject(&mut self, reason: Reason) {
        let at = REASONS.iter().position(|known| *known == reason);
        self.rejected[at.unwrap_or(REASONS.len() - 1)] += 1;
    }

    pub(super) fn finish(&self) -> Counts {
        let reasons = REASONS.iter().zip(self.rejected).filter(|(_, count)| *count > 0);
        Counts {
            rejected: reasons.map(|(reason, count)| (reason.as_str(), count)).collect(),
            ..self.counts.clone()
        }
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) accounts: Vec<Account>,
    pub(super) paths: Vec<PathMeter>,
    /// The stretches that hold now.
    pub(super) active: Stretches,
    pub(super) seconds: Seconds,
    /// The row that is being filled.
    row: u64,
}

impl Meter {
    pub(super) fn new(accounts: Vec<Account>, paths: Vec<PathMeter>, step: Nanos, rows: u64) -> Self {
        let shown = accounts.iter().filter(|account| account.shown);
        let callers = shown.map(|account| (account.name.clone(), Vec::new())).collect();
        Self {
            accounts,
            paths,
            active: 1,
            seconds: Seconds { step, rows, callers },
            row: 0,
        }
    }

    /// Time moves on: rows that end before `now` are closed, with the gauges as they are.
    pub(super) fn pass(&mut self, now: Nanos, pool: impl Fn(&Account) -> (u64, u64)) {
        let row = (now / self.seconds.step).min(self.seconds.rows);
        if row <= self.row {
            return;
        }
        let shown = self.accounts.iter_mut().filter(|account| account.shown);
        for (account, (_, kept)) in shown.zip(&mut self.seconds.callers) {
            let gauges = account.gauges(pool(account));
            if let Some(second) = account.close_row(self.row, gauges) {
                kept.push(second);
            }
        }
        self.row = row;
    }

    /// A phase ends, or all of it.
    pub(super) fn end(&mut self, stretch: usize) {
        self.active &= !(1 << stretch);
    }

    /// A phase begins, with what there is at that moment.
    pub(super) fn begin(&mut self, stretch: usize) {
        self.active |= 1 << stretch;
        for path in &mut self.paths {
            path.observe(1 << stretch);
        }
    }
}

/// One result came to a breaker.
pub(super) fn record(recorded: &mut Recorded, failed: Option<bool>, slow: bool, late: bool) {
    match failed {
        None => recorded.ignored += 1,
        Some(_) if late => recorded.late += 1,
        Some(true) => recorded.failure += 1,
        Some(false) => recorded.success += 1,
    }
    if slow && !late && failed.is_some() {
        recorded.slow += 1;
    }
}
