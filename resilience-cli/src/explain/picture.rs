//! The layers of a guard, drawn from outside in.

use std::fmt::Write as _;

use crate::check::{counted, plural};
use resilience_policy::{Breaker, Bulkhead, Dependency, Fail, Jitter, Retry, Window, format_duration as time};

/// One line for each layer that is there, further in the further right.
pub(super) fn layers(dependency: &Dependency) -> String {
    let mut lines = vec![fallback(dependency)];
    lines.push(match dependency.deadline {
        Some(deadline) => format!("deadline   {} for the whole call", time(deadline)),
        None => "deadline   none of its own; that of `deadline::within`".into(),
    });
    lines.extend(dependency.bulkhead.as_ref().map(|layer| bulkhead(layer, dependency)));
    lines.extend(dependency.retry.as_ref().map(retry));
    lines.extend(dependency.breaker.as_ref().map(|layer| breaker(layer, dependency)));
    lines.extend(
        dependency
            .timeout
            .map(|timeout| format!("timeout    {} for one attempt", time(timeout))),
    );
    lines.push("the body".into());
    let mut picture = String::new();
    for (depth, line) in lines.iter().enumerate() {
        let arm = if depth == 0 { "  " } else { "└ " };
        let _ = writeln!(picture, "{}{arm}{line}", "  ".repeat(depth));
    }
    picture
}

fn fallback(dependency: &Dependency) -> String {
    if dependency.fail == Fail::Closed {
        return "fallback   refuses, makes nothing up".into();
    }
    let fallback = &dependency.fallback;
    let shared = if dependency.fallback_shared {
        shared(dependency)
    } else {
        String::new()
    };
    format!(
        "fallback   {} slots, {} each, stale answers up to {} old{shared}",
        fallback.max_concurrent,
        time(fallback.timeout),
        time(fallback.max_stale),
    )
}

fn bulkhead(layer: &Bulkhead, dependency: &Dependency) -> String {
    let waiting = match layer.max_waiting {
        0 => "nobody waits".into(),
        waiting => format!("{waiting} may wait, {} at most", time(layer.max_wait)),
    };
    let keys = layer.per_key.map_or(String::new(), |slots| format!(", {slots} a key"));
    let shared = if dependency.slots_shared {
        shared(dependency)
    } else {
        String::new()
    };
    format!("bulkhead   {} slots{keys}, {waiting}{shared}", layer.max_concurrent)
}

fn retry(layer: &Retry) -> String {
    let jitter = if layer.jitter == Jitter::None {
        String::new()
    } else {
        format!(", {} jitter", layer.jitter)
    };
    format!(
        "retry      {} attempts, pauses from {} to {}{jitter}, budget {} of the calls and {} a second",
        layer.max_attempts,
        time(layer.backoff),
        time(layer.backoff_max),
        layer.budget,
        layer.budget_floor,
    )
}

fn breaker(layer: &Breaker, dependency: &Dependency) -> String {
    let mut trips = Vec::new();
    let slow = layer
        .slow_after
        .map_or(String::new(), |slow| format!(" (over {})", time(slow)));
    trips.extend(layer.failure_rate.map(|rate| format!("{rate} failed")));
    trips.extend(layer.slow_rate.map(|rate| format!("{rate} slow{slow}")));
    trips.extend(layer.bad_rate.map(|rate| format!("{rate} failed or slow{slow}")));
    trips.extend(layer.consecutive_failures.map(|run| format!("{run} failures in a row")));
    trips.extend(layer.in_flight.map(|most| format!("{most} in flight")));
    let trips = if trips.is_empty() {
        "nothing".into()
    } else {
        trips.join(" or ")
    };
    let window = match layer.window {
        Window::Calls(calls) => format!("the last {calls} calls"),
        Window::Time(window) => format!("the last {}", time(window)),
    };
    let shared = if dependency.breaker_shared {
        shared(dependency)
    } else {
        String::new()
    };
    format!(
        "breaker    {trips} of {window}, once {} are in it, opens for {} to {}; {} and {} close{shared}",
        layer.minimum_calls,
        time(layer.cooldown),
        time(layer.cooldown_max),
        counted(layer.probes as usize, "probe"),
        plural(layer.probe_successes as usize, "success", "successes"),
    )
}

fn shared(dependency: &Dependency) -> String {
    dependency
        .parent
        .as_ref()
        .map_or(String::new(), |parent| format!(" (shared with {parent})"))
}
