//! Policies of many dependencies.

use std::fmt::Write as _;

use resilience_runtime::Policy;

use crate::MANY;

/// Four tables below each dependency, a few keys in each.
pub(crate) const FOUR_TABLES: &str = r#"
breaker = { window = "50 calls", failure_rate = 0.4, cooldown = "10s" }
bulkhead = { max_concurrent = 20, max_waiting = 10, max_wait = "50ms" }
retry = { max_attempts = 3, backoff = "50ms" }
fallback = { max_stale = "1m", max_entries = 100 }
"#;

/// The same, and the window is a time.
pub(crate) const TIME_WINDOW: &str = r#"
breaker = { window = "30s", failure_rate = 0.4, cooldown = "10s" }
bulkhead = { max_concurrent = 20, max_waiting = 10, max_wait = "50ms" }
retry = { max_attempts = 3, backoff = "50ms" }
fallback = { max_stale = "1m", max_entries = 100 }
"#;

/// Every key that there is.
pub(crate) const EVERY_KEY: &str = r#"
about = "card payments"
agreed = "risk team, 2026-11"
label = "payments"
uses = ["postgres"]
mode = "enforce"
deadline = "8s"
throttle = "call"
max_hold = "60s"
failures = ["timeout", "connect", "server", "protocol", "other"]
breaker = { window = "20 calls", minimum_calls = 20, failure_rate = 0.5, slow_after = "400ms", slow_rate = 0.6, bad_rate = 0.7, consecutive_failures = 5, in_flight = 100, cooldown = "30s", cooldown_max = "5m", cooldown_factor = 2.0, cooldown_jitter = 0.1, probes = 1, probe_successes = 1, ramp = [0.05, 0.25], sample_every = "10s" }
bulkhead = { max_concurrent = 20, max_waiting = 50, max_wait = "1s", per_key = 5, max_keys = 10_000, retry_after = "5s" }
retry = { max_attempts = 3, backoff = "100ms", backoff_max = "2s", jitter = "full", budget = 0.1, budget_floor = 1.0 }
fallback = { max_stale = "5m", max_entries = 10_000, max_concurrent = 10, timeout = "200ms", uses = ["postgres"] }
traffic = { calls_per_second = 500.0, instances = 2, latency = "150ms", latency_p99 = "400ms", capacity = 50 }
chaos = { failure = 0.01, latency = "200ms", latency_share = 0.05 }
"#;

/// The name of a dependency.
pub(crate) fn name(name: &str, number: usize) -> String {
    format!("{name}-{number}")
}

/// So many dependencies with these keys; the first of them has this timeout, all others 2 s.
pub(crate) fn policy(called: &str, many: usize, keys: &str, first_timeout: &str) -> Policy {
    let mut text = String::from("version = 1\n[resource.postgres]\ncapacity = 20\n");
    for number in 0..many {
        let timeout = if number == 0 { first_timeout } else { "2s" };
        add(
            &mut text,
            &name(called, number),
            &format!("timeout = \"{timeout}\"\n{keys}"),
        );
    }
    read(&text)
}

/// Many dependencies that take their timeout from one template.
pub(crate) fn inherited(timeout: &str) -> Policy {
    let mut text = format!("version = 1\n[template.http]\ntimeout = \"{timeout}\"\n");
    for number in 0..MANY {
        add(&mut text, &name("inherits", number), "inherits = \"http\"\n");
    }
    read(&text)
}

/// One dependency with its operations, which are many together.
pub(crate) fn operations(timeout: &str) -> Policy {
    let mut text = String::from("version = 1\n");
    add(&mut text, "payrail", &format!("timeout = \"{timeout}\"\n"));
    for number in 1..MANY {
        writeln!(text, "[dependency.payrail.operation.part-{number}]").unwrap();
    }
    read(&text)
}

fn add(text: &mut String, name: &str, keys: &str) {
    writeln!(text, "[dependency.{name}]\nfail = \"closed\"\n{keys}").unwrap();
}

fn read(text: &str) -> Policy {
    Policy::from_toml(text).expect("a text of ours")
}
