//! Changes of state, and numbers with their places, as a snapshot shows them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use resilience_policy::{Effective, Origin, Value};

use super::collect::seconds;
use super::unix;
use crate::attempts::Ending;
use crate::clock;
use crate::dependency::Pinned;
use crate::fleet::Others;
use crate::history::Record;
use crate::layer::breaker::Totals;

/// One change of a breaker's state, with what was known at that moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransitionSnapshot {
    /// When.
    pub at: f64,
    /// The state before.
    pub from: &'static str,
    /// The state after.
    pub to: &'static str,
    /// Why.
    pub cause: &'static str,
    /// Results in the window.
    pub calls: u32,
    /// Share of failures in the window; nothing below `minimum_calls`.
    pub failure_rate: Option<f64>,
    /// Share of slow attempts in the window; nothing below `minimum_calls`.
    pub slow_rate: Option<f64>,
    /// Share of attempts in the window that failed or were slow; nothing below `minimum_calls`.
    pub bad_rate: Option<f64>,
    /// Attempts since the change before: `success`, `business`, `failure`, `uncounted` (failures of kinds that do not
    /// count), `throttled`, `ignored`, `cancelled`, `panicked`, and the `slow` ones among them.
    pub counts: BTreeMap<&'static str, u64>,
    /// The number that decided.
    pub threshold: Option<ThresholdSnapshot>,
    /// The kinds of the last bad results, newest first, five at most; `slow` for one that was slow and otherwise good.
    pub kinds: Vec<&'static str>,
    /// The policy that was in force.
    pub policy_hash: String,
    /// For how long it opened.
    pub cooldown: Option<f64>,
    /// Where the results come from, if not from this instance alone; `calls` and the rates are then those of the fleet.
    pub pooled: Option<PooledSnapshot>,
    /// When, on the runtime's own clock.
    pub(super) moment: u64,
}

impl TransitionSnapshot {
    /// Whether both tell of the same change. `at` is put together from two clocks anew for each snapshot, and differs when
    /// the wall's was set or the machine was busy.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.moment, self.from, self.to) == (other.moment, other.from, other.to)
    }
}

/// The results that opened a breaker which was too quiet to judge alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PooledSnapshot {
    /// Those of this instance.
    pub own: ResultsSnapshot,
    /// Those of all instances, this one included.
    pub fleet: ResultsSnapshot,
    /// The instances that had any, this one included.
    pub instances: usize,
}

/// Results in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultsSnapshot {
    /// All of them.
    pub calls: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that were slow.
    pub slow: u32,
    /// Those that failed or were slow.
    pub bad: u32,
}

/// What other instances add to a window.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OthersSnapshot {
    /// Their results.
    pub results: ResultsSnapshot,
    /// How many instances have any of them.
    pub count: usize,
    /// The names of these; several processes of one host may have one.
    pub instances: Vec<String>,
}

/// The number that decided a change, and where it stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ThresholdSnapshot {
    /// The key's path below the dependency: `breaker.failure_rate`.
    pub key: &'static str,
    /// The value, in the file's notation.
    pub value: NumberValue,
    /// The file; for an environment variable its name; for a built-in value nothing.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// One number in force.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NumberSnapshot {
    /// The key's path below the dependency: `breaker.failure_rate`.
    pub key: &'static str,
    /// The value, in the file's notation.
    pub value: NumberValue,
    /// The file; for an environment variable its name; for a built-in value nothing.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// `own` (of an operation its dependency's too), `override`, `template NAME`, `defaults`, `environment` or `built in`.
    pub from: String,
}

/// How often a policy took the place of another, and how often one was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReloadsSnapshot {
    /// In force since then, or were.
    pub accepted: u64,
    /// Refused; what was in force stayed.
    pub refused: u64,
}

/// A value of the policy: in JSON a number, a switch, a text, a list; a duration as the file writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberValue(pub(super) Value);

impl NumberValue {
    /// The value as the policy crate knows it.
    #[inline]
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl std::fmt::Display for NumberValue {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[inline]
pub(super) fn transition(record: &Record, now: u64) -> TransitionSnapshot {
    let mut counts = BTreeMap::new();
    for ending in Ending::ALL {
        *counts.entry(ending.outcome()).or_default() += record.counts.of(ending);
    }
    let uncounted = record.uncounted();
    if let Some(failures) = counts.get_mut("failure") {
        *failures -= uncounted;
    }
    counts.extend([("uncounted", uncounted), ("slow", record.counts.slow)]);
    TransitionSnapshot {
        at: unix(wall_at(record.change.at, now)),
        from: record.change.from.as_str(),
        to: record.change.to.as_str(),
        cause: record.change.cause.as_str(),
        calls: record.change.calls,
        failure_rate: record.change.failure_rate,
        slow_rate: record.change.slow_rate,
        bad_rate: record.change.bad_rate,
        counts,
        threshold: record.threshold().map(threshold),
        kinds: record.kinds().collect(),
        policy_hash: record.policy.to_string(),
        cooldown: record.change.cooldown.map(seconds),
        pooled: record.change.pooled.map(|pooled| PooledSnapshot {
            own: results(pooled.own),
            fleet: results(pooled.fleet),
            instances: pooled.instances,
        }),
        moment: record.change.at,
    }
}

#[inline]
fn results(totals: Totals) -> ResultsSnapshot {
    let Totals {
        calls,
        failed,
        slow,
        bad,
    } = totals;
    ResultsSnapshot {
        calls,
        failed,
        slow,
        bad,
    }
}

#[inline]
pub(super) fn others(others: Others) -> OthersSnapshot {
    OthersSnapshot {
        results: results(others.totals),
        count: others.count,
        instances: others.instances,
    }
}

/// The numbers in force, with the operator's hand over them.
#[inline]
pub(super) fn numbers(pinned: &Pinned) -> Vec<NumberSnapshot> {
    let mut numbers: Vec<_> = pinned.settings.values().map(number).collect();
    if let Some(active) = &pinned.active
        && let Some(mode) = numbers.iter_mut().find(|number| number.key == "mode")
    {
        *mode = NumberSnapshot {
            key: mode.key,
            value: NumberValue(Value::String(active.set.mode.as_str().to_owned())),
            file: None,
            line: None,
            from: "override".to_owned(),
        };
    }
    numbers
}

#[inline]
fn threshold(threshold: Effective) -> ThresholdSnapshot {
    ThresholdSnapshot {
        key: threshold.key,
        value: NumberValue(threshold.value),
        file: threshold.file.as_deref().map(str::to_owned),
        line: threshold.line,
    }
}

#[inline]
fn number(effective: Effective) -> NumberSnapshot {
    NumberSnapshot {
        key: effective.key,
        value: NumberValue(effective.value),
        file: effective.file.as_deref().map(str::to_owned),
        line: effective.line,
        from: match effective.from {
            // To a program an operation and its dependency are one table.
            Origin::Own | Origin::Dependency => "own".to_owned(),
            Origin::Template(name) => format!("template {name}"),
            Origin::Defaults => "defaults".to_owned(),
            Origin::Environment => "environment".to_owned(),
            // What has no other origin is built in.
            _ => "built in".to_owned(),
        },
    }
}

#[inline]
pub(super) fn wall_at(at: u64, now: u64) -> SystemTime {
    clock::wall()
        .checked_sub(Duration::from_nanos(now.saturating_sub(at)))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
