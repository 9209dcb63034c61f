//! What a dependency can hold of this service at most, and for how long.

use std::fmt::Write as _;
use std::time::Duration;

use resilience_policy::{Dependency, Fail, format_duration as time};

use super::worst_case::Line;
use crate::check::counted;

/// Tasks, time, and what reaches the far side.
pub(super) fn most(dependency: &Dependency, line: &Line) -> String {
    let mut text = String::new();
    let instances = dependency.traffic.instances.filter(|instances| *instances > 1);
    let everywhere = |count: u64| {
        instances.map_or(String::new(), |instances| {
            format!("; {} in all {instances} instances", count * u64::from(instances))
        })
    };
    let until = match line.ends {
        Some(ends) => format!("each for {} at most", time(ends)),
        None => "each for as long as it likes: there is neither a timeout nor a deadline".into(),
    };
    match &dependency.bulkhead {
        Some(bulkhead) => {
            let (slots, waiting) = (u64::from(bulkhead.max_concurrent), u64::from(bulkhead.max_waiting));
            let line = if waiting == 0 {
                String::new()
            } else {
                format!(", and {waiting} that wait")
            };
            let tasks = everywhere(slots + waiting);
            let _ = writeln!(
                text,
                "  {} in slots{line}, {until}{tasks}",
                counted(count(slots), "task")
            );
        }
        None => {
            let _ = writeln!(text, "  every task that calls it, {until}: there is no bulkhead");
        }
    }
    if let Some(wait) = dependency
        .bulkhead
        .as_ref()
        .filter(|bulkhead| bulkhead.max_waiting > 0)
        .map(|bulkhead| bulkhead.max_wait)
    {
        let slot = line
            .ends
            .map(|ends| ends.saturating_sub(wait))
            .filter(|slot| *slot > Duration::ZERO);
        if let Some(slot) = slot.filter(|_| dependency.deadline.is_none()) {
            let _ = writeln!(text, "  a slot itself for {} at most", time(slot));
        }
    }
    if let Some(retry) = &dependency.retry {
        let _ = writeln!(
            text,
            "  {} reach the far side for one call at most, and over all calls no more retries than {} of the calls and {} a second",
            counted(retry.max_attempts as usize, "attempt"),
            retry.budget,
            retry.budget_floor
        );
    }
    if dependency.fail == Fail::Open {
        let fallback = &dependency.fallback;
        let slots = u64::from(fallback.max_concurrent);
        let _ = writeln!(
            text,
            "  its fallbacks: {}, each for {} at most{}",
            counted(count(slots), "task"),
            time(fallback.timeout),
            everywhere(slots)
        );
    }
    text
}

fn count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
