//! The rules between keys, and how levels merge.

mod common;

use std::time::Duration;

use common::{BASE, breaker, dependency, error, good, only};
use resilience_policy::{Fail, FailureKind, FailureKinds, Jitter, Mode, Origin, Policy, Throttle, Value, Window};

/// Name, line, key and the line of what it is related to, of the one fault.
fn told(text: &str) -> (String, u32, String, Option<u32>) {
    let fault = only(text);
    let related = fault.related().first().map(|related| related.line);
    (
        fault.name().to_owned(),
        fault.line().unwrap_or(0),
        fault.key().to_owned(),
        related,
    )
}

fn expect(text: &str, name: &str, line: u32, key: &str, related: Option<u32>) {
    assert_eq!(told(text), (name.to_owned(), line, key.to_owned(), related), "{text}");
}

#[test]
#[allow(clippy::too_many_lines)] // one list of rules, read as a table
fn each_rule_between_keys_blames_the_nearer() {
    let x = "dependency.x";
    expect(
        &BASE.replace("version = 1\n", "# none\n"),
        "missing_key",
        1,
        "version",
        None,
    );
    expect(
        &BASE.replace("fail = \"open\"\n", ""),
        "missing_key",
        2,
        "dependency.x.fail",
        None,
    );
    expect(
        "version = 1\n[dependency.x]\nfail = \"open\"\n[dependency.x.breaker]\n",
        "missing_key",
        2,
        "dependency.x.timeout",
        None,
    );
    expect(
        &breaker("window = \"10 calls\"\nminimum_calls = 11"),
        "contradiction",
        7,
        &format!("{x}.breaker.minimum_calls"),
        Some(6),
    );
    expect(
        &breaker("probe_successes = 2\nprobes = 3"),
        "contradiction",
        7,
        &format!("{x}.breaker.probes"),
        Some(6),
    );
    expect(
        &breaker("slow_after = \"1s\""),
        "contradiction",
        6,
        &format!("{x}.breaker.slow_after"),
        None,
    );
    expect(
        &breaker("slow_rate = 0.5"),
        "missing_key",
        5,
        &format!("{x}.breaker.slow_after"),
        Some(6),
    );
    expect(
        &breaker("bad_rate = 0.5"),
        "missing_key",
        5,
        &format!("{x}.breaker.slow_after"),
        Some(6),
    );
    expect(
        &breaker("cooldown = \"2m\"\ncooldown_max = \"1m\""),
        "contradiction",
        7,
        &format!("{x}.breaker.cooldown_max"),
        Some(6),
    );
    expect(
        &breaker("cooldown_max = \"29s\""),
        "contradiction",
        6,
        &format!("{x}.breaker.cooldown_max"),
        None,
    );
    let retry = |line: &str| format!("{BASE}[dependency.x.retry]\n{line}\n");
    expect(
        &retry("backoff = \"2s\"\nbackoff_max = \"1s\""),
        "contradiction",
        7,
        &format!("{x}.retry.backoff_max"),
        Some(6),
    );
    expect(
        &retry("backoff = \"3s\""),
        "contradiction",
        6,
        &format!("{x}.retry.backoff"),
        None,
    );
    let wait = format!("{BASE}deadline = \"1s\"\n[dependency.x.bulkhead]\nmax_concurrent = 1\nmax_wait = \"2s\"\n");
    expect(&wait, "contradiction", 8, &format!("{x}.bulkhead.max_wait"), Some(5));
    good(&wait.replace("2s", "1s"));
    expect(
        &format!("{BASE}[dependency.x.bulkhead]\n"),
        "missing_key",
        5,
        &format!("{x}.bulkhead.max_concurrent"),
        None,
    );
    expect(
        "version = 1\n[resource.pg]\n",
        "missing_key",
        2,
        "resource.pg.capacity",
        None,
    );
    expect(
        &format!("{BASE}inherits = \"http\"\n"),
        "unknown_name",
        5,
        &format!("{x}.inherits"),
        None,
    );
    expect(
        &format!("{BASE}uses = [\"pg\"]\n"),
        "unknown_name",
        5,
        &format!("{x}.uses"),
        None,
    );
    expect(
        &format!("{BASE}fallback.uses = [\"pg\"]\n"),
        "unknown_name",
        5,
        &format!("{x}.fallback.uses"),
        None,
    );
}

