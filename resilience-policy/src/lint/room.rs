//! Lints of time and room: deadline, bulkhead, retry, fallback and the decision.

use std::time::Duration;

use super::{Finding, Lint, Subject, above, ceil, figure};
use crate::figures::pauses;
use crate::reference::Id;
use crate::units::format_duration;
use crate::words::{Fail, FailureKind};

/// Waiting longer than this without a deadline is waiting for ever, to a caller.
const LONG_WAIT: Duration = Duration::from_secs(10);
/// Room above the expected need.
const HEADROOM: f64 = 1.2;

const DEMAND: &[Id] = &[
    Id::MaxConcurrent,
    Id::CallsPerSecond,
    Id::Instances,
    Id::Latency,
    Id::LatencyP99,
];

pub(super) const LINTS: &[Lint] = &[
    (
        "attempts_outlast_deadline",
        &[
            Id::Deadline,
            Id::Timeout,
            Id::MaxWait,
            Id::MaxAttempts,
            Id::Backoff,
            Id::BackoffMax,
        ],
        attempts_outlast_deadline,
    ),
    ("slots_below_demand", DEMAND, slots_below_demand),
    ("no_headroom", DEMAND, no_headroom),
    (
        "slots_exceed_capacity",
        &[Id::MaxConcurrent, Id::Instances, Id::Capacity],
        slots_exceed_capacity,
    ),
    (
        "unbounded_wait",
        &[
            Id::MaxWait,
            Id::MaxWaiting,
            Id::Deadline,
            Id::MaxConcurrent,
            Id::Latency,
        ],
        unbounded_wait,
    ),
    ("retry_closed", &[Id::Fail, Id::Failures, Id::MaxAttempts], retry_closed),
    (
        "retry_without_pause",
        &[Id::Backoff, Id::MaxAttempts],
        retry_without_pause,
    ),
    (
        "fallback_draws_on_same",
        &[Id::Uses, Id::FallbackUses, Id::FallbackConcurrent],
        fallback_draws_on_same,
    ),
    ("unsigned", &[Id::Fail, Id::Agreed], unsigned),
];

fn attempts_outlast_deadline(subject: &Subject<'_>) -> Option<Finding> {
    let dependency = subject.dependency;
    let (deadline, timeout) = dependency.deadline.zip(dependency.timeout)?;
    let longest = subject.figures.longest_answer_s?;
    if !above(longest, deadline.as_secs_f64()) {
        return None;
    }
    let wait = dependency
        .bulkhead
        .as_ref()
        .map_or(Duration::ZERO, |bulkhead| bulkhead.max_wait);
    let pauses: Duration = pauses(dependency).iter().sum();
    let attempts = dependency.retry.as_ref().map_or(1, |retry| retry.max_attempts);
    let message = format!(
        "{} waiting + {attempts} × {} + {} pauses = {}s cannot fit in the deadline of {}: raise it, or shorten \
         `timeout`, `max_wait` or `max_attempts`",
        format_duration(wait),
        format_duration(timeout),
        format_duration(pauses),
        figure(longest),
        format_duration(deadline),
    );
    let numbers = [
        ("max_wait_s", wait.as_secs_f64()),
        ("max_attempts", f64::from(attempts)),
        ("timeout_s", timeout.as_secs_f64()),
        ("pauses_s", pauses.as_secs_f64()),
        ("longest_answer_s", longest),
        ("deadline_s", deadline.as_secs_f64()),
    ];
    Finding::found(Id::Deadline, message, &numbers)
}

/// Slots, what Little's law says is needed, and calls a second of one instance.
fn demand(subject: &Subject<'_>) -> Option<(f64, f64, f64)> {
    let slots = f64::from(subject.bulkhead?.max_concurrent);
    Some((
        slots,
        subject.figures.slots_needed?,
        subject.figures.calls_per_second_per_instance?,
    ))
}

fn slots_below_demand(subject: &Subject<'_>) -> Option<Finding> {
    let (slots, needed, per) = demand(subject)?;
    if !above(needed, slots) {
        return None;
    }
    let message = format!(
        "Little's law: {} calls/s an instance keep {} slots busy, and `max_concurrent` is {slots}; make it {} or more",
        figure(per),
        figure(needed),
        figure(ceil(needed * HEADROOM)),
    );
    let numbers = [
        ("calls_per_second_per_instance", per),
        ("slots_needed", needed),
        ("max_concurrent", slots),
    ];
    Finding::found(Id::MaxConcurrent, message, &numbers)
}

fn no_headroom(subject: &Subject<'_>) -> Option<Finding> {
    let (slots, needed, per) = demand(subject)?;
    if above(needed, slots) || !above(HEADROOM * needed, slots) {
        return None;
    }
    let message = format!(
        "{} calls/s an instance keep {} of `max_concurrent` {slots} slots busy: no room for a slow minute; {} leaves a fifth",
        figure(per),
        figure(needed),
        figure(ceil(needed * HEADROOM)),
    );
    let numbers = [
        ("calls_per_second_per_instance", per),
        ("slots_needed", needed),
        ("max_concurrent", slots),
    ];
    Finding::found(Id::MaxConcurrent, message, &numbers)
}

