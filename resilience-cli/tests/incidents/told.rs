//! What a breaker tells a simulation of each result and of each probe, to the call.

use serde_json::{Value, json};

use crate::report;

/// The report of one dependency `far`, whose breaker has these numbers, with calls that none but the breaker bounds.
fn run(breaker: &str, scenario: &str) -> Value {
    let desk = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = desk.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into()
    };
    let policy = format!(
        "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"9s\"\n[dependency.far.breaker]\n\
         cooldown = \"10s\"\ncooldown_jitter = 0.0\n{breaker}"
    );
    let (scenario, policy) = (file("told.toml", scenario.to_owned()), file("policy.toml", policy));
    serde_json::from_str(&report::simulate(scenario, policy, &["--format", "json"])).unwrap()
}

#[test]
fn a_result_of_a_period_that_is_over_is_late_and_one_of_a_later_period_is_not() {
    let report = run(
        "window = \"2 calls\"\nminimum_calls = 2\nslow_after = \"2s\"\nslow_rate = 1.0\n",
        r#"
duration = "60s"
[[caller]]
name = "before"
dependency = "far"
burst = 5
[[caller]]
name = "probe"
dependency = "far"
burst = 1
from = "20s"
[[caller]]
name = "after"
dependency = "far"
burst = 3
from = "30s"
[[far.far]]
latency = { S = "3s", F = "1s" }
answers = "FFSSS"
[[far.far]]
from = "20s"
latency = "1s"
answers = "SSSF"
"#,
    );
    // Two failures open it while three slow calls run on: what they bring at last belongs to nobody, slow or not.
    assert_eq!(
        report["summary"]["before"]["recorded"],
        json!({ "success": 3, "failure": 3, "slow": 0, "ignored": 0, "late": 3 })
    );
    assert_eq!(report["summary"]["before"]["closed_s"], json!([21.0]));
}

#[test]
fn an_attempt_that_a_ramp_admits_is_no_probe() {
    let report = run(
        "probe_successes = 2\nramp = [0.5]\n",
        r#"
duration = "20s"
[[caller]]
name = "calls"
dependency = "far"
every = "1s"
[[far.far]]
latency = "100ms"
[start.far]
state = "open"
"#,
    );
    let calls = &report["summary"]["calls"];
    // Probes at 10 and 11 s, then every other one: at 12 and 14 s.
    assert_eq!(
        (&calls["probes"], &calls["closed_s"], &calls["rejected"]),
        (&json!(2), &json!([14.1]), &json!({ "open": 10, "probes_busy": 1 }))
    );
    assert_eq!(calls["retry_after_kept"], json!(1.0));
}