#[test]
fn a_conflict_across_levels_stands_at_the_nearer_one() {
    let text = "version = 1\n[defaults]\ndeadline = \"1s\"\n[dependency.x]\nfail = \"open\"\n[dependency.x.bulkhead]\nmax_concurrent = 1\nmax_wait = \"2s\"\n";
    expect(text, "contradiction", 8, "dependency.x.bulkhead.max_wait", Some(3));
    let text = "version = 1\n[defaults.bulkhead]\nmax_wait = \"2s\"\nmax_concurrent = 1\n[dependency.x]\nfail = \"open\"\ndeadline = \"1s\"\n";
    expect(text, "contradiction", 7, "dependency.x.deadline", Some(3));
}

#[test]
fn what_a_template_gets_wrong_is_told_once() {
    let heirs = "[dependency.x]\ninherits = \"http\"\nfail = \"open\"\n[dependency.y]\ninherits = \"http\"\nfail = \"open\"\n[dependency.y.operation.z]\n";
    let template = "version = 1\n[template.http]\ntimeout = \"1s\"\n[template.http.breaker]\n";
    expect(
        &format!("{template}probes = 3\nprobe_successes = 2\n{heirs}"),
        "contradiction",
        5,
        "template.http.breaker.probes",
        Some(6),
    );
    expect(
        &format!("{template}slow_rate = 0.5\n{heirs}"),
        "missing_key",
        4,
        "template.http.breaker.slow_after",
        Some(5),
    );
    expect(
        &format!("{template}failure_rate = 2\n{heirs}"),
        "out_of_range",
        5,
        "template.http.breaker.failure_rate",
        None,
    );
    // Nobody inherits this one.
    expect(
        &format!("{template}failure_rate = 2\n"),
        "out_of_range",
        5,
        "template.http.breaker.failure_rate",
        None,
    );
}

#[test]
fn a_fault_has_no_faults_in_its_train() {
    // The timeout is written, if badly; the table is there, if badly; the template may have given anything.
    expect(
        "version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = 3\nbreaker = {}\n",
        "bad_duration",
        4,
        "dependency.x.timeout",
        None,
    );
    expect(
        "version = 1\n[dependency.x]\nfail = \"open\"\nbreaker = 3\n",
        "wrong_type",
        4,
        "dependency.x.breaker",
        None,
    );
    expect(
        "version = 1\n[dependency.x]\nfail = 3\n",
        "wrong_type",
        3,
        "dependency.x.fail",
        None,
    );
    expect(
        "version = 1\n[dependency.x]\nfail = \"open\"\ninherits = \"none\"\nbreaker = {}\n",
        "unknown_name",
        4,
        "dependency.x.inherits",
        None,
    );
    expect(
        &breaker("window = \"5 cals\"\nminimum_calls = 10"),
        "bad_duration",
        6,
        "dependency.x.breaker.window",
        None,
    );
}

