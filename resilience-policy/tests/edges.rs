//! Where a rule just holds and where it just does not.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{breaker, error, good, only};
use resilience_policy::{inspect, lookup};

const MOST: usize = 16 * 1024 * 1024;

#[test]
fn what_just_fits_is_good() {
    for lines in [
        "window = \"20 calls\"\nminimum_calls = 20",
        "probes = 3\nprobe_successes = 3",
        "cooldown = \"30s\"\ncooldown_max = \"30s\"",
        // The longest cooldown that is built in gives way.
        "cooldown = \"10m\"",
    ] {
        good(&breaker(lines));
    }
    good(
        "version = 1\n[dependency.x]\nfail = \"open\"\ndeadline = \"1s\"\nbulkhead = { max_concurrent = 1, max_wait = \"1s\" }\n",
    );
    good("version = 1\n[dependency.x]\nfail = \"open\"\nretry = { backoff = \"2s\" }\n");
}

#[test]
fn what_a_dependency_lacks_is_not_told_again_for_its_operations_and_what_an_operation_lacks_is() {
    let shared = breaker("slow_rate = 0.5") + "[dependency.x.operation.part.breaker]\nprobes = 1\n";
    assert_eq!(only(&shared).key(), "dependency.x.breaker.slow_after");
    let own = breaker("probes = 1") + "[dependency.x.operation.part.breaker]\nslow_rate = 0.5\n";
    let fault = only(&own);
    assert_eq!(
        (fault.name(), fault.key()),
        ("missing_key", "dependency.x.operation.part.breaker.slow_after")
    );
}

#[test]
fn faults_of_lines_and_of_keys_that_are_not_kept_are_counted_together() {
    let mut text = String::from(common::BASE);
    for number in 0..1_100 {
        let _ = writeln!(text, "zebra{number} = 1\ngnu{number} = \"");
    }
    let error = error(&text);
    assert_eq!((error.faults().len(), error.total()), (1_000, 2_200));
}

#[test]
fn a_file_of_exactly_the_most_is_read_whole_and_one_byte_more_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resilience.toml");
    for (length, read) in [(MOST, Some(MOST)), (MOST + 1, None)] {
        std::fs::File::create(&file).unwrap().set_len(length as u64).unwrap();
        let bytes = lookup::bytes(&file);
        assert_eq!(bytes.as_ref().ok().map(Vec::len), read);
        assert!(bytes.err().is_none_or(|error| error.faults()[0].name() == "too_large"));
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let gone = lookup::bytes(Path::new("no/such/file.toml")).unwrap_err();
    assert_eq!(gone.faults()[0].message(), "the file does not exist");
    let folder = lookup::bytes(Path::new(".")).unwrap_err();
    assert_eq!(folder.faults()[0].message(), "this is not a regular file");
    // A regular file that opens and does not read, whoever asks.
    #[cfg(target_os = "linux")]
    {
        let unread = lookup::bytes(Path::new("/proc/self/mem")).unwrap_err();
        let said = unread.faults()[0].message();
        assert!(
            said.starts_with("the file cannot be read: input/output error"),
            "{said}"
        );
    }
}

#[test]
fn a_file_that_could_not_be_read_at_all_names_the_overrides_that_are_built_in() {
    let inspection = inspect(b"\xFF\xFE", Path::new("resilience.toml"), &[]);
    assert!(inspection.error.is_some());
    assert!(
        inspection
            .policy
            .runtime()
            .overrides
            .ends_with("resilience.overrides.toml")
    );
}

#[test]
fn a_large_file_that_is_little_else_but_mistakes_is_told_in_part_and_counted_whole() {
    let text = format!(
        "version = 1\n{}",
        "= 1 # nobody knows what this was to be\n".repeat(30_000)
    );
    assert!(text.len() > 1024 * 1024);
    let error = common::error(&text);
    assert_eq!(error.faults().len(), 1_000);
    assert!(error.faults().iter().all(|fault| fault.name() == "syntax"));
    assert_eq!(error.faults()[0].line(), Some(2));
    assert!(
        error.to_string().contains("29950 more"),
        "{}",
        &error.to_string()[..200]
    );
    // The same mistakes, but not so many of them: a smaller file is read to its end.
    let text = format!("version = 1\n{}", "= 1\n".repeat(6_000));
    let error = common::error(&text);
    assert_eq!(error.faults().len(), 1_000);
    assert!(error.to_string().contains("5950 more"), "{error}");
}

#[test]
fn mistakes_of_both_sorts_are_counted_together() {
    let unknown: Vec<_> = (0..6_000).map(|number| format!("k{number} = 1\n")).collect();
    let text = format!("version = 1\n{}{}", unknown.concat(), "= 1\n".repeat(5_500));
    let error = common::error(&text);
    assert!(error.to_string().contains("11450 more"), "{error}");
}

/// Name, line and key of every fault.
fn told(text: &str) -> Vec<(String, Option<u32>, String)> {
    let error = common::error(text);
    let faults = error.faults().iter();
    faults
        .map(|fault| (fault.name().to_owned(), fault.line(), fault.key().to_owned()))
        .collect()
}

fn told_as(told: &[(&str, u32, &str)]) -> Vec<(String, Option<u32>, String)> {
    told.iter()
        .map(|(name, line, key)| ((*name).to_owned(), Some(*line), (*key).to_owned()))
        .collect()
}

const FAR: &str = "version = 1\n[dependency.far]\nfail = \"open\"\ntimeout = \"1s\"\n";

#[test]
fn a_second_definition_is_told_as_such_and_what_it_says_is_not_looked_at() {
    let text = format!("{FAR}timeout = \"oops\"\n");
    assert_eq!(told(&text), told_as(&[("duplicate", 5, "dependency.far.timeout")]));
    let text =
        format!("{FAR}breaker = {{ window = \"9 calls\" }}\nbreaker = {{ window = \"oops\", window = \"oops\" }}\n");
    assert_eq!(told(&text), told_as(&[("duplicate", 6, "dependency.far.breaker")]));
}

#[test]
fn what_is_defined_twice_inside_braces_is_told_by_its_whole_path_beside_whatever_else_is_wrong() {
    let rate = "dependency.far.breaker.failure_rate";
    let text = format!("{FAR}timeout = \"2s\"\nbreaker = {{ failure_rate = 5, failure_rate = 0.5 }}\n");
    let three = [
        ("duplicate", 5, "dependency.far.timeout"),
        ("out_of_range", 6, rate),
        ("duplicate", 6, rate),
    ];
    assert_eq!(told(&text), told_as(&three));
    let error = common::error(&text).to_string();
    assert!(
        error.contains("resilience.toml:6:31:") && error.contains("first defined at 6:13"),
        "{error}"
    );
    // A key and the table around it may have one name, and the first line may lack what is missing.
    let text = "runtime = { chaos = true, version = 1, version = 1 }\n";
    let three = [
        ("missing_key", 1, "version"),
        ("unknown_key", 1, "runtime.version"),
        ("duplicate", 1, "runtime.version"),
    ];
    assert_eq!(told(text), told_as(&three));
    // As deep as it goes, one key as a number and as a table, and what a list holds.
    let text = format!("{FAR}operation = {{ refund = {{ retry.budget = 0.1, retry = {{}} }} }}\n");
    assert_eq!(
        told(&text),
        told_as(&[("duplicate", 5, "dependency.far.operation.refund.retry")])
    );
    let text = format!("{FAR}uses = [{{ a = 1, a = 2 }}]\n");
    assert!(
        told(&text).contains(&("duplicate".to_owned(), Some(5), "a".to_owned())),
        "{:?}",
        told(&text)
    );
}
