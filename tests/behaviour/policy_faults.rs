//! What the policy file may not say.

use resilience_runtime::{Fault, Policy, Runtime};

use crate::kit::parse;

fn faults(lines: &str) -> Vec<Fault> {
    let text = format!("version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\n{lines}\n");
    match Policy::from_toml(&text) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().to_vec(),
    }
}

const ILLEGAL: &[(&str, &str)] = &[
    ("retry.max_attempts", "0"),
    ("retry.max_attempts", "101"),
    ("retry.backoff", "\"-1s\""),
    ("retry.backoff_max", "\"0s\""),
    ("retry.jitter", "\"some\""),
    ("retry.budget", "-0.1"),
    ("retry.budget", "10.5"),
    ("deadline", "\"-1s\""),
    ("deadline", "\"25h\""),
    ("breaker.failure_rate", "0.0"),
    ("breaker.failure_rate", "1.1"),
    ("breaker.failure_rate", "-0.5"),
    ("breaker.failure_rate", "nan"),
    ("breaker.failure_rate", "50"),
    ("breaker.window", "\"0 calls\""),
    ("breaker.window", "\"-1 calls\""),
    ("breaker.window", "\"0s\""),
    ("breaker.window", "\"2h\""),
    ("breaker.minimum_calls", "0"),
    ("breaker.probes", "0"),
    ("breaker.probe_successes", "0"),
    ("breaker.cooldown", "\"0s\""),
    ("breaker.cooldown", "\"-5s\""),
    ("breaker.cooldown_factor", "0.0"),
    ("breaker.cooldown_factor", "11.0"),
    ("breaker.cooldown_jitter", "1.0"),
    ("breaker.cooldown_jitter", "-0.1"),
    ("breaker.consecutive_failures", "0"),
    ("breaker.in_flight", "0"),
];

#[test]
fn cfg_10_each_number_out_of_range_is_a_fault_at_its_place() {
    for (key, value) in ILLEGAL {
        let found = faults(&format!("{key} = {value}"));
        assert_eq!(found.len(), 1, "{key} = {value}: {found:?}");
        let fault = &found[0];
        assert_eq!(fault.key(), format!("dependency.far.{key}"), "{value}");
        assert_eq!(fault.line(), Some(5), "{key} = {value}");
        let shown = fault.value().unwrap_or_default();
        assert_eq!(shown.trim_matches('"'), value.trim_matches('"'), "{key}");
    }
}

#[test]
fn cfg_10_a_file_with_five_faults_reports_all_five() {
    let five = r#"
        deadline = "-1s"
        retry = { max_attempts = 0, budget = 11.0 }
        breaker = { failure_rate = 2.0, cooldown_jitter = 1.0 }
        "#;
    let mut keys: Vec<_> = faults(five).iter().map(|fault| fault.key().to_owned()).collect();
    keys.sort();
    let of = |key| format!("dependency.far.{key}");
    let expected = [
        "breaker.cooldown_jitter",
        "breaker.failure_rate",
        "deadline",
        "retry.budget",
        "retry.max_attempts",
    ];
    assert_eq!(keys, expected.map(of));
}

#[test]
fn cfg_11_a_cap_below_its_begin_names_both() {
    for (lines, keys) in [
        (
            "retry = { backoff = \"1s\", backoff_max = \"500ms\" }",
            ["backoff_max", "backoff"],
        ),
        (
            "breaker = { cooldown = \"10s\", cooldown_max = \"5s\" }",
            ["cooldown_max", "cooldown"],
        ),
        (
            "deadline = \"1s\"\nbulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"2s\" }",
            ["max_wait", "deadline"],
        ),
        (
            "breaker = { probes = 3, probe_successes = 2 }",
            ["probes", "probe_successes"],
        ),
        (
            "breaker = { window = \"10 calls\", minimum_calls = 11 }",
            ["minimum_calls", "window"],
        ),
    ] {
        let found = faults(lines);
        assert_eq!(found.len(), 1, "{lines}: {found:?}");
        let shown = found[0].to_string();
        assert!(keys.iter().all(|key| shown.contains(key)), "{shown}");
    }
}

#[test]
fn cfg_12_a_switch_that_is_no_switch_is_a_fault() {
    for value in ["5", "\"yes\"", "\"flase\""] {
        for key in ["breaker", "retry", "bulkhead", "breaker.failure_rate"] {
            // A rate of 5 is out of range, and no rate is a word.
            assert!(!faults(&format!("{key} = {value}")).is_empty(), "{key} = {value}");
        }
        let text = format!("version = 1\n[runtime]\nchaos = {value}\n");
        assert!(Policy::from_toml(&text).is_err(), "{value}");
    }
}

#[test]
fn cfg_13_a_template_inherits_nothing() {
    let text = r#"
        version = 1
        [template.b]
        inherits = "c"
        [template.c]
        inherits = "b"
        [dependency.far]
        fail = "closed"
        inherits = "b"
        "#;
    let refused = Policy::from_toml(text).unwrap_err();
    assert!(
        refused
            .faults()
            .iter()
            .any(|fault| fault.key() == "template.b.inherits"),
        "{refused}"
    );
}

#[test]
fn cfg_15_a_key_that_nobody_knows_is_a_fault_with_the_nearest() {
    let found = faults("breaker.failure_rat = 0.5");
    assert_eq!((found.len(), found[0].suggestion()), (1, Some("failure_rate")));
    let found = faults("failure_rate = 0.5");
    assert_eq!((found.len(), found[0].key()), (1, "dependency.far.failure_rate"));
    let found = faults("[dependency.far.braker]\nwindow = \"20 calls\"");
    assert_eq!((found.len(), found[0].suggestion()), (1, Some("breaker")));
}

#[test]
fn cfg_16_names_that_nobody_defines_are_refused() {
    let runtime = Runtime::new(parse("version = 1\n[dependency.payrail]\nfail = \"closed\"\n"));
    let unknown = runtime.guard("payrial").unwrap_err();
    assert_eq!((unknown.name(), unknown.nearest()), ("payrial", Some("payrail")));
    let found = faults("inherits = \"htpp\"\n[template.http]\ntimeout = \"1s\"");
    assert_eq!((found.len(), found[0].suggestion()), (1, Some("http")));
}

#[test]
fn cfg_23_a_name_is_defined_once_and_is_not_a_word_of_the_file() {
    let twice = "version = 1\n[dependency.far]\nfail = \"closed\"\n[dependency.far]\nfail = \"open\"\n";
    assert_eq!(Policy::from_toml(twice).unwrap_err().faults()[0].line(), Some(4));
    for name in [
        "breaker",
        "operation",
        "defaults",
        "template",
        "Far",
        "far__away",
        "9far",
    ] {
        let text = format!("version = 1\n[dependency.{name}]\nfail = \"closed\"\n");
        assert!(Policy::from_toml(&text).is_err(), "{name}");
    }
    let alike = "version = 1\n[dependency.far-away]\nfail = \"closed\"\n[dependency.far_away]\nfail = \"closed\"\n";
    assert!(Policy::from_toml(alike).is_err());
}
