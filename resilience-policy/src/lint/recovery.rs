//! Lints of time and of coming back: timeouts, cooldown and probes.

use super::{Finding, Lint, Subject, above, ceil, figure};
use crate::policy::Window;
use crate::reference::Id;
use crate::units::format_duration;

pub(super) const LINTS: &[Lint] = &[
    (
        "every_call_a_probe",
        &[Id::Cooldown, Id::CallsPerSecond, Id::Instances],
        every_call_a_probe,
    ),
    ("window_below_timeout", &[Id::Window, Id::Timeout], window_below_timeout),
    (
        "cooldown_below_timeout",
        &[Id::Cooldown, Id::Timeout],
        cooldown_below_timeout,
    ),
    ("slow_after_timeout", &[Id::SlowAfter, Id::Timeout], slow_after_timeout),
    ("slow_near_median", &[Id::SlowAfter, Id::Latency], slow_near_median),
    ("probe_surge", &[Id::Probes, Id::Instances, Id::Capacity], probe_surge),
    (
        "same_moment_recovery",
        &[Id::CooldownJitter, Id::Instances],
        same_moment_recovery,
    ),
    (
        "flapping",
        &[
            Id::ProbeSuccesses,
            Id::Probes,
            Id::Ramp,
            Id::CooldownFactor,
            Id::Cooldown,
            Id::Timeout,
        ],
        flapping,
    ),
];

fn every_call_a_probe(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let between = subject.figures.seconds_between_calls?;
    let cooldown = breaker.cooldown.as_secs_f64();
    if !above(between, cooldown) {
        return None;
    }
    let message = format!(
        "a call every {}s an instance and a cooldown of {}: every call finds the cooldown over and is a probe, so the \
         breaker spares nobody; raise `cooldown` to {}s or more, or rely on `timeout` and `fallback`",
        figure(between),
        format_duration(breaker.cooldown),
        figure(ceil(2.0 * between)),
    );
    Finding::found(
        Id::Cooldown,
        message,
        &[("seconds_between_calls", between), ("cooldown_s", cooldown)],
    )
}

fn window_below_timeout(subject: &Subject<'_>) -> Option<Finding> {
    let Window::Time(window) = subject.breaker?.window else {
        return None;
    };
    let timeout = subject.dependency.timeout.filter(|timeout| *timeout > window)?;
    let message = format!(
        "a call that times out takes {}, longer than the window of {}: the results that began with it have left when \
         it counts; a window of {}s holds ten of them",
        format_duration(timeout),
        format_duration(window),
        figure(10.0 * timeout.as_secs_f64()),
    );
    Finding::found(
        Id::Window,
        message,
        &[("window_s", window.as_secs_f64()), ("timeout_s", timeout.as_secs_f64())],
    )
}

fn cooldown_below_timeout(subject: &Subject<'_>) -> Option<Finding> {
    let cooldown = subject.breaker?.cooldown;
    let timeout = subject.dependency.timeout.filter(|timeout| *timeout > cooldown)?;
    let message = format!(
        "the cooldown of {} is shorter than the timeout of {}: probes begin while calls from before the opening still \
         run; make it {} or more",
        format_duration(cooldown),
        format_duration(timeout),
        format_duration(timeout),
    );
    Finding::found(
        Id::Cooldown,
        message,
        &[
            ("cooldown_s", cooldown.as_secs_f64()),
            ("timeout_s", timeout.as_secs_f64()),
        ],
    )
}

fn slow_after_timeout(subject: &Subject<'_>) -> Option<Finding> {
    let slow = subject.breaker?.slow_after?;
    let timeout = subject.dependency.timeout.filter(|timeout| slow >= *timeout)?;
    let message = format!(
        "`slow_after` {} is not below the timeout of {}: only what timed out is slow, and that is a failure already; \
         make it shorter",
        format_duration(slow),
        format_duration(timeout),
    );
    Finding::found(
        Id::SlowAfter,
        message,
        &[
            ("slow_after_s", slow.as_secs_f64()),
            ("timeout_s", timeout.as_secs_f64()),
        ],
    )
}

fn slow_near_median(subject: &Subject<'_>) -> Option<Finding> {
    let slow = subject.breaker?.slow_after?;
    let median = subject.dependency.traffic.latency?;
    if slow >= median * 2 {
        return None;
    }
    let message = format!(
        "`slow_after` {} is less than twice the median of {}: healthy calls will count as slow; {} or more leaves room",
        format_duration(slow),
        format_duration(median),
        format_duration(median * 2),
    );
    Finding::found(
        Id::SlowAfter,
        message,
        &[
            ("slow_after_s", slow.as_secs_f64()),
            ("latency_s", median.as_secs_f64()),
        ],
    )
}

fn probe_surge(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let (probes, all) = (f64::from(breaker.probes), subject.figures.probes_all_instances?);
    #[allow(clippy::cast_precision_loss)] // a capacity is at most 10⁹
    let capacity = subject.dependency.traffic.capacity.map(|capacity| capacity as f64);
    let over = capacity.filter(|capacity| above(all, *capacity));
    if probes <= 5.0 && over.is_none() {
        return None;
    }
    let mut numbers = vec![
        ("probes", probes),
        ("instances", subject.figures.instances),
        ("probes_all_instances", all),
    ];
    let against = capacity.map_or(String::new(), |capacity| {
        numbers.push(("capacity", capacity));
        format!(", against a capacity of {capacity}")
    });
    let message = format!(
        "{probes} probes on {} instances meet a dependency that is just getting up with {all} calls at once{against}; \
         1 to 5 probes and a `ramp` are gentler",
        subject.figures.instances,
    );
    Finding::found(Id::Probes, message, &numbers)
}

fn same_moment_recovery(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker.filter(|breaker| breaker.cooldown_jitter <= 0.0)?;
    let instances = subject.figures.instances;
    if instances < 10.0 {
        return None;
    }
    let message = format!(
        "{instances} instances and `cooldown_jitter` 0: breakers that opened together probe together; write 0.1 or more"
    );
    Finding::found(
        Id::CooldownJitter,
        message,
        &[("instances", instances), ("cooldown_jitter", breaker.cooldown_jitter)],
    )
}

fn flapping(subject: &Subject<'_>) -> Option<Finding> {
    let breaker = subject.breaker?;
    let timeout = subject.dependency.timeout?;
    let one_closes = breaker.probe_successes == 1 && breaker.ramp.is_empty();
    let constant = breaker.cooldown_factor <= 1.0;
    if !one_closes || !constant || breaker.cooldown >= timeout * 10 {
        return None;
    }
    let message = format!(
        "one probe closes, without a ramp, and the cooldown stays at {}, less than ten timeouts of {}: a dependency \
         that fails under load will flap; raise `probe_successes`, add a `ramp`, or let `cooldown_factor` be 2",
        format_duration(breaker.cooldown),
        format_duration(timeout),
    );
    let numbers = [
        ("cooldown_s", breaker.cooldown.as_secs_f64()),
        ("timeout_s", timeout.as_secs_f64()),
    ];
    Finding::found(Id::Cooldown, message, &numbers)
}