#[test]
fn what_is_built_in_where_a_table_is_present() {
    let x = dependency(
        &format!("{BASE}breaker = {{}}\nretry = {{}}\nbulkhead.max_concurrent = 7\n"),
        "x",
    );
    let breaker = x.breaker.unwrap();
    assert_eq!(
        (breaker.window, breaker.minimum_calls, breaker.failure_rate),
        (Window::Calls(100), 20, Some(0.5))
    );
    assert_eq!(
        (breaker.cooldown, breaker.cooldown_max),
        (Duration::from_secs(30), Duration::from_secs(300))
    );
    assert_eq!(
        (breaker.cooldown_factor.to_bits(), breaker.cooldown_jitter.to_bits()),
        (2.0_f64.to_bits(), 0.1_f64.to_bits())
    );
    assert_eq!((breaker.probes, breaker.probe_successes, breaker.ramp.len()), (1, 1, 0));
    assert_eq!(
        (breaker.slow_after, breaker.slow_rate, breaker.bad_rate),
        (None, None, None)
    );
    assert_eq!(
        (breaker.consecutive_failures, breaker.in_flight, breaker.sample_every),
        (None, None, None)
    );
    let bulkhead = x.bulkhead.unwrap();
    assert_eq!(
        (
            bulkhead.max_concurrent,
            bulkhead.max_waiting,
            bulkhead.max_wait,
            bulkhead.per_key
        ),
        (7, 0, Duration::ZERO, None)
    );
    assert_eq!(
        (bulkhead.max_keys, bulkhead.retry_after),
        (10_000, Duration::from_secs(1))
    );
    let retry = x.retry.unwrap();
    assert_eq!(
        (retry.max_attempts, retry.backoff, retry.backoff_max),
        (3, Duration::from_millis(100), Duration::from_secs(2))
    );
    assert_eq!(
        (retry.jitter, retry.budget.to_bits(), retry.budget_floor.to_bits()),
        (Jitter::Full, 0.1_f64.to_bits(), 1.0_f64.to_bits())
    );
    let fallback = x.fallback;
    assert_eq!(
        (
            fallback.max_stale,
            fallback.max_entries,
            fallback.max_concurrent,
            fallback.timeout
        ),
        (Duration::from_secs(300), 10_000, 10, Duration::from_secs(1))
    );
    assert_eq!(
        (x.mode, x.throttle, x.max_hold, x.failures),
        (
            Mode::Enforce,
            Throttle::Call,
            Duration::from_secs(60),
            FailureKinds::ALL
        )
    );
    assert_eq!((x.fail, x.deadline, x.chaos), (Fail::Open, None, None));
}

#[test]
fn built_in_values_that_follow_others() {
    let b = |line: &str| dependency(&breaker(line), "x").breaker.unwrap();
    assert_eq!(b("window = \"7 calls\"").minimum_calls, 7);
    assert_eq!(b("window = \"7s\"").minimum_calls, 20);
    assert_eq!(b("cooldown = \"10m\"").cooldown_max, Duration::from_secs(600));
    assert_eq!(b("probes = 4").probe_successes, 4);
    assert_eq!(b("probe_successes = 4").probes, 1);
}

#[test]
fn every_limit_is_a_limit() {
    let retry = |line: &str| format!("{BASE}[dependency.x.retry]\n{line}\n");
    let bulkhead = |line: &str| format!("{BASE}[dependency.x.bulkhead]\nmax_concurrent = 1\n{line}\n");
    let chaos = |line: &str| format!("{BASE}[dependency.x.chaos]\n{line}\n");
    for (most, beyond) in [
        (
            breaker("window = \"100000 calls\""),
            breaker("window = \"100001 calls\""),
        ),
        (breaker("window = \"1h\""), breaker("window = \"1h1s\"")),
        (breaker("cooldown_factor = 10"), breaker("cooldown_factor = 10.1")),
        (breaker("cooldown_factor = 1"), breaker("cooldown_factor = 0.9")),
        (breaker("cooldown_jitter = 0"), breaker("cooldown_jitter = -0.1")),
        (breaker("cooldown_jitter = 0.99"), breaker("cooldown_jitter = 1")),
        (breaker("cooldown = \"24h\""), breaker("cooldown = \"24h1us\"")),
        (breaker("ramp = [0.05, 1]"), breaker("ramp = [0.05, 1.1]")),
        (breaker("ramp = []"), breaker("ramp = [0]")),
        (retry("max_attempts = 100"), retry("max_attempts = 101")),
        (retry("budget = 10"), retry("budget = 10.1")),
        (retry("budget = 0"), retry("budget = -1")),
        (retry("budget_floor = 10000"), retry("budget_floor = 10001")),
        (bulkhead("max_waiting = 1000000"), bulkhead("max_waiting = 1000001")),
        (bulkhead("max_waiting = 0"), bulkhead("max_waiting = -1")),
        (bulkhead("per_key = 1"), bulkhead("per_key = 0")),
        (chaos("failure = 1"), chaos("failure = 1.01")),
        (chaos("failure = 0"), chaos("failure = -0.1")),
    ] {
        good(&most);
        assert_eq!(only(&beyond).name(), "out_of_range", "{beyond}");
    }
}

