//! Lints of the evidence on which a breaker trips.

use super::{Finding, Lint, Subject, above, ceil, figure};
use crate::policy::Breaker;
use crate::reference::Id;

/// Fewer results than this say little about a rate.
const EVIDENCE: f64 = 20.0;
/// Results older than this say little about now.
const STALE_SECONDS: f64 = 600.0;

pub(super) const LINTS: &[Lint] = &[
    (
        "thin_evidence",
        &[
            Id::Window,
            Id::MinimumCalls,
            Id::FailureRate,
            Id::CallsPerSecond,
            Id::Instances,
        ],
        thin_evidence,
    ),
    (
        "stale_evidence",
        &[Id::Window, Id::ConsecutiveFailures, Id::CallsPerSecond, Id::Instances],
        stale_evidence,
    ),
    (
        "one_failure_trips",
        &[Id::Window, Id::MinimumCalls, Id::FailureRate],
        one_failure_trips,
    ),
    (
        "weak_minimum",
        &[Id::Window, Id::MinimumCalls, Id::FailureRate],
        weak_minimum,
    ),
    (
        "consecutive_alone",
        &[Id::ConsecutiveFailures, Id::FailureRate, Id::SlowRate, Id::BadRate],
        consecutive_alone,
    ),
    (
        "blind_to_slow",
        &[
            Id::FailureRate,
            Id::SlowRate,
            Id::BadRate,
            Id::ConsecutiveFailures,
            Id::InFlight,
            Id::MaxConcurrent,
        ],
        blind_to_slow,
    ),
    (
        "in_flight_at_pool",
        &[
            Id::InFlight,
            Id::CallsPerSecond,
            Id::Instances,
            Id::Latency,
            Id::LatencyP99,
        ],
        in_flight_at_pool,
    ),
    ("no_bulkhead", &[Id::MaxConcurrent], no_bulkhead),
];

fn has_rate(breaker: &Breaker) -> bool {
    breaker
        .failure_rate
        .or(breaker.slow_rate)
        .or(breaker.bad_rate)
        .is_some()
}

fn thin_evidence(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker.filter(|breaker| has_rate(breaker))?;
    let (held, per) = subject
        .figures
        .calls_per_window
        .zip(subject.figures.calls_per_second_per_instance)?;
    let minimum = f64::from(breaker.minimum_calls);
    let wanted = minimum.max(EVIDENCE);
    if !above(wanted, held) {
        return None;
    }
    let together = held * subject.figures.instances;
    let judged = if subject.pooled && !above(minimum, together) {
        format!(
            "it cannot judge alone; with what its fleet counts it has about {}",
            figure(together)
        )
    } else {
        let verdict = if above(minimum, held) {
            "it can never trip"
        } else {
            "that is little evidence for a rate"
        };
        format!("{verdict}; {}", way_out(subject, wanted / per, wanted))
    };
    let message = format!(
        "at {} calls/s an instance, the window of {} holds about {} calls, and `minimum_calls` is {minimum}: {judged}",
        figure(per),
        breaker.window,
        figure(held),
    );
    let numbers = [
        ("calls_per_second_per_instance", per),
        ("calls_per_window", held),
        ("minimum_calls", minimum),
        ("window_needed_s", ceil(wanted / per)),
    ];
    Finding::found(Id::Window, message, &numbers)
}

fn way_out(subject: &Subject<'_>, seconds: f64, wanted: f64) -> String {
    let needed = figure(ceil(seconds));
    // A window that is long enough may reach back to another day.
    if !above(seconds, STALE_SECONDS) {
        return format!("a window of {needed}s, or of \"{wanted} calls\", would do");
    }
    let together = if subject.figures.instances > 1.0 && !subject.pooled {
        "; or let the instances judge together, by `[fleet]` with `evidence = \"pooled\"`"
    } else {
        ""
    };
    format!(
        "{wanted} calls take {needed}s, too long to speak of now: put the breaker where all calls meet, a gateway, or have none \
         here: a timeout and a bulkhead bound what it costs{together}"
    )
}

