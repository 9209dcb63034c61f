//! The `[fleet]` table: its keys, its faults, its variable, and a password that nobody gets to see.

use std::path::Path;
use std::time::Duration;

use resilience_policy::{Evidence, Policy};

fn parse(text: &str) -> Policy {
    Policy::from_toml(&format!("version = 1\n{text}\n")).unwrap()
}

fn faults(text: &str) -> Vec<(String, String, String)> {
    let error = Policy::from_toml(&format!("version = 1\n{text}\n")).unwrap_err();
    let told = |fault: &resilience_policy::Fault| (fault.name().into(), fault.key().into(), fault.message().into());
    error.faults().iter().map(told).collect()
}

fn with(text: &str, variables: &[(&str, &str)]) -> Result<Policy, resilience_policy::PolicyError> {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    Policy::parse(text.as_bytes(), Path::new("resilience.toml"), &variables)
}

#[test]
fn a_fleet_needs_its_address_and_has_defaults_for_the_rest() {
    let policy = parse("[fleet]\nredis = \"redis://10.0.0.3/\"");
    let fleet = policy.fleet().unwrap();
    assert_eq!(
        (
            fleet.redis.as_str(),
            fleet.name.as_deref(),
            fleet.evidence,
            fleet.interval
        ),
        ("redis://10.0.0.3/", None, Evidence::View, Duration::from_secs(1))
    );
    let all = "[fleet]\nredis = \"redis://a/\"\nname = \"shop\"\nevidence = \"pooled\"\ninterval = \"500ms\"";
    let policy = parse(all);
    let lines: Vec<_> = policy
        .fleet()
        .unwrap()
        .values()
        .map(|value| (value.key, value.value.to_string(), value.line))
        .collect();
    assert_eq!(
        lines,
        [
            ("fleet.redis", "redis://a/".into(), Some(3)),
            ("fleet.name", "shop".into(), Some(4)),
            ("fleet.evidence", "pooled".into(), Some(5)),
            ("fleet.interval", "500ms".into(), Some(6)),
        ]
    );
    assert!(parse("").fleet().is_none());
    assert_eq!(faults("[fleet]")[0].0, "missing_key");
    assert_eq!(faults("[fleet]")[0].1, "fleet.redis");
}

#[test]
fn each_fault_of_the_table_is_told_at_its_key() {
    for (line, name, key, words) in [
        ("redis = \"10.0.0.3:6379\"", "out_of_range", "fleet.redis", "redis://"),
        (
            "redis = \"http://cache/\"",
            "out_of_range",
            "fleet.redis",
            "no scheme of a Redis",
        ),
        (
            "redis = \"${REDIS_URL}\"",
            "out_of_range",
            "fleet.redis",
            "RESILIENCE__FLEET__REDIS",
        ),
        (
            "interval = \"99ms\"",
            "out_of_range",
            "fleet.interval",
            "shorter than 100ms",
        ),
        ("interval = \"61s\"", "out_of_range", "fleet.interval", "longer than 1m"),
        ("interval = 2", "bad_duration", "fleet.interval", "unit"),
        (
            "evidence = \"pool\"",
            "out_of_range",
            "fleet.evidence",
            "did you mean `pooled`",
        ),
        ("name = \"the shop\"", "bad_name", "fleet.name", "` `"),
        (
            "url = \"redis://a/\"",
            "unknown_key",
            "fleet.url",
            "here it is called `redis`",
        ),
        (
            "intervall = \"1s\"",
            "unknown_key",
            "fleet.intervall",
            "did you mean `interval`",
        ),
    ] {
        let found = faults(&format!("[fleet]\n{line}"));
        let fault = found
            .iter()
            .find(|fault| fault.0 == name)
            .unwrap_or_else(|| panic!("{line}: {found:?}"));
        assert_eq!(fault.1, key, "{line}");
        assert!(fault.2.contains(words), "{line}: {}", fault.2);
    }
    assert_eq!(faults("fleet = true")[0].0, "wrong_type");
    assert!(
        faults("[fleat]\nredis = \"redis://a/\"")[0]
            .2
            .contains("did you mean `fleet`")
    );
}

#[test]
fn the_variable_gives_the_address_with_its_password_and_nobody_shows_it() {
    let text = "version = 1\n[fleet]\nname = \"shop\"\n";
    let secret = [("RESILIENCE__FLEET__REDIS", "redis://me:hunter2@cache/")];
    let policy = with(text, &secret).unwrap();
    let fleet = policy.fleet().unwrap();
    assert_eq!(fleet.redis, "redis://me:hunter2@cache/");
    let redis = fleet.values().next().unwrap();
    assert_eq!(
        (redis.value.to_string(), redis.file.as_deref()),
        ("redis://…@cache/".into(), Some("RESILIENCE__FLEET__REDIS"))
    );
    let other = with(text, &[("RESILIENCE__FLEET__REDIS", "redis://me:hunter3@cache/")]).unwrap();
    assert_eq!(policy.hash(), other.hash(), "nobody may try passwords against the hash");
    let changes = policy.diff(&other);
    assert_eq!(changes.len(), 1, "it is a change all the same");
    let bad = with(text, &[("RESILIENCE__FLEET__REDIS", "http://me:hunter2@cache/")]).unwrap_err();
    let file = Policy::from_toml("version = 1\n[fleet]\nredis = \"http://me:hunter2@cache/\"\n").unwrap_err();
    for shown in [
        format!("{policy:?} {changes:?}"),
        format!("{bad} {bad:?} {:?}", bad.faults()),
        format!("{file} {file:?} {:?}", file.faults()),
    ] {
        assert!(!shown.contains("hunter"), "{shown}");
    }
    // Without a table the variables make one.
    let alone = with("version = 1\n", &secret).unwrap();
    assert!(alone.fleet().is_some());
}

#[test]
fn a_dependency_may_still_be_called_fleet() {
    let text = "version = 1\n[dependency.fleet]\nfail = \"open\"\ntimeout = \"1s\"\n";
    let policy = with(
        text,
        &[
            ("RESILIENCE__FLEET__TIMEOUT", "3s"),
            ("RESILIENCE__FLEET__REDIS", "redis://a/"),
        ],
    )
    .unwrap();
    assert_eq!(
        policy.dependency("fleet").unwrap().timeout,
        Some(Duration::from_secs(3))
    );
    assert!(policy.fleet().is_some());
    let error = with("version = 1\n", &[("RESILIENCE__FLEET__TIMEOUT", "3s")]).unwrap_err();
    assert_eq!(error.faults()[0].name(), "unknown_key");
}

#[test]
fn the_hash_knows_the_fleet_and_is_what_it_was_without_one() {
    // Of a release before there was such a table.
    let plain = "[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\n";
    assert_eq!(parse(plain).hash(), BEFORE);
    let fleet = format!("[fleet]\nredis = \"redis://a/\"\n{plain}");
    assert_ne!(parse(&fleet).hash(), BEFORE);
}

const BEFORE: &str = "1ec293b1178a";
