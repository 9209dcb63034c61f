//! A snapshot as another process wrote it: an older one lacks keys, and a newer one has more.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct Snapshot {
    pub(super) instance: String,
    pub(super) policy: Policy,
    pub(super) dependencies: BTreeMap<String, Dependency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Policy {
    pub(super) hash: String,
    pub(super) file: String,
    pub(super) loaded_at: Option<f64>,
    #[serde(default)]
    pub(super) stale: bool,
    pub(super) refusal: Option<String>,
}

/// One dependency or operation.
#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    /// Nothing without a breaker.
    pub(super) state: Option<String>,
    pub(super) mode: String,
    pub(super) cause: Option<String>,
    pub(super) since: Option<f64>,
    #[serde(default)]
    pub(super) calls: u64,
    pub(super) failure_rate: Option<f64>,
    pub(super) slow_rate: Option<f64>,
    pub(super) retry_after: Option<f64>,
    #[serde(default)]
    pub(super) in_flight: u64,
    pub(super) limit: Option<u64>,
    #[serde(default)]
    pub(super) waiting: u64,
    pub(super) max_waiting: Option<u64>,
    #[serde(default)]
    pub(super) degraded_ratio: f64,
    #[serde(rename = "override")]
    pub(super) overridden: Option<Override>,
    #[serde(default)]
    pub(super) functions: Vec<String>,
    // What the contract does not name and the runtime tells.
    pub(super) about: Option<String>,
    pub(super) open_for: Option<f64>,
    pub(super) next_probe_in: Option<f64>,
    pub(super) opened: Option<Opened>,
    #[serde(default)]
    pub(super) openings: u64,
    #[serde(default)]
    pub(super) flapping: bool,
    #[serde(default)]
    pub(super) never_ran: Vec<String>,
    pub(super) untried: Option<Vec<Untried>>,
    pub(super) others: Option<Others>,
    #[serde(default)]
    pub(super) numbers: Vec<Number>,
}

/// A form of a function's fallback that never had the last word.
#[derive(Debug, Deserialize)]
pub(crate) struct Untried {
    /// With its module.
    pub(crate) function: String,
    pub(crate) kind: String,
    /// What is called, as written.
    pub(crate) path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Override {
    pub(super) mode: String,
    pub(super) by: String,
    pub(super) reason: String,
    pub(super) until: f64,
    pub(super) answer: Option<String>,
}

/// The change by which it left closed.
#[derive(Debug, Deserialize)]
pub(super) struct Opened {
    pub(super) cause: String,
    #[serde(default)]
    pub(super) calls: u64,
    pub(super) failure_rate: Option<f64>,
    pub(super) slow_rate: Option<f64>,
    pub(super) threshold: Option<Number>,
    #[serde(default)]
    pub(super) kinds: Vec<String>,
    pub(super) pooled: Option<Pooled>,
}

/// What several instances counted together.
#[derive(Debug, Deserialize)]
pub(super) struct Pooled {
    pub(super) own: Results,
    pub(super) instances: u64,
}

/// What other instances add to a window.
#[derive(Debug, Deserialize)]
pub(super) struct Others {
    #[serde(flatten)]
    pub(super) results: Results,
    pub(super) count: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Results {
    pub(super) calls: u64,
    pub(super) bad: u64,
}

/// A number in force, and where it stands.
#[derive(Debug, Deserialize)]
pub(super) struct Number {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

impl Number {
    /// `` `breaker.failure_rate` = 0.5 (resilience.toml:12)``
    pub(super) fn shown(&self) -> String {
        let value = match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(variable), None) => format!(" ({variable})"),
            _ => " (built in)".to_owned(),
        };
        format!("`{}` = {value}{place}", self.key)
    }
}

impl Dependency {
    /// A number by its key, as text: with its place where the snapshot knows it.
    pub(super) fn number(&self, key: &str) -> String {
        let decided = self.opened.iter().filter_map(|opened| opened.threshold.as_ref());
        let known = self.numbers.iter().chain(decided).find(|number| number.key == key);
        known.map_or_else(|| format!("`{key}`"), Number::shown)
    }
}
