//! The lints: incidents that happened, by their number, and each lint by its name.

mod common;

use std::path::Path;

use common::BASE;
use resilience_policy::{Fault, inspect, lint};

/// The findings in a text, which may hold faults.
fn findings(text: &str) -> Vec<Fault> {
    lint(
        &inspect(text.as_bytes(), Path::new("resilience.toml"), &[]).policy,
        text,
    )
}

fn names(text: &str) -> Vec<String> {
    findings(text).iter().map(|fault| fault.name().to_owned()).collect()
}

/// The findings that are there beside some that must be and must not.
fn expect(id: &str, text: &str, must: &[&str], must_not: &[&str]) {
    let found = names(text);
    for name in must {
        assert!(
            found.iter().any(|found| found == name),
            "{id} lacks {name}: {found:?}\n{text}"
        );
    }
    for name in must_not {
        assert!(
            !found.iter().any(|found| found == name),
            "{id} has {name}: {found:?}\n{text}"
        );
    }
}

fn number(text: &str, lint: &str, name: &str) -> f64 {
    let found = findings(text)
        .into_iter()
        .find(|fault| fault.name() == lint)
        .unwrap_or_else(|| panic!("no {lint}\n{text}"));
    let number = found
        .numbers()
        .iter()
        .find(|(key, _)| *key == name)
        .unwrap_or_else(|| panic!("no {name} in {found}"));
    number.1
}

const STAGEDOOR: &str = "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\n[dependency.payrail.breaker]\nwindow = \"20 calls\"\nminimum_calls = 20\nfailure_rate = 0.5\ncooldown = \"30s\"\n[dependency.payrail.bulkhead]\nmax_concurrent = 20\nmax_waiting = 1000000\nmax_wait = \"1s\"\n[dependency.payrail.traffic]\ncalls_per_second = 100\ninstances = 2\nlatency = \"250ms\"\n";

const MARLOW: &str = "version = 1\n[dependency.provider]\nfail = \"closed\"\ntimeout = \"10s\"\n[dependency.provider.breaker]\nwindow = \"60s\"\nminimum_calls = 1\nfailure_rate = 0.5\ncooldown = \"60s\"\n[dependency.provider.traffic]\ncalls_per_second = 0.02\ninstances = 8\n";

const RECS: &str = "version = 1\n[resource.pg]\ncapacity = 40\n[dependency.recs]\nfail = \"open\"\nagreed = \"shop\"\ntimeout = \"250ms\"\ndeadline = \"800ms\"\n[dependency.recs.breaker]\nwindow = \"30s\"\nminimum_calls = 40\nfailure_rate = 0.5\nslow_after = \"200ms\"\nslow_rate = 0.5\ncooldown = \"10s\"\nprobes = 5\n[dependency.recs.bulkhead]\nmax_concurrent = 30\nmax_waiting = 20\nmax_wait = \"50ms\"\n[dependency.recs.traffic]\ncalls_per_second = 40\ninstances = 4\nlatency = \"60ms\"\n";

#[test]
fn lo_01_to_04_stagedoor() {
    let silent = [
        "thin_evidence",
        "stale_evidence",
        "one_failure_trips",
        "slots_below_demand",
        "unbounded_wait",
        "no_headroom",
        "every_call_a_probe",
        "same_moment_recovery",
    ];
    expect("LO-01", STAGEDOOR, &[], &silent);
    let night = STAGEDOOR.replace("= 100\n", "= 0.2222222\n");
    expect(
        "LO-02",
        &night,
        &[],
        &["stale_evidence", "thin_evidence", "every_call_a_probe"],
    );
    let slow = STAGEDOOR.replace("250ms", "400ms");
    expect("LO-03", &slow, &["no_headroom"], &["slots_below_demand"]);
    assert!((number(&slow, "no_headroom", "slots_needed") - 20.0).abs() < 1e-9);
    let all = slow.replace("= 100\n", "= 400\n");
    expect("LO-04", &all, &["slots_below_demand"], &[]);
    assert!((number(&all, "slots_below_demand", "slots_needed") - 80.0).abs() < 1e-9);
}

