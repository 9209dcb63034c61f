//! The loader, the lints, the difference and the overrides file on arbitrary bytes: no panic, no hang, bounded memory,
//! and every fault has a message and a place inside the text.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;
use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use resilience_policy::{Policy, inspect, lint, overrides};

static GOOD: LazyLock<Policy> = LazyLock::new(|| {
    Policy::from_toml(include_str!("../../resilience-policy/tests/files/everything.toml")).expect("a good file")
});

fuzz_target!(|bytes: &[u8]| {
    let file = Path::new("resilience.toml");
    let inspection = inspect(bytes, file, &[]);
    if let Some(error) = &inspection.error {
        assert!(!error.faults().is_empty());
        let lines = u32::try_from(bytes.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX);
        for fault in error.faults() {
            assert!(fault.line().is_none_or(|line| (1..=lines).contains(&line)), "{fault}");
            assert!(!fault.message().is_empty());
        }
        assert!(!error.to_string().is_empty());
    } else {
        // What loads means the same to whoever loads it again, and differs from another or not in both alike.
        let again = Policy::parse(bytes, file, &[]).expect("it loaded a moment ago");
        assert_eq!(again.hash(), inspection.policy.hash());
        assert!(inspection.policy.diff(&again).is_empty());
        let _ = GOOD.diff(&again);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = lint(&inspection.policy, text);
    }
    let _ = overrides::parse(bytes, file, SystemTime::UNIX_EPOCH);
});
