//! What is so now, for pages, logs and tests.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::clock;
use crate::dependency::{Entry, Pinned};
use crate::guard::read_breaker;
use crate::layer::breaker::rate;
use crate::mode::Active;
use crate::runtime::{Runtime, functions_of};
use crate::words::State;

/// Everything that a runtime knows of itself, at one moment. Durations are seconds, moments Unix time in seconds.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of this instance.
    pub instance: String,
    /// The policy in force.
    pub policy: PolicySnapshot,
    /// Every dependency and operation, by name.
    pub dependencies: BTreeMap<String, DependencySnapshot>,
}

/// The policy in force.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PolicySnapshot {
    /// Fingerprint of the effective values.
    pub hash: String,
    /// The file.
    pub file: String,
    /// When it was put in force.
    pub loaded_at: f64,
    /// Whether the file differs from what is in force.
    pub stale: bool,
    /// Why the file was refused.
    pub refusal: Option<String>,
}

/// One dependency or operation.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DependencySnapshot {
    /// `closed`, `open` or `half_open`; nothing without a breaker.
    pub state: Option<&'static str>,
    /// `enforce`, `observe`, `isolate` or `off`.
    pub mode: &'static str,
    /// Why the state last changed.
    pub cause: Option<&'static str>,
    /// When the state last changed.
    pub since: Option<f64>,
    /// Results in the window.
    pub calls: u32,
    /// Share of failures in the window; nothing below `minimum_calls`.
    pub failure_rate: Option<f64>,
    /// Share of slow attempts in the window; nothing below `minimum_calls`.
    pub slow_rate: Option<f64>,
    /// What a rejected caller is told now.
    pub retry_after: Option<f64>,
    /// Slots taken; without a bulkhead the calls that run.
    pub in_flight: u64,
    /// Slots.
    pub limit: Option<u32>,
    /// Calls that wait for a slot.
    pub waiting: u32,
    /// Calls that may wait.
    pub max_waiting: Option<u32>,
    /// Retries that the budget allows now.
    pub retry_budget: Option<f64>,
    /// How often each kind of fallback had the last word.
    pub fallbacks: BTreeMap<&'static str, u64>,
    /// Share of the last minute's calls that a fallback answered.
    pub degraded_ratio: f64,
    /// The operator's hand, while it holds.
    #[serde(rename = "override")]
    pub overridden: Option<OverrideSnapshot>,
    /// The annotated functions that name it.
    pub functions: Vec<String>,
}

/// An override in force.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct OverrideSnapshot {
    /// The mode while it holds.
    pub mode: &'static str,
    /// Who set it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When it ends.
    pub until: f64,
    /// The word for the fallback.
    pub answer: Option<String>,
}

impl Snapshot {
    /// A dependency, or an operation as `payrail.refund`.
    pub fn dependency(&self, name: &str) -> Option<&DependencySnapshot> {
        self.dependencies.get(name)
    }
}

impl Runtime {
    /// What is so now. Reading it applies what the clock alone has changed, as a call would.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use resilience_runtime::{Policy, Runtime};
    ///
    /// let policy = Policy::from_toml("version = 1\n[dependency.redis]\nfail = \"open\"\nbulkhead.max_concurrent = 20\n")?;
    /// let snapshot = Runtime::new(policy).snapshot();
    /// assert_eq!(snapshot.dependency("redis").and_then(|redis| redis.limit), Some(20));
    /// # Ok(()) }
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        let in_force = self.in_force();
        let refusal = self.refusal();
        let dependencies = self
            .entries()
            .iter()
            .map(|(name, entry)| (name.to_string(), of_entry(entry)))
            .collect();
        Snapshot {
            instance: self.instance().to_owned(),
            policy: PolicySnapshot {
                hash: in_force.policy.hash().to_owned(),
                file: in_force.policy.file().display().to_string(),
                loaded_at: unix(in_force.loaded_at),
                stale: refusal.is_some(),
                refusal,
            },
            dependencies,
        }
    }
}

fn of_entry(entry: &Entry) -> DependencySnapshot {
    let pinned = entry.pin();
    let now = clock::now();
    let reading = read_breaker(&pinned);
    let numbers = pinned.settings.breaker.as_ref();
    let totals = reading.map(|reading| reading.totals).unwrap_or_default();
    let share = |count| numbers.and_then(|numbers| rate(count, totals, numbers));
    let bulkhead = pinned.bulkhead();
    DependencySnapshot {
        state: reading.map(|reading| reading.state.as_str()),
        mode: pinned.mode.as_str(),
        cause: reading
            .and_then(|reading| reading.cause)
            .map(crate::words::Cause::as_str),
        since: reading.map(|reading| unix(wall_at(reading.since, now))),
        calls: totals.calls,
        failure_rate: share(totals.failed),
        slow_rate: share(totals.slow),
        retry_after: retry_after(&pinned, reading.and_then(|reading| reading.retry_after)),
        in_flight: in_flight(&pinned),
        limit: bulkhead.map(|(_, numbers)| numbers.max_concurrent),
        waiting: bulkhead.map_or(0, |(bulkhead, _)| bulkhead.waiting()),
        max_waiting: bulkhead.map(|(_, numbers)| numbers.max_waiting),
        retry_budget: pinned.retry().map(|(budget, numbers)| budget.left(numbers, now)),
        fallbacks: pinned.own_fallbacks(),
        degraded_ratio: pinned.own.tally.degraded_ratio(now),
        overridden: pinned.active.as_deref().map(of_override),
        functions: functions_of(&entry.name),
    }
}

/// Slots taken; without a bulkhead, the calls that run.
pub(crate) fn in_flight(pinned: &Pinned) -> u64 {
    pinned.bulkhead().map_or_else(
        || pinned.own.tally.running(),
        |(bulkhead, _)| u64::from(bulkhead.in_flight()),
    )
}

/// The state that a breaker has now; closed where there is none.
#[cfg_attr(not(feature = "testing"), allow(dead_code))]
pub(crate) fn state(pinned: &Pinned) -> State {
    read_breaker(pinned).map_or(State::Closed, |reading| reading.state)
}

fn retry_after(pinned: &Pinned, breaker: Option<u64>) -> Option<f64> {
    let held = pinned.hold().left(clock::now);
    breaker.max(held).map(|left| Duration::from_nanos(left).as_secs_f64())
}

fn of_override(active: &Active) -> OverrideSnapshot {
    let set = &active.set;
    OverrideSnapshot {
        mode: set.mode.as_str(),
        by: set.by.clone(),
        reason: set.reason.clone(),
        until: unix(set.until),
        answer: set.answer.clone(),
    }
}

fn wall_at(at: u64, now: u64) -> SystemTime {
    clock::wall()
        .checked_sub(Duration::from_nanos(now.saturating_sub(at)))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

fn unix(moment: SystemTime) -> f64 {
    moment
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