#[test]
fn lo_05_to_10_quiet_and_busy_windows() {
    let thin = [
        "thin_evidence",
        "one_failure_trips",
        "weak_minimum",
        "every_call_a_probe",
        "blind_to_slow",
    ];
    expect("LO-05", MARLOW, &thin, &["stale_evidence"]);
    assert!((number(MARLOW, "thin_evidence", "calls_per_window") - 0.15).abs() < 1e-9);
    assert!((number(MARLOW, "every_call_a_probe", "seconds_between_calls") - 400.0).abs() < 1e-6);
    expect(
        "LO-06",
        &MARLOW.replace("failure_rate = 0.5", "failure_rate = 0.99"),
        &thin,
        &[],
    );
    let run = MARLOW.replace(
        "window = \"60s\"\nminimum_calls = 1\nfailure_rate = 0.5",
        "failure_rate = false\nconsecutive_failures = 5",
    );
    expect(
        "LO-07",
        &run,
        &["stale_evidence", "consecutive_alone", "every_call_a_probe"],
        &["thin_evidence"],
    );
    assert!((number(&run, "stale_evidence", "seconds_of_run") - 2000.0).abs() < 1e-6);
    let calls = MARLOW
        .replace("\"60s\"\nminimum_calls = 1\n", "\"20 calls\"\nminimum_calls = 20\n")
        .replace("\"60s\"", "\"600s\"");
    expect(
        "LO-08",
        &calls,
        &["stale_evidence", "blind_to_slow"],
        &["every_call_a_probe", "one_failure_trips"],
    );
    assert!((number(&calls, "stale_evidence", "seconds_to_fill_window") - 8000.0).abs() < 1e-6);
    let balancer = "version = 1\n[dependency.box]\nfail = \"closed\"\ntimeout = \"10s\"\n[dependency.box.breaker]\nwindow = \"60s\"\nminimum_calls = 20\nslow_after = \"2s\"\nslow_rate = 0.5\n[dependency.box.traffic]\ncalls_per_second = 40\ninstances = 2\n";
    expect(
        "LO-09",
        balancer,
        &[],
        &[
            "thin_evidence",
            "every_call_a_probe",
            "one_failure_trips",
            "blind_to_slow",
        ],
    );
    let on_sale = "version = 1\n[dependency.pay]\nfail = \"closed\"\ntimeout = \"1500ms\"\n[dependency.pay.breaker]\nwindow = \"10s\"\ncooldown_jitter = 0.2\n[dependency.pay.traffic]\ncalls_per_second = 500\ninstances = 20\n";
    expect(
        "LO-10",
        on_sale,
        &["blind_to_slow", "no_bulkhead"],
        &["thin_evidence", "same_moment_recovery"],
    );
}

#[test]
fn mb_r08_thin_evidence_names_the_other_ways_out() {
    let message = |text: &str| {
        let found = findings(text).into_iter().find(|fault| fault.name() == "thin_evidence");
        found
            .unwrap_or_else(|| panic!("no thin_evidence\n{text}"))
            .message()
            .to_owned()
    };
    let quiet = message(MARLOW);
    let expected = "20 calls take 8000s, too long to speak of now: put the breaker where all calls meet, a gateway, or have \
                    none here: a timeout and a bulkhead bound what it costs; or let the instances judge together, by \
                    `[fleet]` with `evidence = \"pooled\"`";
    assert!(quiet.ends_with(expected), "{quiet}");
    // Where it is done, it is told what they have together.
    let pooled = "[fleet]\nredis = \"redis://a/\"\nevidence = \"pooled\"\n";
    let longer = MARLOW.replacen("\"60s\"", "\"20m\"", 1);
    let together = message(&format!("{longer}{pooled}"));
    assert!(
        together.ends_with("it cannot judge alone; with what its fleet counts it has about 24"),
        "{together}"
    );
    let too_many = longer.replace("minimum_calls = 1", "minimum_calls = 25");
    assert!(message(&format!("{too_many}{pooled}")).contains("it can never trip"));
    // Where a longer window helps, that is the way out.
    let busier = message(&MARLOW.replace("= 0.02", "= 0.8"));
    assert!(
        busier.ends_with("a window of 200s, or of \"20 calls\", would do"),
        "{busier}"
    );
}