#[test]
fn cfg_01_02_the_most_specific_wins() {
    let text = "version = 1\n[defaults.retry]\nmax_attempts = 7\n[dependency.a]\nfail = \"open\"\n[dependency.a.retry]\nmax_attempts = 5\n[dependency.a.operation.o]\n[dependency.a.operation.o.retry]\nmax_attempts = 6\n[dependency.b]\nfail = \"open\"\n";
    let policy = good(text);
    let attempts = |name: &str| policy.dependency(name).unwrap().retry.as_ref().unwrap().max_attempts;
    assert_eq!((attempts("a"), attempts("a.o"), attempts("b")), (5, 6, 7));
}

#[test]
fn cfg_04_merging_is_per_key() {
    let text = "version = 1\n[defaults.retry]\nbackoff = \"10ms\"\n[dependency.d]\nfail = \"open\"\nretry.max_attempts = 1\n[dependency.d.operation.foo]\nretry.max_attempts = 2\n[dependency.d.operation.bar]\n";
    let policy = good(text);
    let retry = |name: &str| policy.dependency(name).unwrap().retry.clone().unwrap();
    assert_eq!(
        (retry("d.foo").backoff, retry("d.foo").max_attempts),
        (Duration::from_millis(10), 2)
    );
    assert_eq!(
        (retry("d.bar").backoff, retry("d.bar").max_attempts),
        (Duration::from_millis(10), 1)
    );
    assert!(policy.dependency("d.bar").unwrap().budget_shared);
    assert!(!policy.dependency("d.foo").unwrap().budget_shared);
}

#[test]
fn cfg_05_lists_are_replaced_not_joined() {
    let text = "version = 1\n[defaults]\nfailures = [\"timeout\", \"connect\"]\n[dependency.d]\nfail = \"open\"\nfailures = [\"server\"]\n[dependency.e]\nfail = \"open\"\n";
    let policy = good(text);
    assert_eq!(
        policy.dependency("d").unwrap().failures,
        FailureKinds::NONE.with(FailureKind::Server)
    );
    assert!(policy.dependency("e").unwrap().failures.contains(FailureKind::Connect));
}

#[test]
fn cfg_10_five_faults_are_reported_together() {
    let text = format!(
        "{BASE}[dependency.x.breaker]\nfailure_rate = nan\nwindow = \"0 calls\"\nprobes = 0\n[dependency.x.retry]\nmax_attempts = 0\n[dependency.x.bulkhead]\nmax_concurrent = -3\n"
    );
    let error = error(&text);
    assert_eq!(error.faults().len(), 5, "{error}");
    for fault in error.faults() {
        assert_eq!(fault.name(), "out_of_range");
        assert!(fault.key().starts_with("dependency.x.") && fault.line().is_some() && fault.value().is_some());
        assert!(fault.allowed().is_some());
    }
}

#[test]
fn cfg_11_a_base_above_its_cap_names_both_keys() {
    let fault = only(&format!(
        "{BASE}[dependency.x.retry]\nbackoff = \"3s\"\nbackoff_max = \"1s\"\n"
    ));
    assert!(
        fault.message().contains("`backoff_max` 1s") && fault.message().contains("`backoff` 3s"),
        "{fault}"
    );
    good(&format!(
        "{BASE}[dependency.x.retry]\nbackoff = \"1s\"\nbackoff_max = \"1s\"\n"
    ));
}

#[test]
fn cfg_12_a_switch_is_never_read_as_false() {
    for value in ["5", "\"yes\"", "\"flase\""] {
        assert_eq!(
            only(&format!("version = 1\n[runtime]\nchaos = {value}\n")).name(),
            "wrong_type"
        );
        assert_eq!(only(&breaker(&format!("enabled = {value}"))).name(), "unknown_key");
    }
}

#[test]
fn cfg_15_16_names_and_keys_that_do_not_exist() {
    assert_eq!(
        only(&format!("{BASE}failure_rate = 0.5\n")).message(),
        "unknown key `failure_rate` in dependency.x: `failure_rate` belongs to dependency.x.breaker"
    );
    assert_eq!(
        only(&format!("{BASE}[dependency.x.braker]\n")).suggestion(),
        Some("breaker")
    );
    assert_eq!(
        only(&format!("{BASE}inherits = \"htp\"\n[template.http]\n")).suggestion(),
        Some("http")
    );
    let policy = good("version = 1\n[dependency.payrail]\nfail = \"open\"\n[dependency.payrail.operation.refund]\n");
    assert_eq!(policy.nearest("payral"), Some("payrail"));
    assert_eq!(policy.nearest("payrail.refnd"), Some("payrail.refund"));
    assert_eq!(policy.nearest("zebra"), None);
}

