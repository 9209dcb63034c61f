//! Variables of the environment, the overrides file, and where files are looked for.

mod common;

use std::path::Path;
use std::time::{Duration, SystemTime};

use common::BASE;
use resilience_policy::{FailureKind, Origin, Policy, PolicyError, lookup, overrides};

fn with(text: &str, variables: &[(&str, &str)]) -> Result<Policy, PolicyError> {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Policy::parse(text.as_bytes(), Path::new("resilience.toml"), &variables)
}

const SHOP: &str = "version = 1\n[dependency.payments-eu]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n[dependency.payments-eu.operation.refund]\n[resource.pg]\ncapacity = 1\n";

#[test]
fn cfg_24_one_variable_sets_one_key() {
    let policy = with(
        SHOP,
        &[
            ("RESILIENCE__PAYMENTS_EU__BREAKER__FAILURE_RATE", "0.3"),
            ("RESILIENCE__PAYMENTS_EU__FAILURES", "timeout, connect"),
            ("RESILIENCE__PAYMENTS_EU__USES", "pg"),
            ("RESILIENCE__PAYMENTS_EU__OPERATION__REFUND__TIMEOUT", "9s"),
            ("RESILIENCE__PAYMENTS_EU__OPERATION__REFUND__RETRY__MAX_ATTEMPTS", "2"),
            ("RESILIENCE__DEFAULTS__DEADLINE", "1m"),
            ("RESILIENCE__RUNTIME__CHAOS", "true"),
            ("RESILIENCE__RUNTIME__INSTANCE", "api-7"),
        ],
    )
    .unwrap();
    let eu = policy.dependency("payments-eu").unwrap();
    assert_eq!(eu.breaker.as_ref().unwrap().failure_rate, Some(0.3));
    assert_eq!(
        eu.failures.iter().map(FailureKind::as_str).collect::<Vec<_>>(),
        ["timeout", "connect"]
    );
    assert_eq!(
        (eu.deadline, &eu.uses),
        (Some(Duration::from_secs(60)), &vec!["pg".to_owned()])
    );
    let refund = policy.dependency("payments-eu.refund").unwrap();
    assert_eq!(
        (refund.timeout, refund.retry.as_ref().unwrap().max_attempts),
        (Some(Duration::from_secs(9)), 2)
    );
    assert!(!refund.budget_shared);
    assert!(policy.runtime().chaos);
    assert_eq!(policy.runtime().instance.as_deref(), Some("api-7"));
    let rate = eu.values().find(|value| value.key == "breaker.failure_rate").unwrap();
    assert_eq!((rate.from.clone(), rate.line), (Origin::Environment, None));
    assert_eq!(
        rate.file.as_deref(),
        Some("RESILIENCE__PAYMENTS_EU__BREAKER__FAILURE_RATE")
    );
}

#[test]
fn cfg_24_a_variable_can_take_a_table_away() {
    let policy = with(SHOP, &[("RESILIENCE__PAYMENTS_EU__BREAKER", "false")]).unwrap();
    assert_eq!(policy.dependency("payments-eu").unwrap().breaker, None);
}

#[test]
fn cfg_24_a_variable_that_fits_no_key_or_range_is_a_fault_that_names_it() {
    for (variable, value, name, suggestion) in [
        (
            "RESILIENCE__PAYMENTS_EU__BREAKER__FAILURE_RATE",
            "50",
            "out_of_range",
            Some("0.5"),
        ),
        (
            "RESILIENCE__PAYMENTS_EU__BREAKER__FAILURE_RATE",
            "nan",
            "out_of_range",
            None,
        ),
        (
            "RESILIENCE__PAYMENTS_EU__BREAKER__FAILURE_RAT",
            "0.5",
            "unknown_key",
            Some("FAILURE_RATE"),
        ),
        (
            "RESILIENCE__PAYMENT_EU__TIMEOUT",
            "1s",
            "unknown_name",
            Some("PAYMENTS_EU"),
        ),
        (
            "RESILIENCE__PAYMENTS_EU__OPERATION__REFUNDS__TIMEOUT",
            "1s",
            "unknown_name",
            Some("REFUND"),
        ),
        (
            "RESILIENCE__PAYMENTS_EU__TIMEOUT",
            "30",
            "bad_duration",
            Some("\"30ms\" or \"30s\""),
        ),
        ("RESILIENCE__PAYMENTS_EU__BREAKER", "no", "wrong_type", None),
        ("RESILIENCE__PAYMENTS_EU", "1", "unknown_key", None),
        ("RESILIENCE__", "1", "unknown_name", None),
        ("RESILIENCE__RUNTIME__CHAOS", "yes", "wrong_type", None),
        ("RESILIENCE__DEFAULTS__INHERITS", "http", "unknown_key", None),
    ] {
        let error = with(SHOP, &[(variable, value)]).unwrap_err();
        let [fault] = error.faults() else { panic!("{error}") };
        assert_eq!(
            (fault.name(), fault.file(), fault.line()),
            (name, variable, None),
            "{error}"
        );
        assert_eq!(
            (fault.value(), fault.suggestion()),
            (Some(value), suggestion),
            "{error}"
        );
        assert!(error.to_string().contains(variable));
    }
}

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn overrides_of(text: &str, now: SystemTime) -> Result<Vec<overrides::Entry>, PolicyError> {
    overrides::parse(text.as_bytes(), Path::new("resilience.overrides.toml"), now)
}