fn slots_exceed_capacity(subject: &Subject<'_>) -> Option<Finding> {
    let slots = f64::from(subject.bulkhead?.max_concurrent);
    #[allow(clippy::cast_precision_loss)] // a capacity is at most 10⁹
    let capacity = subject.dependency.traffic.capacity? as f64;
    let (instances, all) = (subject.figures.instances, subject.figures.slots_all_instances?);
    if !above(all, capacity) {
        return None;
    }
    let message = format!(
        "`max_concurrent` {slots} on {instances} instances lets {all} calls through to what takes {capacity} at once; \
         {} an instance would fit",
        figure((capacity / instances).floor().max(1.0)),
    );
    let numbers = [
        ("max_concurrent", slots),
        ("instances", instances),
        ("limit_all_instances", all),
        ("capacity", capacity),
    ];
    Finding::found(Id::MaxConcurrent, message, &numbers)
}

fn unbounded_wait(subject: &Subject<'_>) -> Option<Finding> {
    let bulkhead = subject.bulkhead.filter(|bulkhead| bulkhead.max_waiting > 0)?;
    let wait = bulkhead.max_wait;
    let Some(deadline) = subject.dependency.deadline else {
        if wait <= LONG_WAIT {
            return None;
        }
        let message = format!(
            "a caller may wait {} for a slot, and no deadline ends it: write a `deadline`, or make `max_wait` {} or less",
            format_duration(wait),
            format_duration(LONG_WAIT),
        );
        return Finding::found(Id::MaxWait, message, &[("max_wait_s", wait.as_secs_f64())]);
    };
    let takes = subject
        .dependency
        .traffic
        .latency
        .or(subject.dependency.timeout)?
        .as_secs_f64();
    let line = f64::from(bulkhead.max_waiting) * takes / f64::from(bulkhead.max_concurrent);
    // A wait longer than the deadline is a fault by itself; a line that outlasts the deadline says what it costs.
    if wait <= deadline || !above(line, deadline.as_secs_f64()) {
        return None;
    }
    let message = format!(
        "a full line of {} waiters takes {}s to pass {} slots, and `max_wait` {} is above the deadline of {}: most of \
         them wait in vain; make `max_waiting` and `max_wait` smaller",
        bulkhead.max_waiting,
        figure(line),
        bulkhead.max_concurrent,
        format_duration(wait),
        format_duration(deadline),
    );
    let numbers = [
        ("line_s", line),
        ("max_wait_s", wait.as_secs_f64()),
        ("deadline_s", deadline.as_secs_f64()),
    ];
    Finding::found(Id::MaxWait, message, &numbers)
}

fn retry_closed(subject: &Subject<'_>) -> Option<Finding> {
    let dependency = subject.dependency;
    let retry = dependency.retry.as_ref().filter(|retry| retry.max_attempts > 1)?;
    let repeats = dependency.fail == Fail::Closed && dependency.failures.contains(FailureKind::Timeout);
    if !repeats {
        return None;
    }
    let attempts = f64::from(retry.max_attempts);
    let message = format!(
        "up to {attempts} attempts of something where `fail = \"closed\"`: a call that timed out may have been done, \
         and a repeat does it twice; leave `timeout` out of `failures`, or make the call idempotent",
    );
    Finding::found(Id::MaxAttempts, message, &[("max_attempts", attempts)])
}

fn retry_without_pause(subject: &Subject<'_>) -> Option<Finding> {
    let dependency = subject.dependency;
    let retry = dependency
        .retry
        .as_ref()
        .filter(|retry| retry.max_attempts > 1 && retry.backoff.is_zero())?;
    let message = "retries without a pause add load at the worst moment; write `backoff = \"100ms\"`";
    let numbers = [("backoff_s", 0.0), ("max_attempts", f64::from(retry.max_attempts))];
    Finding::found(Id::Backoff, message.into(), &numbers)
}

fn fallback_draws_on_same(subject: &Subject<'_>) -> Option<Finding> {
    let dependency = subject.dependency;
    let same = dependency
        .fallback
        .uses
        .iter()
        .find(|name| dependency.uses.contains(name) || **name == dependency.name)?;
    if dependency.is_written(Id::FallbackConcurrent) {
        return None;
    }
    let slots = f64::from(dependency.fallback.max_concurrent);
    let message = format!(
        "the fallback draws on `{same}`, which `{}` protects or draws on: when it fails, all its load falls there; \
         write `fallback.max_concurrent`, built in as {slots}, on purpose",
        dependency.name,
    );
    Finding::found(Id::FallbackUses, message, &[("fallback_max_concurrent", slots)])
}

fn unsigned(subject: &Subject<'_>) -> Option<Finding> {
    let dependency = subject.dependency;
    if dependency.fail != Fail::Open || dependency.agreed.is_some() {
        return None;
    }
    let message = "`fail = \"open\"` lets callers get something lesser, and nobody has signed for it; write \
                   `agreed = \"who, and when\"`";
    Finding::found(Id::Fail, message.into(), &[])
}
