//! The rules and the dashboard that are shipped: each rule fires and stays quiet as `promtool` says, and no query speaks
//! of a series, a label or a word that no scrape has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use metrics::set_default_local_recorder;

use crate::exposition::{Page, recorder};
use crate::kit;
use crate::names::EVERY_LAYER;

/// What shows within hours, looked at every minute, and what only weeks show, looked at every hour.
const CASES: [&str; 2] = ["resilience.test.yml", "resilience.weeks.test.yml"];

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(shipped(name)).unwrap()
}

/// What stands behind `expr:`, one line or folded over several.
fn expressions(rules: &str) -> Vec<String> {
    let lines: Vec<&str> = rules.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(expression) = line.trim_start().strip_prefix("expr:") else {
            continue;
        };
        let folded = lines[at + 1..].iter().take_while(|next| indent(next) > indent(line));
        found.push(match expression.trim() {
            ">-" => folded.copied().collect::<Vec<_>>().join(" "),
            whole => whole.to_owned(),
        });
    }
    found
}

fn queries_of_the_dashboard() -> Vec<String> {
    let dashboard: serde_json::Value = serde_json::from_str(&read("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect()
}

/// The series of a query, each with the text between its braces.
fn series(query: &str) -> Vec<(String, String)> {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    query
        .match_indices("resilience_")
        .map(|(at, _)| {
            let rest = &query[at..];
            let end = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
            let braces = rest[end..]
                .strip_prefix('{')
                .map_or("", |inside| &inside[..inside.find('}').expect("braces are closed")]);
            (rest[..end].to_owned(), braces.to_owned())
        })
        .collect()
}

/// `label="a|b"`, with whichever operator, as the label and its words.
fn matchers(braces: &str) -> Vec<(&str, Vec<&str>)> {
    braces
        .split("\",")
        .filter_map(|matcher| matcher.split_once('"'))
        .map(|(label, words)| {
            let label = label.trim().trim_end_matches(['=', '~', '!']);
            (label, words.trim_end_matches('"').split('|').collect())
        })
        .collect()
}

#[test]
fn ob_r14_every_query_is_about_series_labels_and_words_that_a_scrape_has() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let _runtime = kit::runtime(EVERY_LAYER);
    let page = Page::of(&recorder.handle());
    let names = page.names();
    let mut asked = BTreeSet::new();
    let queries: Vec<_> = expressions(&read("resilience.rules.yml"))
        .into_iter()
        .chain(queries_of_the_dashboard())
        .collect();
    assert!(queries.len() > 25, "{}", queries.len());
    for query in &queries {
        for (name, braces) in series(query) {
            let name = name.trim_end_matches("_bucket").to_owned();
            let labels = names.get(name.as_str());
            let labels = labels.unwrap_or_else(|| panic!("no scrape has `{name}`: {query}"));
            for (label, words) in matchers(&braces) {
                assert!(labels.contains(label), "`{name}` has no label `{label}`: {query}");
                // Dependencies and instances are the user's, and a variable is Grafana's.
                if label == "dependency" || label == "instance" {
                    continue;
                }
                let known = page.values(&name, label);
                for word in words {
                    assert!(
                        known.contains(word) || kinds_of_fallback(label).contains(&word),
                        "`{name}` never has `{label}` {word:?}: {query}"
                    );
                }
            }
            asked.insert(name);
        }
    }
    let shown: BTreeSet<_> = names.keys().map(|name| (*name).to_owned()).collect();
    let forgotten: Vec<_> = shown
        .difference(&asked)
        .filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"))
        .collect();
    assert!(forgotten.is_empty(), "no panel and no rule shows {forgotten:?}");
}

/// A dependency has series for the kinds that its functions have; the one of this test has no functions.
fn kinds_of_fallback(label: &str) -> &'static [&'static str] {
    if label == "kind" {
        &["value", "path", "with", "stale"]
    } else {
        &[]
    }
}

#[test]
fn every_alert_has_a_page_in_the_runbook_and_a_firing_case() {
    let rules = read("resilience.rules.yml");
    let cases = CASES.map(read).concat();
    let runbook = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operating.md")).unwrap();
    let mut alerts = BTreeMap::new();
    for line in rules.lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            alerts.insert(
                name,
                rules.contains(&format!("docs/operating.md#{}", name.to_lowercase())),
            );
        }
    }
    assert_eq!(alerts.len(), 10);
    for (alert, points) in alerts {
        assert!(points, "`{alert}` does not say where its page is");
        assert!(runbook.contains(&format!("\n### {alert}\n")), "no page for `{alert}`");
        let firing = cases
            .split("alertname: ")
            .skip(1)
            .any(|case| case.starts_with(&format!("{alert}\n        exp_alerts")));
        assert!(firing, "no case in which `{alert}` fires");
        assert!(
            cases.contains(&format!("alertname: {alert} }}")),
            "no case in which `{alert}` is quiet"
        );
    }
}

#[test]
fn tw_r01_the_alerts_fire_and_stay_quiet_as_their_cases_say() {
    if Command::new("promtool").arg("--version").output().is_err() {
        let must = std::env::var_os("RESILIENCE_REQUIRE_SERVERS").is_some_and(|set| set == "1");
        assert!(!must, "`promtool` is missing: install Debian's package `prometheus`");
        eprintln!("passed over: `promtool` is missing (Debian's package `prometheus`)");
        return;
    }
    let [soon, weeks] = CASES;
    for arguments in [
        ["check", "rules", "resilience.rules.yml"],
        ["test", "rules", soon],
        ["test", "rules", weeks],
    ] {
        let done = Command::new("promtool")
            .args(arguments)
            .current_dir(shipped(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {said}");
    }
}