#[test]
fn an_override_names_who_why_and_until_when() {
    let now = NOW + Duration::from_secs(1_700_000_000);
    let text = "[payrail]\nmode = \"isolate\"\nby = \"ann\"\nreason = \"duplicates\"\nuntil = 2023-11-15T00:13:20+02:00\nanswer = \"delayed\"\n\n[\"payrail.refund\"]\nmode = \"off\"\nby = \"bob\"\nreason = \"drill\"\nuntil = \"2023-11-14T21:13:20Z\"\n";
    let entries = overrides_of(text, now).unwrap();
    let [payrail, refund] = &entries[..] else {
        panic!("{entries:?}")
    };
    assert_eq!(
        (payrail.name.as_str(), payrail.mode.as_str(), payrail.line),
        ("payrail", "isolate", 1)
    );
    assert_eq!(payrail.until, now, "1700000000 is 2023-11-14T22:13:20Z");
    assert_eq!(payrail.answer.as_deref(), Some("delayed"));
    assert!(payrail.expired, "it ends at its end");
    assert_eq!(
        (refund.name.as_str(), refund.until),
        ("payrail.refund", now - Duration::from_secs(3600))
    );
    assert!(refund.expired);
    assert!(!overrides_of(text, now - Duration::from_secs(7200)).unwrap()[0].expired);
    assert_eq!(overrides_of("", now).unwrap(), []);
}

#[test]
fn every_fault_of_an_overrides_file_has_its_place() {
    let now = NOW + Duration::from_secs(1_700_000_000);
    let text = "[payrail]\nmode = \"isolat\"\nby = \"\"\nreasn = \"x\"\nuntil = 2023-11-14T22:13:20\n[redis]\nmode = \"off\"\nby = \"a\"\nreason = \"b\"\nuntil = 2023-11-30T00:00:00Z\n";
    let error = overrides_of(text, now).unwrap_err();
    let found: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.line().unwrap(), fault.name(), fault.key()))
        .collect();
    assert_eq!(
        found,
        [
            (1, "missing_key", "payrail.reason"),
            (2, "out_of_range", "payrail.mode"),
            (3, "out_of_range", "payrail.by"),
            (4, "unknown_key", "payrail.reasn"),
            (5, "out_of_range", "payrail.until"),
            (10, "out_of_range", "redis.until"),
        ],
        "{error}"
    );
    assert!(error.to_string().contains("7 days"));
    assert!(error.faults()[4].message().contains("offset"));
    assert_eq!(
        overrides_of("[payrail\n", now).unwrap_err().faults()[0].name(),
        "syntax"
    );
    assert_eq!(
        overrides_of("[Payrail]\nmode = \"off\"\n", now).unwrap_err().faults()[0].name(),
        "missing_key"
    );
}

#[test]
fn an_override_that_is_written_wrong_is_told_what_is_right() {
    let now = NOW + Duration::from_secs(1_700_000_000);
    let table = |name: &str, until: &str| {
        format!("[{name}]\nmode = \"off\"\nby = \"ann\"\nreason = \"drill\"\nuntil = {until}\n")
    };
    for (text, name, key, words) in [
        (
            table("payrail", "\"tomorrow\""),
            "wrong_type",
            "payrail.until",
            "`tomorrow` is no date and time",
        ),
        (
            table("payrail", "3600"),
            "wrong_type",
            "payrail.until",
            "a date and time, not a number",
        ),
        (
            table("payrail", "2023-11-15"),
            "wrong_type",
            "payrail.until",
            "needs a date and a time",
        ),
        (
            table("payrail", "22:00:00"),
            "wrong_type",
            "payrail.until",
            "needs a date and a time",
        ),
        (
            table("\"payrail.refund.now\"", "2023-11-15T00:00:00Z"),
            "bad_name",
            "payrail.refund.now",
            "or of an operation",
        ),
        (
            table("payrail", "2023-11-15T00:00:00Z").replace("\"ann\"", "7"),
            "wrong_type",
            "payrail.by",
            "`by` is a text, not a number",
        ),
        (
            "payrail = \"off\"\n".to_owned(),
            "wrong_type",
            "payrail",
            "`payrail` is a table, `[NAME]`, not a text",
        ),
    ] {
        let error = overrides_of(&text, now).unwrap_err();
        let [fault] = error.faults() else { panic!("{error}") };
        assert_eq!((fault.name(), fault.key()), (name, key), "{error}");
        assert!(fault.message().contains(words), "{error}");
        assert!(fault.line().is_some(), "{error}");
    }
    // Long ago is no fault, only over.
    assert!(overrides_of(&table("payrail", "1923-11-15T00:00:00Z"), now).unwrap()[0].expired);
}

