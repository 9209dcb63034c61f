//! What is so now, for pages, logs and tests.

mod collect;
mod record;
#[cfg(feature = "serde")]
mod write;

pub use record::{
    NumberSnapshot, NumberValue, OthersSnapshot, PooledSnapshot, ReloadsSnapshot, ResultsSnapshot, ThresholdSnapshot,
    TransitionSnapshot,
};

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::clock;
use crate::dependency::Pinned;
use crate::guard::read_breaker;
use crate::runtime::Runtime;
use crate::tally::Tally;
use crate::words::State;

/// Everything that a runtime knows of itself, at one moment. Durations are seconds, moments Unix time in seconds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of this instance.
    pub instance: String,
    /// The policy in force.
    pub policy: PolicySnapshot,
    /// The requests to this service, as far as a `tower::DegradedLayer` counts them.
    pub requests: RequestsSnapshot,
    /// Every dependency and operation, by name.
    pub dependencies: BTreeMap<String, DependencySnapshot>,
}

/// The requests to this service: how many of its answers had anything lesser in them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestsSnapshot {
    /// Those that were answered.
    pub total: u64,
    /// Those of them in which a fallback served a part.
    pub degraded: u64,
    /// The share of the last minute's.
    pub degraded_ratio: f64,
}

/// The policy in force.
#[derive(Debug, Clone)]
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
    /// How often a policy took the place of another, and how often one was refused.
    pub reloads: ReloadsSnapshot,
    /// When the last ones took place, oldest first.
    pub reloaded_at: Vec<f64>,
}

/// One dependency or operation.
#[derive(Debug, Clone)]
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
    /// Share of attempts in the window that failed or were slow; nothing below `minimum_calls`.
    pub bad_rate: Option<f64>,
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
    pub overridden: Option<OverrideSnapshot>,
    /// The annotated functions that name it.
    pub functions: Vec<String>,
    /// What it is, in the policy's words.
    pub about: Option<String>,
    /// `closed`: a fallback may only refuse; or `open`.
    pub fail: &'static str,
    /// Who decided that.
    pub agreed: Option<String>,
    /// What the breaker looks at: `20 calls` or `30s`.
    pub window: Option<String>,
    /// Results in the window before a rate is looked at.
    pub minimum_calls: Option<u32>,
    /// For how long it has not been closed, half-open times included.
    pub open_for: Option<f64>,
    /// What is left until the next probe, while open.
    pub next_probe_in: Option<f64>,
    /// Why it last left closed.
    pub opened: Option<TransitionSnapshot>,
    /// The last 32 changes of state, oldest first.
    pub transitions: Vec<TransitionSnapshot>,
    /// How often it left closed in the last ten minutes.
    pub openings: usize,
    /// Whether that is three times or more: it heals for a moment and falls again.
    pub flapping: bool,
    /// Calls that ended, by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Calls that ended, by who answered: `primary`, `fallback`, `stale`, `error`.
    pub served: BTreeMap<&'static str, u64>,
    /// Attempts that ended, by outcome; of a failure by its kind.
    pub attempts: BTreeMap<&'static str, u64>,
    /// Attempts that were seen and did not count for the breaker: throttled, ignored, and failures of kinds that
    /// `failures` does not list.
    pub uncounted: BTreeMap<&'static str, u64>,
    /// Calls that were rejected, by reason; time-outs included.
    pub rejections: BTreeMap<&'static str, u64>,
    /// Attempts that repeated another.
    pub retries: u64,
    /// Probes that ended, by outcome.
    pub probes: BTreeMap<&'static str, u64>,
    /// Forms of fallback that a function has, that may answer, and that never had the last word: nobody knows
    /// whether they work.
    pub never_ran: Vec<&'static str>,
    /// The same by function, as one that answered speaks for no other: forms that may answer, and never had the last word
    /// in this process.
    pub untried: Vec<UntriedSnapshot>,
    /// The numbers in force, with where each stands.
    pub numbers: Vec<NumberSnapshot>,
    /// What other instances add to the window, where it holds too little to judge alone and they tell each other.
    pub others: Option<OthersSnapshot>,
}

/// A form of a function's fallback of which nobody knows whether it works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UntriedSnapshot {
    /// The annotated function.
    pub function: String,
    /// `value`, `path`, `with` or `stale`.
    pub kind: &'static str,
    /// The path, as written.
    pub path: Option<&'static str>,
}

/// An override in force.
#[derive(Debug, Clone)]
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
    #[inline]
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
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        // Who has no watched file hears of an override's end from those who look.
        self.tick_overrides();
        self.tick_fleet();
        // What the clock has changed shows in both or in neither.
        #[cfg(feature = "metrics")]
        self.refresh_metrics();
        let in_force = self.in_force();
        let refusal = self.refusal();
        let reloads = self.reloads();
        let mut dependencies = BTreeMap::new();
        for (name, entry) in self.entries().iter() {
            let mut found = collect::of_entry(entry);
            found.others = self.others(entry).map(record::others);
            dependencies.insert(name.to_string(), found);
        }
        Snapshot {
            instance: self.instance().to_owned(),
            policy: PolicySnapshot {
                hash: in_force.policy.hash().to_owned(),
                file: in_force.policy.file().display().to_string(),
                loaded_at: unix(in_force.loaded_at),
                stale: refusal.is_some(),
                refusal,
                reloads: ReloadsSnapshot {
                    accepted: reloads.accepted,
                    refused: reloads.refused,
                },
                reloaded_at: reloads.at.iter().copied().map(unix).collect(),
            },
            requests: of_requests(self.requests()),
            dependencies,
        }
    }
}

#[inline]
fn of_requests(requests: &Tally) -> RequestsSnapshot {
    let (total, degraded) = requests.sums();
    RequestsSnapshot {
        total,
        degraded,
        degraded_ratio: requests.degraded_ratio(clock::now()),
    }
}

/// Slots taken; without a bulkhead, the calls that run.
#[inline]
pub(crate) fn in_flight(pinned: &Pinned) -> u64 {
    pinned.bulkhead().map_or_else(
        || pinned.own.tally.running(),
        |(bulkhead, _)| u64::from(bulkhead.in_flight()),
    )
}

/// The state that a breaker has now; closed where there is none.
#[cfg_attr(not(feature = "testing"), allow(dead_code))]
#[inline]
pub(crate) fn state(pinned: &Pinned) -> State {
    read_breaker(pinned).map_or(State::Closed, |reading| reading.state)
}

#[inline]
fn unix(moment: SystemTime) -> f64 {
    moment
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
