//! Names, labels and their words, from the start.

use std::collections::BTreeSet;

use metrics::set_default_local_recorder;
use resilience_runtime::Runtime;

use crate::exposition::{Page, recorder};
use crate::kit;

pub(crate) const EVERY_LAYER: &str = r#"
timeout = "1s"
bulkhead = { max_concurrent = 3, max_waiting = 1, max_wait = "1s" }
retry = { max_attempts = 2, backoff = "1ms", budget_floor = 100.0 }
breaker = { window = "4 calls", cooldown = "10s", cooldown_jitter = 0.0, cooldown_factor = 1.0 }
"#;

#[test]
fn met_01_every_series_stands_at_zero_from_the_start() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let _runtime = kit::runtime(EVERY_LAYER);
    let page = Page::of(&recorder.handle());
    let names: Vec<_> = page
        .names()
        .into_iter()
        .map(|(name, labels)| format!("{name}: {}", labels.into_iter().collect::<Vec<_>>().join(" ")))
        .collect();
    assert_eq!(
        names,
        [
            "resilience_attempt_duration_seconds: dependency instance",
            "resilience_attempt_duration_seconds_count: dependency instance",
            "resilience_attempt_duration_seconds_sum: dependency instance",
            "resilience_attempts_total: dependency instance kind outcome",
            "resilience_breaker_open_seconds: dependency instance",
            "resilience_breaker_state: dependency instance state",
            "resilience_breaker_transitions_total: cause dependency from instance to",
            "resilience_bulkhead_in_flight: dependency instance",
            "resilience_bulkhead_limit: dependency instance",
            "resilience_bulkhead_waiting: dependency instance",
            "resilience_calls_total: dependency instance outcome served",
            "resilience_degraded_ratio: dependency instance",
            "resilience_failure_rate: dependency instance",
            "resilience_fallbacks_total: dependency instance kind reason",
            "resilience_mode: dependency instance mode",
            "resilience_override_left_seconds: dependency instance",
            "resilience_policy_info: hash instance",
            "resilience_policy_reloads_total: instance result",
            "resilience_policy_stale: instance",
            "resilience_probes_total: dependency instance outcome",
            "resilience_rejections_total: dependency instance reason",
            "resilience_retries_total: dependency instance",
            "resilience_retry_budget: dependency instance",
            "resilience_slow_rate: dependency instance",
        ]
    );
    assert_eq!(
        page.not_nothing(),
        [
            "resilience_breaker_state",
            "resilience_bulkhead_limit",
            "resilience_mode",
            "resilience_policy_info",
            "resilience_retry_budget",
        ]
    );
    let far = [("dependency", "far")];
    assert_eq!(
        page.get("resilience_breaker_state", &[far[0], ("state", "closed")]),
        Some(1.0)
    );
    assert_eq!(page.get("resilience_mode", &[far[0], ("mode", "enforce")]), Some(1.0));
    assert_eq!(page.get("resilience_bulkhead_limit", &far), Some(3.0));
    assert!(page.text.contains("# HELP resilience_calls_total "), "{}", page.text);
}

#[test]
fn the_words_of_the_labels_are_those_of_events_and_json() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let runtime = kit::runtime(EVERY_LAYER);
    let page = Page::of(&recorder.handle());
    let words = |name, label, expected: &str| {
        let expected: BTreeSet<_> = expected.split_whitespace().collect();
        assert_eq!(page.values(name, label), expected, "{name} {label}");
    };
    words(
        "resilience_calls_total",
        "outcome",
        "success business failure throttled ignored rejected cancelled panicked",
    );
    words("resilience_calls_total", "served", "primary fallback stale error");
    words(
        "resilience_attempts_total",
        "outcome",
        "success business failure throttled ignored cancelled panicked",
    );
    words(
        "resilience_rejections_total",
        "reason",
        "open probes_busy held isolated bulkhead_full wait_timed_out timed_out deadline_exceeded",
    );
    words("resilience_breaker_state", "state", "closed open half_open");
    words("resilience_mode", "mode", "enforce observe isolate off");
    words(
        "resilience_breaker_transitions_total",
        "cause",
        "failure_rate slow_rate bad_rate consecutive_failures in_flight probe_failed probe_slow probe_timed_out \
         cooldown_over probes_succeeded ramp_done trip reset reload",
    );
    words(
        "resilience_probes_total",
        "outcome",
        "success business failure throttled ignored cancelled panicked",
    );
    words("resilience_policy_reloads_total", "result", "accepted refused");
    let instance = runtime.snapshot().instance;
    words("resilience_calls_total", "instance", &instance);
    let kinds = page.values("resilience_attempts_total", "kind");
    for kind in ["timeout", "connect", "server", "protocol", "other"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn met_01_a_layer_that_is_off_has_no_series() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let _runtime = kit::runtime("timeout = \"1s\"");
    let page = Page::of(&recorder.handle());
    for name in [
        "resilience_breaker_state",
        "resilience_breaker_transitions_total",
        "resilience_probes_total",
        "resilience_bulkhead_limit",
        "resilience_retries_total",
        "resilience_retry_budget",
    ] {
        assert!(!page.names().contains_key(name), "{name}");
    }
    assert_eq!(page.get("resilience_bulkhead_in_flight", &[]), Some(0.0));
}

#[test]
fn what_an_operation_shares_stands_under_its_dependency_alone() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let text = format!(
        "version = 1\n[dependency.far]\nfail = \"closed\"\n{EVERY_LAYER}\n[dependency.far.operation.near]\n\
         [dependency.far.operation.own]\nbreaker.window = \"9 calls\"\n"
    );
    let _runtime = Runtime::new(kit::parse(&text));
    let page = Page::of(&recorder.handle());
    let of = |name| page.values(name, "dependency").into_iter().collect::<Vec<_>>();
    assert_eq!(of("resilience_calls_total"), ["far", "far.near", "far.own"]);
    assert_eq!(of("resilience_breaker_open_seconds"), ["far", "far.own"]);
    assert_eq!(of("resilience_bulkhead_in_flight"), ["far"]);
}
