//! What a caller gets when it is refused or cut short, and what its own caller should be answered.

use comfy_table::{Table, presets};
use resilience_policy::{Dependency, Mode, Throttle, format_duration as time};

/// One way of being refused.
pub(super) struct Refusal {
    /// A word of the contract: `open`.
    pub(super) reason: &'static str,
    pub(super) when: String,
    pub(super) retry_after: String,
    /// What fits in HTTP.
    pub(super) status: u16,
}

const NONE: &str = "none";
const UNAVAILABLE: u16 = 503;
const NO_ANSWER: u16 = 504;

/// Those that can happen with the layers there are.
pub(super) fn of(dependency: &Dependency) -> Vec<Refusal> {
    let mut found = Vec::new();
    let mut add = |reason, when: String, retry_after: String, status| {
        found.push(Refusal {
            reason,
            when,
            retry_after,
            status,
        });
    };
    if let Some(breaker) = &dependency.breaker {
        let longest = breaker.cooldown_max.mul_f64(1.0 + breaker.cooldown_jitter);
        add(
            "open",
            "the breaker is open".into(),
            format!("what is left of the cooldown, {} at most", time(longest)),
            UNAVAILABLE,
        );
        let probe = dependency.timeout.map_or_else(|| "its probe's time".into(), time);
        let ramp = if breaker.ramp.is_empty() {
            ""
        } else {
            "; 1s on the ramp"
        };
        let told = format!("what is left of the longest probe, {probe} at most{ramp}");
        add(
            "probes_busy",
            "it is half open and tries others".into(),
            told,
            UNAVAILABLE,
        );
    }
    if dependency.throttle == Throttle::Dependency {
        let told = format!("what is left of that, {} at most", time(dependency.max_hold));
        add(
            "held",
            "it asked all of us to stay away (Retry-After)".into(),
            told,
            UNAVAILABLE,
        );
    }
    let isolated = if dependency.mode == Mode::Isolate {
        "the policy isolates it"
    } else {
        "somebody isolates it"
    };
    add(
        "isolated",
        isolated.into(),
        "until the override ends".into(),
        UNAVAILABLE,
    );
    if let Some(bulkhead) = &dependency.bulkhead {
        let slots = bulkhead.max_concurrent;
        let told = time(bulkhead.retry_after);
        let line = if bulkhead.max_waiting > 0 {
            format!(" and {} wait", bulkhead.max_waiting)
        } else {
            String::new()
        };
        add(
            "bulkhead_full",
            format!("all {slots} slots are taken{line}"),
            told.clone(),
            UNAVAILABLE,
        );
        if bulkhead.max_waiting > 0 {
            add(
                "wait_timed_out",
                format!("no slot came free in {}", time(bulkhead.max_wait)),
                told,
                UNAVAILABLE,
            );
        }
    }
    if let Some(timeout) = dependency.timeout {
        add(
            "timed_out",
            format!("an attempt took longer than {}", time(timeout)),
            NONE.into(),
            NO_ANSWER,
        );
    }
    let deadline = match dependency.deadline {
        Some(deadline) => format!(
            "the call took longer than {}, or than its caller's `deadline::within`",
            time(deadline)
        ),
        None => "the call took longer than its caller's `deadline::within`".into(),
    };
    add("deadline_exceeded", deadline, NONE.into(), NO_ANSWER);
    found
}

/// The same as a table.
pub(super) fn table(dependency: &Dependency) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["  reason", "when", "retry_after", "HTTP"]);
    for refusal in of(dependency) {
        let Refusal {
            reason,
            when,
            retry_after,
            status,
        } = refusal;
        table.add_row([format!("  {reason}"), when, retry_after, status.to_string()]);
    }
    table.trim_fmt()
}