#[test]
fn lo_11_to_17_recommendations() {
    let silent = [
        "thin_evidence",
        "slow_after_timeout",
        "attempts_outlast_deadline",
        "unbounded_wait",
        "probe_surge",
        "slots_below_demand",
        "no_headroom",
        "blind_to_slow",
        "slow_near_median",
        "unsigned",
    ];
    expect("LO-11", RECS, &[], &silent);
    expect(
        "LO-12",
        &RECS.replace("= 40\ninstances", "= 4\ninstances"),
        &["thin_evidence"],
        &[],
    );
    expect(
        "LO-13",
        &RECS.replace("slow_after = \"200ms\"", "slow_after = \"300ms\""),
        &["slow_after_timeout"],
        &[],
    );
    let tight = RECS.replace("800ms", "250ms");
    expect("LO-14", &tight, &["attempts_outlast_deadline"], &[]);
    assert!((number(&tight, "attempts_outlast_deadline", "longest_answer_s") - 0.3).abs() < 1e-9);
    // The wait above the deadline is a fault as well, and the lint is given beside it.
    let endless = RECS.replace(
        "max_waiting = 20\nmax_wait = \"50ms\"",
        "max_waiting = 1000000\nmax_wait = \"24h\"",
    );
    expect("LO-15", &endless, &["unbounded_wait"], &[]);
    let flood = RECS
        .replace("probes = 5", "probes = 100\ncooldown_jitter = 0")
        .replace("instances = 4", "instances = 80");
    expect("LO-16", &flood, &["probe_surge", "same_moment_recovery"], &[]);
    assert!((number(&flood, "probe_surge", "probes_all_instances") - 8000.0).abs() < 1e-9);
    let gentle = flood.replace("= 100\ncooldown_jitter = 0", "= 2\ncooldown_jitter = 0.5");
    expect("LO-17", &gentle, &[], &["probe_surge", "same_moment_recovery"]);
}

#[test]
fn lo_18_and_28_are_faults() {
    let fault = common::only(&RECS.replace("timeout = \"250ms\"\n", ""));
    assert_eq!((fault.name(), fault.key()), ("missing_key", "dependency.recs.timeout"));
    let fault = common::only(&RECS.replace("fail = \"open\"\n", ""));
    assert_eq!((fault.name(), fault.key()), ("missing_key", "dependency.recs.fail"));
}

