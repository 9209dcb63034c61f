//! A file for each way in which policies go wrong, with what is said of it beside it, to be read as an operator would:
//! is the place there, the cause, the cure? After a change of words: `BLESS=1 cargo test -p resilience-policy --test
//! samples`, and read the difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use resilience_policy::{Policy, PolicyError};

/// The samples below a folder, by name.
fn samples(kind: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(kind);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let toml = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    toml.map(|path| {
        (
            path.file_stem().unwrap().to_str().unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    })
    .collect()
}

fn read(bytes: &[u8]) -> Result<Policy, PolicyError> {
    Policy::parse(bytes, Path::new("resilience.toml"), &[])
}

fn expected(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/files/bad/{name}.txt"))
}

#[test]
fn each_bad_file_is_refused_in_the_words_beside_it() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut differ = Vec::new();
    let all = samples("bad");
    assert!(all.len() > 40);
    for (name, bytes) in all {
        let error = read(&bytes).err().unwrap_or_else(|| panic!("`{name}` was accepted"));
        let said = format!("{error}\n");
        if bless {
            fs::write(expected(&name), &said).unwrap();
        } else if fs::read_to_string(expected(&name)).ok() != Some(said.clone()) {
            differ.push(format!("{name}:\n{said}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// What an operator needs of each: where, what, and what to do.
#[test]
fn each_fault_of_each_bad_file_has_its_place_its_cause_and_a_way_out() {
    for (name, bytes) in samples("bad") {
        let error = read(&bytes).unwrap_err();
        for fault in error.faults() {
            let said = fault.to_string();
            let first = said.lines().next().unwrap_or_default();
            assert!(fault.line().is_some() && fault.column().is_some(), "{name}: {said}");
            assert!(first.len() > 40, "{name}: {said}");
            assert!(!first.contains(char::is_control), "{name}: {said}");
            // A cure is a spelling to write, what is allowed, the place that it conflicts with, or a word that asks for
            // something.
            let asks = [
                "write ",
                "delete",
                "remove",
                "make it",
                "save ",
                "put ",
                "raise ",
                "use ",
                "let ",
                "add ",
                "fill ",
                "needs",
                "is missing",
                "belongs to",
                "here it is called",
                "did you mean",
                "single brackets",
                "rename",
                "finish",
                "is not closed with",
                "is written in TOML",
                "is a table",
                "begins with",
            ];
            let cured = fault.suggestion().is_some()
                || fault.allowed().is_some()
                || !fault.related().is_empty()
                || asks.iter().any(|asks| fault.message().contains(asks));
            assert!(cured, "{name}: {said}");
        }
    }
}

#[test]
fn each_good_file_loads_whatever_its_line_ends() {
    for (name, bytes) in samples("good") {
        let policy = read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        for other in [text.replace('\n', "\r\n"), format!("{text}\n\n# the end\n")] {
            assert_eq!(read(other.as_bytes()).unwrap().hash(), policy.hash(), "{name}");
        }
    }
}
