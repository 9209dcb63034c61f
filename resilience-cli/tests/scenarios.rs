//! Scenario files that are wrong: every fault at once, each at its place, in the manner of the policy's own.

mod kit;

use std::ffi::OsString;

use serde_json::Value;

use kit::{Desk, run_all};

const POLICY: &str =
    "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.payrail.operation.refund]\n";
const CALLER: &str = "[[caller]]\nname = \"a\"\ndependency = \"payrail\"\nrate = 1.0\n";

fn run(scenario: &str, words: &[&str]) -> (u8, String, String) {
    let desk = Desk::new();
    let args: [OsString; 4] = [
        "simulate".into(),
        desk.file("scenario.toml", scenario).into(),
        "--policy".into(),
        desk.file("policy.toml", POLICY).into(),
    ];
    run_all(args.into_iter().chain(words.iter().map(OsString::from)))
}

/// Name, place and key of every fault.
fn faults(scenario: &str) -> Vec<(String, u64, u64, String)> {
    let (code, out, err) = run(scenario, &["--format", "json"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["ok"], false);
    let fault = |fault: &Value| {
        (
            fault["name"].as_str().unwrap().to_owned(),
            fault["line"].as_u64().unwrap(),
            fault["column"].as_u64().unwrap(),
            fault["key"].as_str().unwrap().to_owned(),
        )
    };
    report["faults"].as_array().unwrap().iter().map(fault).collect()
}

fn one(scenario: &str) -> (String, u64, u64, String) {
    let found = faults(scenario);
    let [fault] = &found[..] else { panic!("{found:?}") };
    fault.clone()
}

#[test]
fn all_faults_are_told_at_once_each_at_its_place() {
    let text = "duration = \"1m\"\nsteep = \"1s\"\nseed = -1\n[[caller]]\nname = \"a\"\ndependency = \"payral\"\nrate = 0\n[[far.payrail]]\nlatency = 5\nanswers = \"SSX\"\n[pool.payrail]\nmax_wait = \"1s\"\n";
    let expected = [
        ("unknown_key", 2, 1, "steep"),
        ("out_of_range", 3, 8, "seed"),
        ("out_of_range", 7, 8, "caller.rate"),
        ("bad_duration", 9, 11, "far.payrail.latency"),
        ("out_of_range", 10, 11, "far.payrail.answers"),
        ("missing_key", 11, 1, "pool.payrail.size"),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(name, line, column, key)| (name.to_owned(), line, column, key.to_owned()))
        .collect();
    assert_eq!(faults(text), expected);
}

#[test]
fn a_misspelt_key_gets_the_nearest_and_a_dependency_that_the_policy_lacks_too() {
    let (code, _, err) = run(&format!("duration = \"1m\"\nstepp = \"1s\"\n{CALLER}"), &[]);
    assert_eq!(code, 1);
    assert!(
        err.contains("did you mean `step`?") && err.contains("scenario.toml:2:1"),
        "{err}"
    );
    let text = format!("duration = \"1m\"\n{}", CALLER.replace("payrail", "payrial"));
    assert_eq!(one(&text), ("unknown_name".into(), 4, 14, "caller.dependency".into()));
    let (_, _, err) = run(&text, &[]);
    assert!(err.contains("did you mean `payrail`?"), "{err}");
}

#[test]
fn what_is_about_nobody_is_told_and_not_passed_over() {
    let of = |table: &str| one(&format!("duration = \"1m\"\n{CALLER}{table}"));
    let unknown = |table: &str, column: u64, key: &str| {
        assert_eq!(of(table), ("unknown_name".into(), 6, column, key.into()));
    };
    unknown("[[far.payrale]]\n", 7, "far.payrale");
    unknown("[pool.payrale]\nsize = 1\n", 7, "pool.payrale");
    unknown("[start.payrale]\nsuccesses = 1\n", 8, "start.payrale");
    unknown("[fallback.payrale]\nlatency = \"1s\"\n", 11, "fallback.payrale");
    assert_eq!(
        of("[[far.payrail]]\noperation = \"refnd\"\n").3,
        "far.payrail.operation"
    );
    assert_eq!(of("[[far.payrail]]\ninstance = 1\n").0, "out_of_range");
    let shared = "[pool.workers]\nsize = 9\nof = [\"payrail\", \"b\"]\n[[caller]]\nname = \"b\"\nrate = 1\n[[far.b]]\n";
    assert_eq!(run(&format!("duration = \"1m\"\n{CALLER}{shared}"), &[]).0, 0);
}

#[test]
fn what_contradicts_itself_is_told_at_the_nearer_key() {
    let of = |caller: &str| one(&format!("duration = \"1m\"\n[[caller]]\nname = \"a\"\n{caller}"));
    let is = |found: (String, u64, u64, String), name: &str, line: u64, key: &str| {
        assert_eq!((found.0.as_str(), found.1, found.3.as_str()), (name, line, key));
    };
    is(of("rate = 1.0\nevery = \"1s\"\n"), "contradiction", 5, "caller.every");
    is(
        of("rate = 1.0\nfrom = \"9s\"\nto = \"3s\"\n"),
        "contradiction",
        6,
        "caller.to",
    );
    is(of("rate = 1.0\nagain = 2\n"), "contradiction", 5, "caller.again");
    is(of("arrivals = \"poisson\"\n"), "missing_key", 2, "caller.rate");
    is(
        of("rate = 1.0\nleaves = \"dorp\"\npatience = \"1s\"\n"),
        "out_of_range",
        5,
        "caller.leaves",
    );
    is(
        one(&format!("duration = \"1m\"\n{CALLER}{CALLER}")),
        "duplicate",
        6,
        "caller",
    );
    is(
        one("duration = \"61d\"\n[[caller]]\nname = \"a\"\nrate = 1\n"),
        "out_of_range",
        1,
        "duration",
    );
    is(one(CALLER), "missing_key", 1, "duration");
    is(one("duration = \"1m\"\n"), "missing_key", 1, "caller");
}

#[test]
fn a_file_that_is_no_toml_and_one_that_is_missing_are_what_check_says_they_are() {
    assert_eq!(one(&format!("duration = 1m\n{CALLER}")).1, 1);
    let args = ["resilience", "simulate", "no such scenario.toml"].map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(resilience_cli::run(args, &mut out, &mut err), 2);
    assert!(String::from_utf8(err).unwrap().contains("no such scenario.toml"));
}

#[test]
fn days_and_latencies_of_nothing_are_allowed_here() {
    let text = format!(
        "duration = \"2d\"\nstep = \"12h\"\n{}[[far.payrail]]\nlatency = \"0s\"\n",
        CALLER.replace("rate = 1.0", "every = \"1h\"")
    );
    let (code, out, err) = run(&text, &["--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["name"], "scenario");
    assert_eq!(report["summary"]["a"]["ok"], 48);
    assert_eq!(report["seconds"].as_array().unwrap().len(), 4);
}
