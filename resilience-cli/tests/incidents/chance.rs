//! Incidents with arrivals and latencies by chance, against the band of ten runs of the independent model. A line of
//! `bands.tsv` is a figure: incident, run, name, where it stands in the report, the least and the most of the ten.

use serde_json::Value;

use crate::figures;
use crate::folder;
use crate::report::Report;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// Of ten runs of the same kind one in six falls outside of what ten others spanned; the middle one of five hardly ever
/// falls outside of this much more of it.
const ROOM: f64 = 0.25;

pub(crate) fn check(id: &str) {
    let table = std::fs::read_to_string(folder().join("bands.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| row[0] == id).collect();
    let run = rows.first().unwrap_or_else(|| panic!("`{id}` has no bands"))[1];
    let reports: Vec<Value> = SEEDS
        .map(|seed| {
            let report = Report(serde_json::from_str(&Report::text_of(run, |text| by_chance(&text, seed))).unwrap());
            report.adds_up();
            report.0
        })
        .collect();
    let mut wrong = Vec::new();
    for row in rows {
        let [_, _, name, path, least, most] = row[..] else {
            panic!("six columns: {row:?}");
        };
        let (least, most): (f64, f64) = (least.parse().unwrap(), most.parse().unwrap());
        let path: Vec<&str> = path.split('/').collect();
        let mut found: Vec<f64> = reports
            .iter()
            .map(|report| {
                let found = figures::find(report, &path);
                found.as_f64().unwrap_or_else(|| panic!("{name}: it never happened"))
            })
            .collect();
        found.sort_by(f64::total_cmp);
        let (middle, room) = (found[found.len() / 2], ROOM * (most - least));
        if !(least - room..=most + room).contains(&middle) {
            wrong.push(format!("{name}: {least} to {most}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{id}\n{}", wrong.join("\n"));
}

/// The scenario with buyers who know nothing of each other, and latencies around their median. How far around, the bands
/// do not say: with a 99th percentile of 1.2 medians the breakers open when theirs do, and as much is sold while it is slow.
fn by_chance(text: &str, seed: u64) -> String {
    let spread = |text: String, millis: u32| {
        let fixed = format!("latency = \"{millis}ms\"");
        let drawn = format!(
            "latency = {{ median = \"{millis}ms\", p99 = \"{}ms\" }}",
            millis * 12 / 10
        );
        assert!(text.contains(&fixed));
        text.replace(&fixed, &drawn)
    };
    let text = text.replacen(
        "[[phase]]",
        "[[phase]]\nname = \"before\"\nfrom = \"0s\"\nto = \"34s\"\n\n[[phase]]",
        1,
    );
    let text = text.replace("rate = 500.0", "rate = 500.0\narrivals = \"poisson\"");
    format!("seed = {seed}\n{}", spread(spread(text, 150), 900))
}
