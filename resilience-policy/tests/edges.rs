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

#[test]
fn what_is_defined_twice_is_not_told_again_for_what_is_wrong_with_it() {
    let text = "version = 1\n[dependency.far]\nfail = \"open\"\ntimeout = \"oops\"\ntimeout = \"oops\"\n";
    let error = common::error(text);
    let told: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.name(), fault.line()))
        .collect();
    assert_eq!(told.iter().filter(|(_, line)| *line == Some(5)).count(), 1, "{told:?}");
    assert!(told.contains(&("duplicate", Some(5))), "{told:?}");
}