fn stale_evidence(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let per = subject.figures.calls_per_second_per_instance?;
    let between = 1.0 / per;
    if let Some(span) = subject
        .figures
        .seconds_to_fill_window
        .filter(|span| has_rate(breaker) && above(*span, STALE_SECONDS))
    {
        let message = format!(
            "a call every {}s an instance: the window of {} reaches back {}s, more than 10 minutes; take fewer calls, \
             or a window of time",
            figure(between),
            breaker.window,
            figure(span),
        );
        let numbers = [("seconds_between_calls", between), ("seconds_to_fill_window", span)];
        return Finding::found(Id::Window, message, &numbers);
    }
    let run = f64::from(breaker.consecutive_failures?);
    let span = run * between;
    if !above(span, STALE_SECONDS) {
        return None;
    }
    let message = format!(
        "a call every {}s an instance: a run of {run} failures takes {}s, more than 10 minutes; take a shorter run",
        figure(between),
        figure(span),
    );
    let numbers = [("seconds_between_calls", between), ("seconds_of_run", span)];
    Finding::found(Id::ConsecutiveFailures, message, &numbers)
}

fn one_failure_trips(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let rate = breaker.failure_rate?;
    let minimum = f64::from(breaker.minimum_calls);
    let needed = ceil(rate * minimum);
    if needed > 1.0 {
        return None;
    }
    // How often a dependency that fails one call in a hundred would trip it by chance.
    let noise = 1.0 - 0.99_f64.powf(minimum);
    let message = format!(
        "one failure among `minimum_calls` {minimum} reaches the rate {rate}; at a true failure rate of 1 % that \
         happens by chance with {:.1} %: raise `minimum_calls` to {} or more",
        noise * 100.0,
        figure((1.0 / rate).floor() + 1.0),
    );
    let numbers = [
        ("failures_needed", needed),
        ("minimum_calls", minimum),
        ("chance_at_one_percent", noise),
    ];
    Finding::found(Id::MinimumCalls, message, &numbers)
}

fn weak_minimum(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker.filter(|breaker| has_rate(breaker))?;
    let minimum = f64::from(breaker.minimum_calls);
    if minimum >= 10.0 {
        return None;
    }
    let message = format!(
        "a rate over `minimum_calls` {minimum} moves by {} with one result; 10 is the least that means something",
        figure(1.0 / minimum)
    );
    Finding::found(
        Id::MinimumCalls,
        message,
        &[("minimum_calls", minimum), ("step", 1.0 / minimum)],
    )
}

fn consecutive_alone(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker.filter(|breaker| !has_rate(breaker))?;
    let run = f64::from(breaker.consecutive_failures?);
    let message = format!(
        "`consecutive_failures` {run} alone: one success among many failures ends the run; add `failure_rate = 0.5`"
    );
    Finding::found(Id::ConsecutiveFailures, message, &[("consecutive_failures", run)])
}

fn blind_to_slow(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let rate = breaker.failure_rate?;
    let sees_slow = breaker.slow_rate.or(breaker.bad_rate).is_some()
        || breaker.consecutive_failures.or(breaker.in_flight).is_some()
        || subject.dependency.bulkhead.is_some();
    if sees_slow {
        return None;
    }
    let message = "only failures trip: a dependency that slows down and never fails takes every task of this service \
                   with it; add a bulkhead, or `slow_after` with `slow_rate`";
    Finding::found(Id::FailureRate, message.into(), &[("failure_rate", rate)])
}

fn in_flight_at_pool(subject: &Subject<'_>) -> Option<Finding> {
    let most = f64::from(subject.breaker?.in_flight?);
    let needed = subject.figures.slots_needed?;
    if above(most, 1.5 * needed) {
        return None;
    }
    let message = format!(
        "`in_flight` {most} trips in health: the expected traffic alone keeps {} attempts running; make it {} or more",
        figure(needed),
        figure((1.5 * needed).floor() + 1.0),
    );
    Finding::found(Id::InFlight, message, &[("in_flight", most), ("slots_needed", needed)])
}

fn no_bulkhead(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker.filter(|_| subject.dependency.bulkhead.is_none())?;
    let message = "a breaker without a bulkhead: until it trips, one slow dependency can hold every task; add \
                   `bulkhead.max_concurrent`";
    Finding::found(
        Id::Window,
        message.into(),
        &[("minimum_calls", f64::from(breaker.minimum_calls))],
    )
}