#[test]
fn an_override_from_code_obeys_the_same_rules() {
    use overrides::{LONGEST, Refusal, validate};
    let soon = NOW + Duration::from_secs(60);
    assert_eq!(validate("ann", "drill", soon, NOW), Ok(()));
    assert_eq!(validate(" ", "drill", soon, NOW), Err(Refusal::By));
    assert_eq!(validate("ann", "", soon, NOW), Err(Refusal::Reason));
    assert_eq!(validate("ann", "drill", NOW, NOW), Err(Refusal::Past));
    assert_eq!(validate("ann", "drill", NOW + LONGEST, NOW), Ok(()));
    assert_eq!(
        validate("ann", "drill", NOW + LONGEST + Duration::from_nanos(1), NOW),
        Err(Refusal::TooFar)
    );
    assert_eq!(
        validate("ann", "drill", NOW, NOW + Duration::from_secs(1)),
        Err(Refusal::Past)
    );
    assert!(Refusal::Past.to_string().contains("write a time ahead"));
}

#[test]
fn cfg_24_a_variable_of_each_kind_is_read_and_a_wrong_one_is_told_what_is_right() {
    let variable = |key: &str| format!("RESILIENCE__PAYMENTS_EU__{key}");
    let one = |key: &str, value: &str| with(SHOP, &[(&variable(key), value)]);
    let breaker = |key: &str, value: &str| {
        let policy = one(&format!("BREAKER__{key}"), value).unwrap();
        policy.dependency("payments-eu").unwrap().breaker.clone().unwrap()
    };
    assert!((breaker("COOLDOWN_FACTOR", "1.5").cooldown_factor - 1.5).abs() < 1e-9);
    assert_eq!(breaker("RAMP", "0.05, 0.25").ramp, [0.05, 0.25]);
    assert_eq!(breaker("FAILURE_RATE", "false").failure_rate, None);
    assert_eq!(breaker("PROBE_SUCCESSES", "1_0").probe_successes, 10);
    for (key, value, name, words) in [
        ("BREAKER__RAMP", "0.05, half", "wrong_type", "`half`"),
        (
            "BREAKER__PROBES",
            "99999999999999999999",
            "out_of_range",
            "cannot be 99999999999999999999",
        ),
        ("BREAKER__PROBES", "many", "wrong_type", "not `many`"),
        ("BREAKER__COOLDOWN_FACTOR", "twice", "wrong_type", "not `twice`"),
        ("FAIL", "opne", "out_of_range", "did you mean `open`?"),
    ] {
        let error = one(key, value).unwrap_err();
        let [fault] = error.faults() else { panic!("{error}") };
        assert_eq!((fault.name(), fault.file()), (name, variable(key).as_str()), "{error}");
        assert!(fault.message().contains(words), "{error}");
    }
    let error = with(SHOP, &[("RESILIENCE__RUNTIME__CHAOS", "yes")]).unwrap_err();
    assert!(
        error.faults()[0].message().contains("neither `true` nor `false`"),
        "{error}"
    );
}

#[test]
fn the_macros_look_in_the_package_and_in_its_workspace_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let package = root.join("crates/shop");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(root.join("resilience.toml"), BASE).unwrap();
    std::fs::write(package.join("Cargo.toml"), "[package]\nname = \"shop\"\n").unwrap();
    let missing = lookup::at_compile_time(&package, None).unwrap_err();
    assert_eq!(missing.looked_at, [package.join("resilience.toml")]);

    std::fs::write(root.join("crates/Cargo.toml"), "[workspace]\nmembers = [\"shop\"]\n").unwrap();
    let missing = lookup::at_compile_time(&package, None).unwrap_err();
    assert_eq!(
        missing.looked_at.len(),
        2,
        "the file above the workspace does not count"
    );
    assert!(missing.to_string().contains("RESILIENCE_POLICY"));

    std::fs::remove_file(root.join("crates/Cargo.toml")).unwrap();
    std::fs::write(root.join("Cargo.toml"), "[workspace]\n").unwrap();
    assert_eq!(
        lookup::at_compile_time(&package, None).unwrap(),
        root.join("resilience.toml")
    );
    std::fs::write(package.join("resilience.toml"), BASE).unwrap();
    assert_eq!(
        lookup::at_compile_time(&package, None).unwrap(),
        package.join("resilience.toml")
    );
    std::fs::write(package.join("other.toml"), BASE).unwrap();
    assert_eq!(
        lookup::at_compile_time(&package, Some("other.toml".as_ref())).unwrap(),
        package.join("other.toml")
    );
    assert!(lookup::at_compile_time(&package, Some("none.toml".as_ref())).is_err());
}

#[test]
fn a_process_reads_its_argument_first_and_must_be_able_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    let error = lookup::at_run_time(Some(&file)).unwrap_err();
    assert_eq!(error.faults()[0].name(), "unreadable");
    std::fs::write(&file, BASE).unwrap();
    assert_eq!(lookup::at_run_time(Some(&file)).unwrap(), Some(file));
}
