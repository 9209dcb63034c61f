//! `README.md` says which case is proved where: each test that it names is there, and each test of a case is named.

use std::collections::BTreeSet;
use std::path::Path;

/// The families of cases, as tests write them.
const FAMILIES: [&str; 12] = [
    "brk", "ho", "stl", "win", "cmp", "rty", "blk", "tmo", "fbk", "cfg", "met", "lif",
];
const CASES: usize = 172;

/// Tests that are named after a case, by folder and module.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, prefix) in [("behaviour", ""), ("metrics", "metrics/")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let line = line.trim_start();
                let line = line.strip_prefix("async ").unwrap_or(line);
                let Some((name, _)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) else {
                    continue;
                };
                if is_of_a_case(name) {
                    found.insert(format!("{prefix}{module}::{name}"));
                }
            }
        }
    }
    found
}

fn is_of_a_case(name: &str) -> bool {
    name.split_once('_').is_some_and(|(family, rest)| {
        FAMILIES.contains(&family) && rest.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// Case, where it is proved, and the note.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("README.md").lines().filter_map(|line| {
        let [_, case, proved, note, _] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            return None;
        };
        is_of_a_case(&case.to_lowercase().replace('-', "_")).then_some((case, proved, note))
    })
}

#[test]
fn the_table_names_each_case_once_and_each_test_of_a_case() {
    let cases: BTreeSet<_> = rows().map(|(case, ..)| case).collect();
    assert_eq!((cases.len(), rows().count()), (CASES, CASES));
    let mut named = BTreeSet::new();
    for (case, proved, note) in rows() {
        let tests = proved.split('`').skip(1).step_by(2);
        named.extend(tests.map(str::to_owned));
        assert_eq!(proved.starts_with('`'), proved != "left out", "{case}: {proved}");
        assert!(
            proved != "left out" || !note.is_empty(),
            "{case} is left out, and nobody says why"
        );
    }
    let there = tests();
    let gone: Vec<_> = named.difference(&there).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    assert!(
        gone.is_empty() && unnamed.is_empty(),
        "not there: {gone:#?}\nnot in the table: {unnamed:#?}"
    );
}
