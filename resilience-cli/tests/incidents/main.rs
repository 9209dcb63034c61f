//! Incidents from the literature, written as scenarios and policies of our own, against the figures that an independent
//! model computed. A line of `expected.tsv` is a figure: incident, run, name, where it stands in the report, value,
//! absolute and relative tolerance.

mod chance;
mod figures;
mod report;
mod told;

use std::path::{Path, PathBuf};

use figures::Figure;
use report::Report;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/incidents")
}

/// Checks every figure of an incident.
fn check(id: &str) {
    let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let figures: Vec<Figure> = table
        .lines()
        .skip(1)
        .map(Figure::read)
        .filter(|figure| figure.id == id)
        .collect();
    assert!(!figures.is_empty(), "`{id}` has no figures");
    let mut wrong = Vec::new();
    let mut runs: Vec<&str> = figures.iter().map(|figure| figure.run.as_str()).collect();
    runs.dedup();
    for run in runs {
        let reports = report::of(run);
        for report in &reports {
            report.adds_up();
        }
        for figure in figures.iter().filter(|figure| figure.run == run) {
            let found = figure.find(&reports);
            if !figure.accepts(&found) {
                wrong.push(format!("{}: wanted {}, found {found}", figure.name, figure.value));
            }
        }
    }
    assert!(wrong.is_empty(), "{id}\n{}", wrong.join("\n"));
}

#[test]
fn sf_04_by_chance() {
    chance::check("SF-04");
}

#[test]
fn sf_06_by_chance() {
    chance::check("SF-06");
}

#[test]
fn sf_08_by_chance() {
    chance::check("SF-08");
}

#[test]
fn sf_10_by_chance() {
    chance::check("SF-10");
}

macro_rules! incidents {
    ($($name:ident $id:literal)*) => {
        $(
            #[test]
            fn $name() {
                check($id);
            }
        )*

        #[test]
        fn every_incident_of_the_table_is_a_test() {
            let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
            let mut tested = vec![$($id),*];
            tested.sort_unstable();
            let mut known: Vec<_> = table.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
            known.sort_unstable();
            known.dedup();
            assert_eq!(tested, known);
        }
    };
}

incidents! {
    sf_01 "SF-01"
    sf_02 "SF-02"
    sf_03 "SF-03"
    sf_04 "SF-04"
    sf_05 "SF-05"
    sf_06 "SF-06"
    sf_08 "SF-08"
    sf_10 "SF-10"
    sf_11 "SF-11"
    sf_14 "SF-14"
    rc_01 "RC-01"
    rc_02 "RC-02"
    sd_01 "SD-01"
    sd_02 "SD-02"
    sd_03 "SD-03"
    sd_04 "SD-04"
    sd_06 "SD-06"
    sd_07 "SD-07"
    sd_08 "SD-08"
    sd_09 "SD-09"
    sd_10 "SD-10"
    sd_11a "SD-11a"
    sd_11b "SD-11b"
    sd_15 "SD-15"
    a7_01 "A7-01"
    a7_02 "A7-02"
    sd_13 "SD-13"
    sd_17 "SD-17"
    sd_18 "SD-18"
    sd_16 "SD-16"
    a7_03 "A7-03"
    a7_04 "A7-04"
    a7_08 "A7-08"
    a7_09 "A7-09"
    a7_10 "A7-10"
    a7_11 "A7-11"
    ra_01 "RA-01"
    a7_13 "A7-13"
    a7_14 "A7-14"
    a7_15 "A7-15"
    a7_20 "A7-20"
    mb_01 "MB-01"
    mb_02 "MB-02"
    mb_03 "MB-03"
    mb_04 "MB-04"
    mb_05 "MB-05"
    mb_07 "MB-07"
    mk_01 "MK-01"
    mk_02 "MK-02"
    gw_01 "GW-01"
    gw_03 "GW-03"
    pp_01 "PP-01"
    pp_02 "PP-02"
    av_01 "AV-01"
    av_02 "AV-02"
    av_04 "AV-04"
    rb_01 "RB-01"
    rb_02 "RB-02"
    rb_03 "RB-03"
    ps_01 "PS-01"
    ps_02 "PS-02"
    lv_01 "LV-01"
}

/// The same evening as that of eight runtimes in `tests/behaviour/pooled.rs`, to the call.
#[test]
fn quiet_instances_open_together_where_their_evidence_is_pooled_and_never_where_it_is_not() {
    let waited = |report: &Value| report["summary"]["orders"]["timed_out"].as_u64();
    let opened = |report: &Value| {
        report["summary"]["orders"]["opened_s"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let pooled = Report::under("mb-pooled", |text| text);
    assert_eq!(waited(&pooled), Some(25));
    let all = opened(&pooled);
    assert_eq!(all[..8], vec![Value::from(4_010.0); 8], "all at the ninth failure");
    assert_eq!(all.len(), 8 + 16, "two probes of each fail");
    assert_eq!(
        pooled["summary"]["orders"]["closed_s"].as_array().map(Vec::len),
        Some(8)
    );
    let alone = Report::under("mb-pooled", |text| text.replace("pooled", "view"));
    assert_eq!((waited(&alone), opened(&alone).len()), (Some(108), 0));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_other_draws() {
    let run = |seed: u64| Report::text_of("ps-02", |text| format!("seed = {seed}\n{text}"));
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
}

#[test]
fn a_report_of_every_kind_is_made_of_the_same_run() {
    let json: Value = serde_json::from_str(&Report::text_of("sf-10", |text| text)).unwrap();
    let arrived = json["summary"]["checkout"]["arrived"].as_u64().unwrap();
    let csv = report::run("sf-10", &["--format", "csv"]);
    let column = csv
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "arrived")
        .unwrap();
    let rows: u64 = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!((rows, csv.lines().count()), (arrived, 151));
    let text = report::run("sf-10", &["--without"]);
    for word in [
        "checkout",
        "bulkhead_full",
        "without guards",
        "what differs",
        "slow, checkout",
    ] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
}