#[test]
fn lo_19_to_31_the_others() {
    let address = "version = 1\n[dependency.address]\nfail = \"closed\"\ntimeout = \"10s\"\n[dependency.address.breaker]\nwindow = \"10s\"\ncooldown = \"10s\"\n[dependency.address.traffic]\ncalls_per_second = 10\n";
    expect("LO-19", address, &["blind_to_slow"], &["thin_evidence"]);
    let five = "version = 1\n[dependency.x]\nfail = \"closed\"\ntimeout = \"1s\"\nbulkhead.max_concurrent = 20\n[dependency.x.breaker]\nwindow = \"10 calls\"\nminimum_calls = 2\ncooldown = \"10s\"\n[dependency.x.traffic]\ncalls_per_second = 10\n";
    expect(
        "LO-20",
        five,
        &["one_failure_trips", "weak_minimum"],
        &["blind_to_slow"],
    );
    let recs = RECS
        .replace("instances = 4", "instances = 1")
        .replace("agreed", "uses = [\"pg\"]\nagreed");
    let shared =
        format!("{recs}[dependency.other]\nfail = \"closed\"\nuses = [\"pg\"]\nbulkhead.max_concurrent = 60\n");
    expect("LO-21", &shared, &["resource_oversubscribed"], &[]);
    assert!((number(&shared, "resource_oversubscribed", "limits_on_resource") - 90.0).abs() < 1e-9);
    assert!((number(&shared, "resource_oversubscribed", "blast_radius") - 1.0).abs() < 1e-9);
    let far = RECS
        .replace("max_concurrent = 30", "max_concurrent = 500")
        .replace("instances = 4", "instances = 1\ncapacity = 50");
    expect("LO-22", &far, &["slots_exceed_capacity"], &[]);
    assert!((number(&far, "slots_exceed_capacity", "limit_all_instances") - 500.0).abs() < 1e-9);
    let cache = RECS.replace("agreed", "uses = [\"pg\"]\nfallback.uses = [\"pg\"]\nagreed");
    expect("LO-24", &cache, &["fallback_draws_on_same"], &[]);
    let limited = cache.replace("fallback.uses", "fallback.max_concurrent = 10\nfallback.uses");
    expect("LO-25", &limited, &[], &["fallback_draws_on_same"]);
    expect("LO-29", &RECS.replace("agreed = \"shop\"\n", ""), &["unsigned"], &[]);
    let operations =
        format!("{STAGEDOOR}[dependency.payrail.operation.charge]\n[dependency.payrail.operation.status]\n");
    expect("LO-31", &operations, &["mixed_operations"], &[]);
    let own = format!("{operations}breaker = {{}}\n");
    expect("LO-31", &own, &[], &["mixed_operations"]);
}

#[test]
fn each_lint_without_an_incident() {
    let breaker = |line: &str| format!("{BASE}[dependency.x.breaker]\n{line}\n");
    for (name, text, mended) in [
        (
            "window_below_timeout",
            breaker("window = \"500ms\""),
            breaker("window = \"1s\""),
        ),
        (
            "cooldown_below_timeout",
            breaker("cooldown = \"500ms\""),
            breaker("cooldown = \"1s\""),
        ),
        (
            "flapping",
            breaker("cooldown_factor = 1\ncooldown = \"9s\""),
            breaker("cooldown_factor = 1\ncooldown = \"10s\""),
        ),
        (
            "flapping",
            breaker("cooldown_factor = 1\ncooldown = \"9s\""),
            breaker("cooldown_factor = 1\ncooldown = \"9s\"\nramp = [0.5]"),
        ),
        (
            "no_bulkhead",
            breaker(""),
            format!("{}[dependency.x.bulkhead]\nmax_concurrent = 1\n", breaker("")),
        ),
        (
            "retry_closed",
            BASE.replace("open", "closed") + "retry = {}\n",
            BASE.replace("open", "closed") + "retry = {}\nfailures = [\"connect\"]\n",
        ),
        (
            "retry_without_pause",
            format!("{BASE}retry.backoff = \"0s\"\n"),
            format!("{BASE}retry = {{}}\n"),
        ),
        (
            "unbounded_wait",
            format!("{BASE}[dependency.x.bulkhead]\nmax_concurrent = 1\nmax_waiting = 1\nmax_wait = \"11s\"\n"),
            format!("{BASE}[dependency.x.bulkhead]\nmax_concurrent = 1\nmax_waiting = 1\nmax_wait = \"10s\"\n"),
        ),
        (
            "slow_near_median",
            format!(
                "{}[dependency.x.traffic]\nlatency = \"101ms\"\n",
                breaker("slow_after = \"200ms\"\nslow_rate = 0.5")
            ),
            format!(
                "{}[dependency.x.traffic]\nlatency = \"100ms\"\n",
                breaker("slow_after = \"200ms\"\nslow_rate = 0.5")
            ),
        ),
        (
            "in_flight_at_pool",
            format!(
                "{}[dependency.x.traffic]\ncalls_per_second = 100\nlatency = \"100ms\"\n",
                breaker("in_flight = 15")
            ),
            format!(
                "{}[dependency.x.traffic]\ncalls_per_second = 100\nlatency = \"100ms\"\n",
                breaker("in_flight = 16")
            ),
        ),
    ] {
        expect(name, &text, &[name], &[]);
        expect(name, &mended, &[], &[name]);
    }
}

