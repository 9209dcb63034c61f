//! Runs of the command, and their reports.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;

use crate::folder;

/// One report.
pub(crate) struct Report(pub(crate) Value);

/// The reports of a run: one, or for a scenario with a guilty party one for each that may be guilty.
pub(crate) fn of(run: &str) -> Vec<Report> {
    let scenario = std::fs::read_to_string(folder().join(format!("{run}.toml"))).unwrap();
    let guilty = if scenario.contains("GUILTY_KEY") { 19 } else { 1 };
    (0..guilty)
        .map(|key: u32| {
            // Four keys share a writer.
            let written = |text: String| {
                text.replace("GUILTY_KEY", &key.to_string())
                    .replace("GUILTY_WRITER", &(key / 4).to_string())
            };
            let text = Report::text_of(run, written);
            Report(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        })
        .collect()
}

/// What the command prints for a scenario as it stands.
pub(crate) fn run(run: &str, words: &[&str]) -> String {
    let file = folder().join(format!("{run}.toml"));
    simulate(file.into(), folder().join(format!("{run}.policy.toml")).into(), words)
}

pub(crate) fn simulate(scenario: OsString, policy: OsString, words: &[&str]) -> String {
    let words = words.iter().map(OsString::from);
    let args = [
        "resilience".into(),
        "simulate".into(),
        scenario,
        "--policy".into(),
        policy,
    ];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = resilience_cli::run(args.into_iter().chain(words), &mut out, &mut err);
    let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
    assert_eq!(code, 0, "{out}{err}");
    out
}

impl Report {
    /// The report of a scenario under its policy, whose text is changed before.
    pub(crate) fn under(run: &str, change: impl FnOnce(String) -> String) -> Value {
        let text = std::fs::read_to_string(folder().join(format!("{run}.policy.toml"))).unwrap();
        let desk = tempfile::tempdir().unwrap();
        let policy = desk.path().join("policy.toml");
        std::fs::write(&policy, change(text)).unwrap();
        let scenario = folder().join(format!("{run}.toml"));
        serde_json::from_str(&simulate(scenario.into(), policy.into(), &["--format", "json"])).unwrap()
    }

    /// The JSON of a scenario whose text is changed before.
    pub(crate) fn text_of(run: &str, change: impl FnOnce(String) -> String) -> String {
        let text = std::fs::read_to_string(folder().join(format!("{run}.toml"))).unwrap();
        let desk = tempfile::tempdir().unwrap();
        let file = desk.path().join(format!("{run}.toml"));
        std::fs::write(&file, change(text)).unwrap();
        let policy = folder().join(format!("{run}.policy.toml"));
        simulate(file.into(), policy.into(), &["--format", "json"])
    }

    /// At the end of every row, what arrived has ended or is there.
    pub(crate) fn adds_up(&self) {
        let mut there: BTreeMap<&str, u64> = BTreeMap::new();
        for second in list(&self.0["seconds"]) {
            let caller = second["caller"].as_str().unwrap();
            let count = there.entry(caller).or_default();
            *count += number(&second["arrived"]);
            for ended in ["ok", "business", "failed", "timed_out", "left"] {
                *count -= number(&second[ended]);
            }
            *count -= rejected(second);
            let gauges = number(&second["in_flight"]) + number(&second["waiting"]);
            assert_eq!(*count, gauges, "{second}");
        }
        let mut arrived: BTreeMap<&str, u64> = BTreeMap::new();
        for second in list(&self.0["seconds"]) {
            *arrived.entry(second["caller"].as_str().unwrap()).or_default() += number(&second["arrived"]);
        }
        for (caller, arrived) in arrived {
            assert_eq!(number(&self.0["summary"][caller]["arrived"]), arrived, "{caller}");
        }
    }
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// Rejections of a row or a summary, whatever their reason.
pub(crate) fn rejected(counts: &Value) -> u64 {
    counts["rejected"].as_object().unwrap().values().map(number).sum()
}