#[test]
fn cfg_17_templates_defaults_and_built_in() {
    let text = "version = 1\n[template.d]\ntimeout = \"1s\"\nbreaker = { window = \"1000 calls\", probes = 100 }\n[template.s]\ntimeout = \"1s\"\nbreaker = { window = \"1337s\", probes = 1000 }\n[dependency.x]\ninherits = \"d\"\nfail = \"open\"\nbreaker.probes = 99\n[dependency.y]\ninherits = \"s\"\nfail = \"open\"\nbreaker.probes = 999\n[dependency.z]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n";
    let policy = good(text);
    let numbers = |name: &str| {
        policy
            .dependency(name)
            .unwrap()
            .breaker
            .as_ref()
            .map(|b| (b.window, b.probes))
            .unwrap()
    };
    assert_eq!(numbers("x"), (Window::Calls(1000), 99));
    assert_eq!(numbers("y"), (Window::Time(Duration::from_secs(1337)), 999));
    assert_eq!(numbers("z"), (Window::Calls(100), 1));
}

#[test]
fn cfg_18_an_inherited_factor_outlives_an_own_cooldown() {
    let text = "version = 1\n[template.t]\ntimeout = \"1s\"\nbreaker = { cooldown = \"1s\", cooldown_factor = 2 }\n[dependency.x]\ninherits = \"t\"\nfail = \"open\"\nbreaker.cooldown = \"3s\"\n";
    let b = dependency(text, "x").breaker.unwrap();
    assert_eq!(
        (b.cooldown, b.cooldown_factor.to_bits()),
        (Duration::from_secs(3), 2.0_f64.to_bits())
    );
}

#[test]
fn cfg_21_22_false_takes_an_inherited_table_away() {
    let text = "version = 1\n[defaults]\ntimeout = \"1s\"\nbreaker.probes = 5\n[dependency.d]\nfail = \"open\"\nbreaker = false\n[dependency.d.operation.on]\nbreaker = {}\n[dependency.d.operation.off]\n[dependency.e]\nfail = \"open\"\n[dependency.e.operation.off]\nbreaker = false\n";
    let policy = good(text);
    let breaker = |name: &str| policy.dependency(name).unwrap().breaker.clone();
    assert_eq!(breaker("d"), None);
    assert_eq!(breaker("d.off"), None);
    // What was taken away does not come back: the operation's own table begins with the built-in numbers.
    assert_eq!(breaker("d.on").unwrap().probes, 1);
    assert_eq!(breaker("e").unwrap().probes, 5);
    assert_eq!(breaker("e.off"), None);
}

#[test]
fn operations_share_what_they_have_no_table_for() {
    let text = "version = 1\n[dependency.p]\nfail = \"closed\"\nmode = \"observe\"\ntimeout = \"3s\"\nbreaker.failure_rate = 0.5\nbulkhead.max_concurrent = 20\n[dependency.p.operation.refund]\ntimeout = \"10s\"\nbreaker.probes = 2\nbulkhead.max_wait = \"1s\"\n[dependency.p.operation.status]\nfail = \"open\"\nmode = \"off\"\nbulkhead.max_concurrent = 3\nfallback.max_stale = \"1s\"\n";
    let policy = good(text);
    let refund = policy.dependency("p.refund").unwrap();
    assert_eq!(
        (refund.parent.as_deref(), refund.fail, refund.mode),
        (Some("p"), Fail::Closed, Mode::Observe)
    );
    assert_eq!(refund.timeout, Some(Duration::from_secs(10)));
    assert_eq!(
        refund.breaker.as_ref().map(|b| (b.failure_rate, b.probes)),
        Some((Some(0.5), 2))
    );
    assert_eq!(
        refund.bulkhead.as_ref().map(|b| (b.max_concurrent, b.max_wait)),
        Some((20, Duration::from_secs(1)))
    );
    assert_eq!(
        (
            refund.breaker_shared,
            refund.slots_shared,
            refund.budget_shared,
            refund.fallback_shared
        ),
        (false, true, true, true)
    );
    let status = policy.dependency("p.status").unwrap();
    assert_eq!((status.fail, status.mode), (Fail::Open, Mode::Off));
    assert_eq!(
        (status.breaker_shared, status.slots_shared, status.fallback_shared),
        (true, false, false)
    );
    assert!(!policy.dependency("p").unwrap().breaker_shared);
}