#[test]
fn a_finding_has_a_place_a_key_its_figures_and_a_cure() {
    let found = findings(STAGEDOOR.replace("= 100\n", "= 400\n").as_str());
    let fault = found.iter().find(|fault| fault.name() == "slots_below_demand").unwrap();
    assert_eq!(
        (fault.line(), fault.column(), fault.key()),
        (Some(11), Some(1), "dependency.payrail.bulkhead.max_concurrent")
    );
    for figure in ["200 calls/s", "50 slots", "is 20", "make it 60"] {
        assert!(fault.message().contains(figure), "{fault}");
    }
}

#[test]
fn lints_stand_beside_faults_and_rest_on_none() {
    let text = STAGEDOOR
        .replace("max_concurrent = 20", "max_concurrent = 0")
        .replace("\"3s\"", "3");
    let found = names(&text);
    assert!(
        !found
            .iter()
            .any(|name| name == "slots_below_demand" || name == "no_bulkhead"),
        "{found:?}"
    );
    let text = RECS
        .replace("timeout = \"250ms\"", "timeout = 250")
        .replace("agreed = \"shop\"\n", "");
    assert!(names(&text).contains(&"unsigned".to_owned()));
}

#[test]
fn what_an_operation_takes_over_is_told_of_its_dependency_only() {
    let text = RECS.replace("agreed = \"shop\"\n", "")
        + "[dependency.recs.operation.one]\n[dependency.recs.operation.two]\ntimeout = \"700ms\"\n";
    let found = findings(&text);
    let unsigned = found.iter().filter(|fault| fault.name() == "unsigned").count();
    assert_eq!(unsigned, 1);
    let outlasts: Vec<_> = found
        .iter()
        .filter(|fault| fault.name() == "attempts_outlast_deadline")
        .map(Fault::key)
        .collect();
    assert_eq!(outlasts, Vec::<&str>::new());
    let text = text.replace("700ms", "790ms");
    let outlasts: Vec<_> = findings(&text)
        .iter()
        .filter(|fault| fault.name() == "attempts_outlast_deadline")
        .map(|fault| fault.key().to_owned())
        .collect();
    assert_eq!(outlasts, ["dependency.recs.operation.two.deadline"]);
}

#[test]
fn case_10_and_11_have_their_arithmetic_in_the_message() {
    let quiet = "version = 1\n[dependency.payments]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.payments.breaker]\nwindow = \"1s\"\nminimum_calls = 5000\n[dependency.payments.traffic]\ncalls_per_second = 40\n";
    let found = findings(quiet);
    let thin = found.iter().find(|fault| fault.name() == "thin_evidence").unwrap();
    for figure in ["40 calls/s", "about 40 calls", "it can never trip", "a window of 125s"] {
        assert!(thin.message().contains(figure), "{thin}");
    }
    let nervous = format!("{BASE}[dependency.x.breaker]\nfailure_rate = 0.01\nminimum_calls = 5\n");
    let found = findings(&nervous);
    let one = found.iter().find(|fault| fault.name() == "one_failure_trips").unwrap();
    assert!(
        one.message().contains("4.9 %") && one.message().contains("to 101 or more"),
        "{one}"
    );
    let times = "version = 1\n[dependency.payments]\nfail = \"open\"\ntimeout = \"2s\"\ndeadline = \"3s\"\n[dependency.payments.retry]\nmax_attempts = 5\nbackoff = \"500ms\"\nbackoff_max = \"1s\"\n[dependency.payments.breaker]\nwindow = \"1s\"\ncooldown = \"100ms\"\n";
    expect(
        "case 11",
        times,
        &[
            "attempts_outlast_deadline",
            "window_below_timeout",
            "cooldown_below_timeout",
        ],
        &[],
    );
    // 5 × 2 s and 0.5 + 1 + 1 + 1 s of pauses.
    assert!((number(times, "attempts_outlast_deadline", "longest_answer_s") - 13.5).abs() < 1e-9);
}

