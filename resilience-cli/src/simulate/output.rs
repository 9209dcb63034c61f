//! A report on its way out: JSON, rows for a spreadsheet, or a text for people.

mod csv;
mod differs;
mod text;

use std::io::{self, Write};

use serde::Serialize;

use super::report::Report;
use super::scenario::Scenario;
use crate::args::{Simulate, Table};
use differs::Difference;

/// A report and what it is about.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) title: String,
    pub(crate) report: Report,
}

/// The first run in the shape of one, and the others beside it.
#[derive(Serialize)]
struct Beside<'r> {
    #[serde(flatten)]
    first: &'r Report,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "beside")]
    others: Vec<Titled<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs: Vec<Difference>,
}

#[derive(Serialize)]
struct Titled<'r> {
    title: &'r str,
    #[serde(flatten)]
    report: &'r Report,
}

pub(crate) fn print(scenario: &Scenario, runs: &[Run], options: &Simulate, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    match options.format {
        Table::Json => {
            json(runs, &mut out)?;
            writeln!(out)?;
        }
        Table::Csv => csv::print(runs, &mut out)?,
        Table::Text => text::print(scenario, runs, options.seconds, &mut out)?,
    }
    out.flush()
}

fn json(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let [first, beside @ ..] = runs else { return Ok(()) };
    let beside = Beside {
        first: &first.report,
        others: beside
            .iter()
            .map(|run| Titled {
                title: &run.title,
                report: &run.report,
            })
            .collect(),
        differs: differs::all(runs),
    };
    serde_json::to_writer(out, &beside).map_err(io::Error::from)
}