#[test]
fn every_value_knows_where_it_came_from() {
    let text = "version = 1\n[defaults]\ndeadline = \"9s\"\n[template.http]\ntimeout = \"2s\"\n[dependency.p]\nfail = \"open\"\ninherits = \"http\"\nlabel = \"payments\"\n[dependency.p.operation.r]\n";
    let policy = good(text);
    let of = |name: &str, key: &str| {
        let value = policy
            .dependency(name)
            .unwrap()
            .values()
            .find(|value| value.key == key)
            .unwrap();
        (value.value.to_string(), value.line, value.from.clone())
    };
    assert_eq!(of("p", "label"), ("payments".into(), Some(9), Origin::Own));
    assert_eq!(
        of("p", "timeout"),
        ("2s".into(), Some(5), Origin::Template("http".into()))
    );
    assert_eq!(of("p", "deadline"), ("9s".into(), Some(3), Origin::Defaults));
    assert_eq!(of("p", "fallback.max_stale"), ("5m".into(), None, Origin::BuiltIn));
    assert_eq!(of("p.r", "label"), ("payments".into(), Some(9), Origin::Dependency));
    let keys: Vec<_> = policy
        .dependency("p")
        .unwrap()
        .values()
        .map(|value| value.key)
        .collect();
    assert_eq!(&keys[..5], ["fail", "label", "mode", "timeout", "deadline"]);
}

#[test]
fn every_key_that_is_written_is_a_value_and_reads_as_it_was_meant() {
    let text = r#"
version = 1
[resource.pg]
capacity = 20
[dependency.p]
about = "card payments"
fail = "open"
agreed = "risk team"
label = "payments"
uses = ["pg"]
mode = "observe"
timeout = "3s"
deadline = "8s"
throttle = "dependency"
max_hold = "90s"
failures = ["connect", "timeout"]
breaker = { window = "40 calls", minimum_calls = 7, failure_rate = false, slow_after = "400ms", slow_rate = 0.6, bad_rate = 0.7, consecutive_failures = 5, in_flight = 100, cooldown = "31s", cooldown_max = "6m", cooldown_factor = 3, cooldown_jitter = 0.2, probes = 2, probe_successes = 4, ramp = [0.05, 0.25], sample_every = "10s" }
bulkhead = { max_concurrent = 21, max_waiting = 50, max_wait = "1s", per_key = 6, max_keys = 11_000, retry_after = "5s" }
retry = { max_attempts = 4, backoff = "0s", backoff_max = "3s", jitter = "equal", budget = 0.2, budget_floor = 2.0 }
fallback = { max_stale = "7m", max_entries = 12_000, max_concurrent = 13, timeout = "200ms", uses = [] }
traffic = { calls_per_second = 500.0, instances = 2, latency = "150ms", latency_p99 = "400ms", capacity = 51 }
chaos = { failure = 0.01, latency = "200ms", latency_share = 0.05 }
"#;
    let policy = good(text);
    let p = policy.dependency("p").unwrap();
    let values: Vec<_> = p.values().map(|one| format!("{} = {}", one.key, one.value)).collect();
    let expected = "about = card payments|fail = open|agreed = risk team|label = payments|uses = [pg]|mode = observe|\
        timeout = 3s|deadline = 8s|throttle = dependency|max_hold = 1m30s|failures = [timeout, connect]|\
        breaker.window = 40 calls|breaker.minimum_calls = 7|breaker.failure_rate = false|breaker.slow_after = 400ms|\
        breaker.slow_rate = 0.6|breaker.bad_rate = 0.7|breaker.consecutive_failures = 5|breaker.in_flight = 100|\
        breaker.cooldown = 31s|breaker.cooldown_max = 6m|breaker.cooldown_factor = 3.0|breaker.cooldown_jitter = 0.2|\
        breaker.probes = 2|breaker.probe_successes = 4|breaker.ramp = [0.05, 0.25]|breaker.sample_every = 10s|\
        bulkhead.max_concurrent = 21|bulkhead.max_waiting = 50|bulkhead.max_wait = 1s|bulkhead.per_key = 6|\
        bulkhead.max_keys = 11000|bulkhead.retry_after = 5s|retry.max_attempts = 4|retry.backoff = 0s|\
        retry.backoff_max = 3s|retry.jitter = equal|retry.budget = 0.2|retry.budget_floor = 2.0|\
        fallback.max_stale = 7m|fallback.max_entries = 12000|fallback.max_concurrent = 13|fallback.timeout = 200ms|\
        fallback.uses = []|traffic.calls_per_second = 500.0|traffic.instances = 2|traffic.latency = 150ms|\
        traffic.latency_p99 = 400ms|traffic.capacity = 51|chaos.failure = 0.01|chaos.latency = 200ms|\
        chaos.latency_share = 0.05";
    assert_eq!(values, expected.split('|').collect::<Vec<_>>());
    assert!(p.values().all(|one| one.from == Origin::Own && one.line.is_some()));
}

