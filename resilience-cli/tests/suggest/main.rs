//! `suggest`, from every format of recorded traffic to numbers that the loader and the lints accept.

mod formats;
#[path = "../kit/mod.rs"]
mod kit;
mod numbers;
mod real;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use resilience_policy::{Policy, lint};
use serde_json::Value;

use kit::{Desk, json, run_all as run};

impl Desk {
    /// A trace beside a policy that knows only `payrail`.
    fn suggest(&self, name: &str, trace: &str, more: &[&str]) -> Value {
        let policy = self.file("resilience.toml", BARE);
        self.suggest_to(&policy, name, trace, more)
    }

    fn suggest_to(&self, policy: &Path, name: &str, trace: &str, more: &[&str]) -> Value {
        let trace = self.file(name, trace);
        let mut args: Vec<OsString> = vec!["suggest".into(), trace.into()];
        args.extend(["--format".into(), "json".into(), "--policy".into(), policy.into()]);
        args.extend(more.iter().map(OsString::from));
        let (code, out, err) = run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        json(&out)
    }
}

const BARE: &str = "version = 1\n\n[dependency.payrail]\nfail = \"closed\"\n";

/// `calls` evenly spaced calls, each with its latency and outcome.
fn trace(calls: u32, rate: f64, each: impl Fn(u32) -> (f64, &'static str)) -> String {
    let mut text = String::from("time,latency,outcome\n");
    for call in 0..calls {
        let (latency, outcome) = each(call);
        let _ = writeln!(text, "{:.6},{latency:.6},{outcome}", f64::from(call) / rate);
    }
    text
}

fn of<'a>(report: &'a Value, key: &str) -> Option<&'a Value> {
    let suggestions = report["dependencies"]["payrail"]["suggestions"].as_array().unwrap();
    suggestions.iter().find(|one| one["key"] == key).map(|one| &one["new"])
}

fn refused<'a>(report: &'a Value, key: &str) -> Option<&'a Value> {
    let refused = report["dependencies"]["payrail"]["refused"].as_array().unwrap();
    refused.iter().find(|one| one["key"] == key)
}

fn number(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).unwrap_or_else(|| panic!("{value:?}"))
}