#[test]
fn a_figure_from_the_environment_is_told_at_its_variable() {
    let variable = "RESILIENCE__RECS__BREAKER__PROBES";
    let variables = [
        (variable.to_owned(), "9".to_owned()),
        ("RESILIENCE__RECS__BREAKER__PROBE_SUCCESSES".to_owned(), "9".to_owned()),
        ("RESILIENCE__RECS__TRAFFIC__CAPACITY".to_owned(), "20".to_owned()),
    ];
    let read = inspect(RECS.as_bytes(), Path::new("resilience.toml"), &variables);
    assert!(read.error.is_none(), "{:?}", read.error);
    let found = lint(&read.policy, RECS);
    let surge = found.iter().find(|fault| fault.name() == "probe_surge").unwrap();
    assert_eq!((surge.file(), surge.line(), surge.value()), (variable, None, Some("9")));
    assert!(surge.message().contains("against a capacity of 20"), "{surge}");
}

/// By calls a minute of all instances: how far apart one instance's calls are, what its window holds of them, and whether
/// that is too thin, or too old, to judge by.
#[test]
fn mb_10_calls_a_window_can_hold() {
    let rows = [
        ("marlow, 60 s", 1.2, 8, "60s", 1, Some(0.15)),
        ("marlow, 60 s, 20", 1.2, 8, "60s", 20, Some(0.15)),
        ("marlow, 20 calls", 1.2, 8, "20 calls", 20, Some(8000.0)),
        ("marlow's balancer", 2400.0, 2, "60s", 20, None),
        ("stagedoor, peak", 6000.0, 2, "20 calls", 20, None),
        ("stagedoor, 3 a.m.", 13.333_333, 2, "20 calls", 20, None),
        ("recommendations, 10/s each", 2400.0, 4, "30s", 40, None),
        ("recommendations, 1/s each", 240.0, 4, "30s", 40, Some(30.0)),
        ("an endpoint of 0.25 a minute", 0.25, 1, "10s", 20, Some(0.041_667)),
    ];
    for (name, calls, instances, window, minimum, flagged) in rows {
        let text = format!(
            "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.far.breaker]\nwindow = \"{window}\"\n\
             minimum_calls = {minimum}\n[dependency.far.traffic]\ncalls_per_second = {}\ninstances = {instances}\n",
            calls / 60.0
        );
        let found = names(&text);
        let is_flagged = found
            .iter()
            .any(|found| ["thin_evidence", "stale_evidence"].contains(&found.as_str()));
        assert_eq!(is_flagged, flagged.is_some(), "{name}: {found:?}");
        if let Some(figure) = flagged {
            let seen = if window.ends_with("calls") {
                number(&text, "stale_evidence", "seconds_to_fill_window")
            } else {
                number(&text, "thin_evidence", "calls_per_window")
            };
            assert!((seen - figure).abs() < 0.01, "{name}: {seen}");
        }
    }
}

#[test]
fn a7_05_slots_from_rate_and_latency() {
    let rows = [
        (200, "50ms", 10.0),
        (500, "150ms", 75.0),
        (500, "900ms", 450.0),
        (500, "2s", 1000.0),
        (50, "400ms", 20.0),
        (300, "60ms", 18.0),
        (300, "240ms", 72.0),
    ];
    for (rate, latency, needed) in rows {
        let text = format!(
            "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"9s\"\n[dependency.far.bulkhead]\nmax_concurrent = 1\n\
             [dependency.far.traffic]\ncalls_per_second = {rate}\ninstances = 1\nlatency = \"{latency}\"\n"
        );
        let seen = number(&text, "slots_below_demand", "slots_needed");
        assert!((seen - needed).abs() < 1e-9, "{rate}/s × {latency}: {seen}");
    }
}