#[test]
fn what_is_not_written_and_has_no_default_is_no_value() {
    let policy = good("version = 1\n[dependency.p]\nfail = \"open\"\n");
    let p = policy.dependency("p").unwrap();
    let keys: Vec<_> = p.values().map(|one| one.key).collect();
    let fallback = ["max_stale", "max_entries", "max_concurrent", "timeout"].map(|key| format!("fallback.{key}"));
    let own = ["fail", "mode", "throttle", "max_hold", "failures"].map(String::from);
    assert_eq!(keys, [&own[..], &fallback[..]].concat());
}

#[test]
fn the_order_of_failure_kinds_is_no_change() {
    let with = |kinds: &str| {
        good(&format!(
            "version = 1\n[dependency.p]\nfail = \"open\"\nfailures = [{kinds}]\n"
        ))
    };
    let (one, two) = (with("\"connect\", \"timeout\""), with("\"timeout\", \"connect\""));
    assert_eq!((one.diff(&two), one.hash()), (Vec::new(), two.hash()));
}

#[test]
fn the_hash_is_of_the_meaning() {
    let hash = |text: &str| good(text).hash().to_owned();
    let one =
        hash("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"60s\"\n[dependency.y]\nfail = \"closed\"\n");
    let two = hash(
        "# words\nversion = 1\n[dependency.y]\nfail = \"closed\"\n[dependency.x]\ntimeout = \"1m\" # same\nfail = \"open\"\n",
    );
    assert_eq!(one, two);
    let inherited = hash(
        "version = 1\n[template.t]\ntimeout = \"1m\"\n[dependency.y]\nfail = \"closed\"\n[dependency.x]\ninherits = \"t\"\nfail = \"open\"\n",
    );
    assert_eq!(one, inherited);
    assert_ne!(
        one,
        hash("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"61s\"\n[dependency.y]\nfail = \"closed\"\n")
    );
}

#[test]
fn a_diff_lists_what_changed_and_what_that_does() {
    let old = good(&breaker("window = \"10s\"\ncooldown = \"30s\""));
    let new = good(&breaker("cooldown = \"10s\"\nwindow = \"20s\"").replace("1s", "2s"));
    let changes = old.diff(&new);
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.key(), change.old(), change.new(), change.line()))
        .collect();
    assert_eq!(
        told,
        [
            ("dependency.x.timeout", "1s", "2s", Some(4)),
            ("dependency.x.breaker.window", "10s", "20s", Some(7)),
            ("dependency.x.breaker.cooldown", "30s", "10s", Some(6)),
        ]
    );
    assert!(changes[0].effect().contains("at once"));
    assert!(changes[1].effect().contains("starts empty"));
    assert!(changes[2].effect().contains("opening plus the new cooldown"));
    assert!(old.diff(&old).is_empty());
    let gone = old.diff(&good("version = 1\n"));
    assert_eq!((gone[0].key(), gone[0].new()), ("dependency.x", "none"));
    let came = good("version = 1\n").diff(&old);
    assert_eq!(
        (came[0].key(), came[0].old(), came[0].line()),
        ("dependency.x", "none", Some(2))
    );
}

