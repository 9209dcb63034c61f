//! The arithmetic that the lints and `explain` share: what the expected traffic makes of the numbers.

use std::time::Duration;

use crate::policy::{Dependency, Window};

/// What follows from a dependency's numbers and its expected traffic. `None` where the traffic is not written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Instances of this service; 1 where it is not written.
    pub instances: f64,
    /// Calls a second that one instance makes.
    pub calls_per_second_per_instance: Option<f64>,
    /// Time between two calls of one instance.
    pub seconds_between_calls: Option<f64>,
    /// Calls in a window of time.
    pub calls_per_window: Option<f64>,
    /// How long a window of calls reaches back.
    pub seconds_to_fill_window: Option<f64>,
    /// Little's law: calls a second of one instance × how long one takes (`latency_p99`, else `latency`).
    pub slots_needed: Option<f64>,
    /// Probes at a time from all instances.
    pub probes_all_instances: Option<f64>,
    /// `max_concurrent` of all instances.
    pub slots_all_instances: Option<f64>,
    /// The longest that a call can take without a deadline: waiting, attempts at their timeout, and pauses.
    pub longest_answer_s: Option<f64>,
}

impl Figures {
    /// Works the figures out.
    pub fn of(dependency: &Dependency) -> Self {
        let traffic = &dependency.traffic;
        let instances = f64::from(traffic.instances.unwrap_or(1));
        let per = traffic.calls_per_second.map(|calls| calls / instances);
        let window = dependency.breaker.as_ref().map(|breaker| breaker.window);
        let takes = traffic.latency_p99.or(traffic.latency).map(|time| time.as_secs_f64());
        Self {
            instances,
            calls_per_second_per_instance: per,
            seconds_between_calls: per.map(|per| 1.0 / per),
            calls_per_window: match window {
                Some(Window::Time(time)) => per.map(|per| per * time.as_secs_f64()),
                _ => None,
            },
            seconds_to_fill_window: match window {
                Some(Window::Calls(calls)) => per.map(|per| f64::from(calls) / per),
                _ => None,
            },
            slots_needed: per.zip(takes).map(|(per, takes)| per * takes),
            probes_all_instances: dependency
                .breaker
                .as_ref()
                .map(|breaker| f64::from(breaker.probes) * instances),
            slots_all_instances: dependency
                .bulkhead
                .as_ref()
                .map(|slots| f64::from(slots.max_concurrent) * instances),
            longest_answer_s: dependency.timeout.map(|timeout| {
                let wait = dependency
                    .bulkhead
                    .as_ref()
                    .map_or(Duration::ZERO, |bulkhead| bulkhead.max_wait);
                let attempts = dependency.retry.as_ref().map_or(1, |retry| retry.max_attempts);
                let pauses: f64 = pauses(dependency).iter().map(Duration::as_secs_f64).sum();
                wait.as_secs_f64() + f64::from(attempts) * timeout.as_secs_f64() + pauses
            }),
        }
    }
}

/// The longest pause before each further attempt: doubled each time, up to `backoff_max`.
pub fn pauses(dependency: &Dependency) -> Vec<Duration> {
    let Some(retry) = &dependency.retry else {
        return Vec::new();
    };
    let mut pause = retry.backoff.min(retry.backoff_max);
    let mut pauses = Vec::new();
    for _ in 1..retry.max_attempts {
        pauses.push(pause);
        pause = pause.saturating_mul(2).min(retry.backoff_max);
    }
    pauses
}
