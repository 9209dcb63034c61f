//! The policy reader's own samples, good and bad, through the command and through the schema that it prints.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use resilience_policy::{Fault, Policy};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The samples below a folder, by path.
fn samples(kind: &str) -> Vec<PathBuf> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resilience-policy/tests/files");
    let mut all: Vec<_> = fs::read_dir(files.join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    if kind == "good" {
        all.extend(["everything.toml", "hundred.toml"].map(|name| files.join(name)));
        all.push(files.join("../../../resilience.toml"));
    }
    assert!(all.len() > 8);
    all
}

fn run(words: &[&str], file: Option<&Path>) -> (u8, String) {
    let words = ["resilience"].iter().chain(words).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = resilience_cli::run(words.chain(file.map(OsString::from)), &mut out, &mut err);
    assert_eq!(String::from_utf8(err).unwrap(), "");
    (code, String::from_utf8(out).unwrap())
}

#[test]
fn check_says_of_each_bad_file_what_the_loader_says() {
    for file in samples("bad") {
        let loader = Policy::read(&file).unwrap_err();
        let (code, said) = run(&["check"], Some(&file));
        assert_eq!(code, 1, "{said}");
        assert!(said.starts_with(&format!("{loader}\n")), "{loader}\n---\n{said}");
        let (code, said) = run(&["check", "--format", "json"], Some(&file));
        let said: Value = serde_json::from_str(&said).unwrap();
        let messages: Vec<_> = said["faults"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["message"].as_str())
            .collect();
        let loaders: Vec<_> = loader.faults().iter().map(|fault| Some(fault.message())).collect();
        assert_eq!((code, messages), (1, loaders));
    }
    for file in samples("good") {
        assert_eq!(run(&["check"], Some(&file)).0, 0, "{}", file.display());
    }
}

fn schema() -> Value {
    serde_json::from_str(&run(&["schema"], None).1).unwrap()
}

/// What an editor makes of a file; nothing where the syntax is at fault, which editors tell without a schema.
fn as_json(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}');
    let tree = DeTable::parse(text).ok()?;
    Some(table(tree.get_ref()))
}

fn table(table: &DeTable<'_>) -> Value {
    let entries = table
        .iter()
        .map(|(key, value)| (key.get_ref().to_string(), value_of(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Boolean(is) => json!(is),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_or_else(|_| json!(number.as_str()), |number| json!(number))
        }
        // What is no number has no JSON either; as a text it is as wrong.
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map_or_else(|| json!(number.as_str()), |number| json!(number)),
        DeValue::Datetime(moment) => json!(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
    }
}

/// What a schema cannot know: what follows from two keys, from the names of other tables, or from how a number is
/// spelt.
fn is_beyond_a_schema(fault: &Fault) -> bool {
    let reached = ["timeout", "max_concurrent", "slow_after"];
    let needs_another = fault.name() == "missing_key" && reached.iter().any(|key| fault.key().ends_with(key));
    let spelling = fault.message().contains("is a decimal number") || fault.message().contains("not the fraction");
    let words = fault.message().contains("a word of the file") || fault.message().contains("holds `__`");
    matches!(fault.name(), "contradiction" | "unknown_name")
        || fault.message().contains("differ only")
        || needs_another
        || spelling
        || words
}

#[test]
fn the_schema_agrees_with_the_loader_on_every_sample() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for file in samples("good") {
        let value = as_json(&fs::read(&file).unwrap()).unwrap();
        let faults: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:?}", file.display());
    }
    let mut judged = BTreeMap::new();
    for file in samples("bad") {
        let Some(value) = as_json(&fs::read(&file).unwrap()) else {
            continue;
        };
        let error = Policy::read(&file).unwrap_err();
        let known = error.faults().iter().any(|fault| !is_beyond_a_schema(fault));
        assert_eq!(!validator.is_valid(&value), known, "{}: {error}", file.display());
        judged.insert(file, known);
    }
    // Most samples are faults of values, which a schema knows.
    assert!(judged.values().filter(|known| **known).count() >= 12, "{judged:?}");
}

/// Each fault of a sample by itself: a schema that knew one of many would pass above.
#[test]
fn the_schema_refuses_each_value_that_the_loader_refuses_for_itself() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let with = |lines: &str| format!("version = 1\n[dependency.x]\nfail = \"open\"\ntimeout = \"1s\"\n{lines}\n");
    let is_good = |lines: &str| validator.is_valid(&as_json(with(lines).as_bytes()).unwrap());
    for lines in [
        "deadline = 30",
        "deadline = \"30\"",
        "deadline = \"30S\"",
        "deadline = \" 30s \"",
        "deadline = \"\"",
        "deadline = \"0s\"",
        "deadline = \"1d\"",
        "breaker.failure_rate = 50",
        "breaker.failure_rate = 0.0",
        "breaker.failure_rate = true",
        "breaker.failure_rte = 0.5",
        "breaker.window = \"0 calls\"",
        "breaker.window = 20",
        "breaker.minimum_calls = 0",
        "breaker.cooldown_jitter = 1.0",
        "breaker.ramp = [0.0]",
        "breaker = true",
        "bulkhead.max_concurrent = -1",
        "retry.max_attempts = 101",
        "mode = \"enforced\"",
        "failures = [\"timeouts\"]",
        "uses = \"postgres\"",
        "operation.refund.inherits = \"http\"",
    ] {
        assert!(Policy::from_toml(&with(lines)).is_err(), "the loader takes `{lines}`");
        assert!(!is_good(lines), "the schema takes `{lines}`");
    }
    for lines in [
        "deadline = \"1m30s\"",
        "breaker = false",
        "breaker.failure_rate = false",
        "breaker.window = \"1.5s\"",
        "bulkhead = { max_concurrent = 1, max_wait = \"0s\" }",
        "operation.refund.timeout = \"10s\"",
    ] {
        Policy::from_toml(&with(lines)).unwrap();
        assert!(is_good(lines), "the schema refuses `{lines}`");
    }
}

/// As an editor does it: the file names its schema in a comment, and a checker of TOML reads it.
#[test]
fn an_editors_checker_reads_the_schema_that_the_file_names() {
    if Command::new("tombi").arg("--version").output().is_err() {
        let must = std::env::var_os("RESILIENCE_REQUIRE_SERVERS").is_some_and(|set| set == "1");
        assert!(!must, "`tombi` is missing: pip install tombi");
        eprintln!("passed over: `tombi` is missing (pip install tombi)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("schema.json"), schema().to_string()).unwrap();
    let lint = |text: &str| {
        let file = folder.path().join("resilience.toml");
        fs::write(&file, format!("#:schema ./schema.json\n{text}")).unwrap();
        let done = Command::new("tombi")
            .args(["lint", "--offline"])
            .arg(&file)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        (done.status.success(), said)
    };
    let good =
        "version = 1\n\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\nbreaker = { failure_rate = 0.5 }\n";
    let (is_good, said) = lint(good);
    assert!(is_good, "{said}");
    for (from, to) in [
        ("\"3s\"", "3"),
        ("0.5", "50"),
        ("failure_rate", "failure_rte"),
        ("fail = \"closed\"\n", ""),
        ("\"closed\"", "\"shut\""),
    ] {
        let (is_good, said) = lint(&good.replace(from, to));
        assert!(!is_good, "`{to}` for `{from}`: {said}");
    }
}
