//! What the tests of the file share.

// Each test file uses its own part of this.
#![allow(dead_code)]

use resilience_policy::{Dependency, Fault, Policy, PolicyError};

/// A dependency without faults, to which a case adds its own lines.
pub(crate) const BASE: &str = "version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"1s\"\n";

/// The faults of a text that must have some.
pub(crate) fn error(text: &str) -> PolicyError {
    match Policy::from_toml(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// The one fault of a text.
pub(crate) fn only(text: &str) -> Fault {
    let error = error(text);
    assert_eq!(error.faults().len(), 1, "{text}\n{error}");
    error.faults()[0].clone()
}

/// Line, column and name of each fault.
pub(crate) fn places(text: &str) -> Vec<(u32, u32, String)> {
    error(text).faults().iter().map(place).collect()
}

pub(crate) fn place(fault: &Fault) -> (u32, u32, String) {
    (
        fault.line().unwrap_or(0),
        fault.column().unwrap_or(0),
        fault.name().to_owned(),
    )
}

pub(crate) fn good(text: &str) -> Policy {
    Policy::from_toml(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

pub(crate) fn dependency(text: &str, name: &str) -> Dependency {
    good(text)
        .dependency(name)
        .unwrap_or_else(|| panic!("no `{name}`"))
        .clone()
}

/// `BASE` with a breaker that holds this line.
pub(crate) fn breaker(line: &str) -> String {
    format!("{BASE}[dependency.x.breaker]\n{line}\n")
}
