//! Whatever the bytes, there is a policy or there are faults with places inside the text.

use std::path::Path;

use proptest::prelude::*;
use resilience_policy::{Policy, inspect, lint, overrides};

const GOOD: &str = include_str!("files/everything.toml");

fn check(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let inspection = inspect(bytes, Path::new("p.toml"), &[]);
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Whatever could be understood of it, the lints look at.
        let _ = lint(&inspection.policy, text);
    }
    if let Some(error) = inspection.error {
        assert!(!error.faults().is_empty());
        assert!(!error.to_string().is_empty());
        for fault in error.faults() {
            let line = fault.line().unwrap_or(1) as usize;
            assert!(line >= 1 && line <= lines, "line {line} of {lines}: {fault}");
            assert!(fault.column().unwrap_or(1) >= 1);
            assert!(!fault.message().is_empty());
        }
    }
    let _ = overrides::parse(bytes, Path::new("o.toml"), std::time::SystemTime::UNIX_EPOCH);
}

#[test]
fn the_good_file_is_good() {
    Policy::from_toml(GOOD).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn no_cut_of_a_good_file_panics() {
    for end in (0..GOOD.len()).step_by(13) {
        check(&GOOD.as_bytes()[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_good_file_panics(
        changes in prop::collection::vec((0..GOOD.len(), prop::sample::select(&b"=[]{}\"'.,#\n\r\t -09azA\\_:$%\x00\xff\xc3\xef"[..])), 1..12),
        cut in prop::option::of(0..GOOD.len()),
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut);
        }
        check(&bytes);
    }

    #[test]
    fn no_shuffle_of_its_lines_panics(order in prop::collection::vec(0..200_usize, 1..60)) {
        let lines: Vec<&str> = GOOD.lines().collect();
        let text: Vec<&str> = order.into_iter().map(|at| lines[at % lines.len()]).collect();
        check(text.join("\n").as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    /// Bytes between whole lines, as a disk that failed leaves them.
    #[test]
    fn no_bytes_inside_a_good_file_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0..GOOD.len()) {
        check(&[&GOOD.as_bytes()[..at], &bytes, &GOOD.as_bytes()[at..]].concat());
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        check(text.as_bytes());
    }
}