#[test]
fn policies_of_several_packages_unite_by_name() {
    let a = good("version = 1\n[defaults]\ntimeout = \"1s\"\n[dependency.x]\nfail = \"open\"\n");
    let b = good("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"1s\"\n[dependency.y]\nfail = \"closed\"\n");
    let both = Policy::unite(&[("shop", a.clone()), ("billing", b)]).unwrap();
    assert_eq!(
        both.dependencies().map(|d| d.name.as_str()).collect::<Vec<_>>(),
        ["x", "y"]
    );
    let c = good("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"2s\"\n");
    let error = Policy::unite(&[("shop", a), ("billing", c)]).unwrap_err();
    let [fault] = error.faults() else { panic!("{error}") };
    assert_eq!(
        (fault.key(), fault.line(), fault.related()[0].line),
        ("dependency.x.timeout", Some(4), 3)
    );
    for word in ["shop", "billing", "1s", "2s", "resilience.toml"] {
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn resources_of_several_packages_unite_by_name_and_must_agree() {
    let with = |resources: &str| good(&format!("version = 1\n{resources}"));
    let a = with("[resource.postgres]\ncapacity = 20\n");
    let b = with("[resource.postgres]\ncapacity = 20\n[resource.redis]\ncapacity = 5\n");
    let both = Policy::unite(&[("shop", a.clone()), ("billing", b)]).unwrap();
    assert_eq!(
        both.resources().map(|(name, _)| name).collect::<Vec<_>>(),
        ["postgres", "redis"]
    );
    let c = with("[resource.postgres]\ncapacity = 50\n");
    let error = Policy::unite(&[("shop", a), ("billing", c)]).unwrap_err();
    let [fault] = error.faults() else { panic!("{error}") };
    assert_eq!(
        (fault.key(), fault.line(), fault.related()[0].line),
        ("resource.postgres.capacity", Some(2), 2)
    );
    for word in ["shop", "billing", "20", "50"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(
        Policy::unite(&[]).unwrap().dependencies().count(),
        0,
        "a binary without packages"
    );
}

#[test]
fn a_change_has_its_values_too() {
    let old = good("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"1s\"\n");
    let new = good("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"2s\"\nlabel = \"shop\"\n");
    let changes = old.diff(&new);
    let of = |key: &str| changes.iter().find(|change| change.key() == key).unwrap();
    let timeout = of("dependency.x.timeout");
    assert_eq!(
        (timeout.old_value(), timeout.new_value()),
        (
            Some(&Value::Duration(Duration::from_secs(1))),
            Some(&Value::Duration(Duration::from_secs(2)))
        )
    );
    assert_eq!(of("dependency.x.label").old_value(), None);
}

#[test]
fn a_slow_rate_without_its_time_is_told_where_the_rate_stands_and_once() {
    let slow = "fail = \"open\"\ntimeout = \"1s\"";
    for (text, line, key) in [
        // A template's, however many inherit it.
        (
            format!(
                "version = 1\n[template.http.breaker]\nslow_rate = 0.5\n[dependency.a]\ninherits = \"http\"\n{slow}\n[dependency.b]\ninherits = \"http\"\n{slow}\n"
            ),
            2,
            "template.http.breaker.slow_after",
        ),
        // A dependency's, and not again for the operation that takes it over.
        (
            format!(
                "version = 1\n[dependency.a]\n{slow}\n[dependency.a.breaker]\nslow_rate = 0.5\n[dependency.a.operation.refund.breaker]\nprobes = 1\n"
            ),
            5,
            "dependency.a.breaker.slow_after",
        ),
        // An operation's own.
        (
            format!("version = 1\n[dependency.a]\n{slow}\n[dependency.a.operation.refund.breaker]\nbad_rate = 0.5\n"),
            5,
            "dependency.a.operation.refund.breaker.slow_after",
        ),
    ] {
        let fault = only(&text);
        assert_eq!(
            (fault.name(), fault.line(), fault.key()),
            ("missing_key", Some(line), key),
            "{text}"
        );
    }
}
