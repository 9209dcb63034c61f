//! Rows that need other features than this program has.

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};

use benches::measure::{Group, Row};
use benches::stats::Samples;

const ROWS: [&str; 5] = [
    "alone-observed",
    "three-observed",
    "open-observed",
    "by-hand-unseen",
    "by-hand-observed",
];

/// The rows of `observed`, which is built and run here.
pub fn observed(rounds: u32) -> Result<Group, Box<dyn Error>> {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "run",
            "--release",
            "--quiet",
            "--features",
            "metrics",
            "--bin",
            "observed",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .args(["--", &rounds.to_string()])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("`observed` ended with {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let rows: Vec<_> = text.lines().map(row).collect::<Result<_, _>>()?;
    if rows.len() != ROWS.len() {
        return Err(format!("`observed` printed {} rows, {} were expected", rows.len(), ROWS.len()).into());
    }
    Ok(Group {
        title: "Metrics and events on",
        note: "Built with the feature `metrics`, a Prometheus recorder and a log at level info installed, and the thread that keeps the \
               metrics running, as in a service. Ours then counts by outcome and by who answered, keeps the state of each layer, and \
               times one busy call in 64; by hand it is one counter and one histogram for each call.",
        rows,
    })
}

fn row(line: &str) -> Result<Row, Box<dyn Error>> {
    let parts: Vec<_> = line.split('\t').collect();
    let [id, name, allocations, values] = parts[..] else {
        return Err(format!("`observed` printed `{line}`").into());
    };
    let id = ROWS.into_iter().find(|known| *known == id).ok_or("an unknown row")?;
    let mut samples = Samples::default();
    for value in values.split(',') {
        samples.add(value.parse()?);
    }
    Ok(Row::seen(id, name.to_owned(), allocations.parse()?, samples))
}
