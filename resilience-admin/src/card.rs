//! What a card on the page shows of one dependency or operation: small enough to be sent every second.

use std::collections::BTreeMap;

use resilience_runtime::{
    DependencySnapshot, OthersSnapshot, OverrideSnapshot, Policy, TransitionSnapshot, UntriedSnapshot,
};
use serde::Serialize;

/// Calls by who answered them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Served {
    pub(crate) primary: u64,
    pub(crate) fallback: u64,
    pub(crate) stale: u64,
    pub(crate) error: u64,
}

impl Served {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            primary: self.primary.saturating_sub(before.primary),
            fallback: self.fallback.saturating_sub(before.fallback),
            stale: self.stale.saturating_sub(before.stale),
            error: self.error.saturating_sub(before.error),
        }
    }
}

impl Served {
    pub(crate) fn of(dependency: &DependencySnapshot) -> Self {
        let of = |who| dependency.served.get(who).copied().unwrap_or_default();
        Self {
            primary: of("primary"),
            fallback: of("fallback"),
            stale: of("stale"),
            error: of("error"),
        }
    }
}

/// One card. What is not there is left out, because a thousand of them travel.
#[derive(Serialize)]
pub(crate) struct Card<'a> {
    state: Option<&'static str>,
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<f64>,
    calls: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bad_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_probe_in: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_for: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<TransitionSnapshot>,
    /// Moments and new states, for the marks in the strip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<(f64, &'static str)>,
    openings: usize,
    flapping: bool,
    in_flight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    waiting: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_waiting: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_budget: Option<f64>,
    degraded_ratio: f64,
    served: Served,
    #[serde(skip_serializing_if = "none")]
    rejections: Counts<'a>,
    #[serde(skip_serializing_if = "none")]
    uncounted: Counts<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    untried: &'a [UntriedSnapshot],
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    overridden: Option<&'a OverrideSnapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    fail: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<&'a OthersSnapshot>,
    #[serde(flatten)]
    limits: Limits,
}

type Counts<'a> = &'a BTreeMap<&'static str, u64>;

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference to the field
fn none(counts: &Counts<'_>) -> bool {
    counts.values().all(|count| *count == 0)
}

/// The thresholds that the rates are drawn against.
#[derive(Debug, Default, Serialize)]
#[allow(clippy::struct_field_names)] // as the page reads them, among a card's other values
struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bad_limit: Option<f64>,
}

impl Limits {
    fn of(policy: &Policy, name: &str) -> Self {
        let breaker = policy.dependency(name).and_then(|settings| settings.breaker.as_ref());
        Self {
            failure_limit: breaker.and_then(|numbers| numbers.failure_rate),
            slow_limit: breaker.and_then(|numbers| numbers.slow_rate),
            bad_limit: breaker.and_then(|numbers| numbers.bad_rate),
        }
    }
}

impl<'a> Card<'a> {
    pub(crate) fn new(name: &str, dependency: &'a DependencySnapshot, policy: &Policy) -> Self {
        let changes = dependency.transitions.iter();
        let limits = Limits::of(policy, name);
        Self {
            state: dependency.state,
            mode: dependency.mode,
            since: dependency.since.map(tenth),
            calls: dependency.calls,
            failure_rate: dependency.failure_rate,
            slow_rate: dependency.slow_rate,
            // Only a few breakers judge by it, and a thousand cards travel.
            bad_rate: dependency.bad_rate.filter(|_| limits.bad_limit.is_some()),
            retry_after: dependency.retry_after.map(tenth),
            next_probe_in: dependency.next_probe_in.map(tenth),
            open_for: dependency.open_for.map(tenth),
            opened: dependency.opened.clone().map(|mut opened| {
                opened.at = tenth(opened.at);
                opened
            }),
            changes: changes.map(|change| (tenth(change.at), change.to)).collect(),
            openings: dependency.openings,
            flapping: dependency.flapping,
            in_flight: dependency.in_flight,
            limit: dependency.limit,
            waiting: dependency.waiting,
            max_waiting: dependency.max_waiting,
            retry_budget: dependency.retry_budget,
            degraded_ratio: dependency.degraded_ratio,
            served: Served::of(dependency),
            rejections: &dependency.rejections,
            uncounted: &dependency.uncounted,
            untried: &dependency.untried,
            overridden: dependency.overridden.as_ref(),
            about: dependency.about.as_deref(),
            fail: dependency.fail,
            minimum_calls: dependency.minimum_calls,
            others: dependency.others.as_ref(),
            limits,
        }
    }
}

/// A moment is computed from two clocks at each reading, and its last digits differ each time: a card that only
/// differs there has not changed.
fn tenth(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}
