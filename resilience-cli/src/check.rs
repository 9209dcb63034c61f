//! `check`: the loader's own verdict, then the lints.

use std::io::{self, Write};

use resilience_policy::{Fault, PolicyError, lint};
use serde_json::json;

use crate::UNREADABLE;
use crate::args::{Check, CheckFormat, Format};
use crate::source::{self, Source};
use crate::{github, json};

/// How many findings are printed as text.
const PRINTED: usize = 50;

pub(crate) fn run(options: &Check, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match source::open(options.file.as_deref(), options.env) {
        Ok(source) => report(options, &source, out),
        Err(error) => {
            match options.format {
                CheckFormat::Text => unreadable(Format::Text, &error, out, err)?,
                CheckFormat::Json => unreadable(Format::Json, &error, out, err)?,
                CheckFormat::Github => annotate(Some(&error), &[], out)?,
            }
            Ok(UNREADABLE)
        }
    }
}

fn report(options: &Check, source: &Source, out: &mut dyn Write) -> io::Result<u8> {
    let error = source.inspection.error.as_ref();
    let warnings = lint(&source.inspection.policy, &source.text);
    let ok = error.is_none() && (warnings.is_empty() || !options.deny_warnings);
    match options.format {
        CheckFormat::Json => print_json(&source.file.to_string_lossy(), ok, error, &warnings, out)?,
        CheckFormat::Text => print_text(source, error, &warnings, out)?,
        CheckFormat::Github => {
            annotate(error, &warnings, out)?;
            writeln!(out, "{}", verdict(source, error, &warnings))?;
        }
    }
    let cannot_read = error.is_some_and(PolicyError::is_unreadable);
    Ok(if cannot_read { UNREADABLE } else { u8::from(!ok) })
}

fn print_text(source: &Source, error: Option<&PolicyError>, warnings: &[Fault], out: &mut dyn Write) -> io::Result<()> {
    if let Some(error) = error {
        writeln!(out, "{error}\n")?;
    }
    for warning in warnings.iter().take(PRINTED) {
        writeln!(out, "{warning}\n   lint: {}\n", warning.name())?;
    }
    if warnings.len() > PRINTED {
        writeln!(out, "… and {} more warnings\n", warnings.len() - PRINTED)?;
    }
    writeln!(out, "{}", verdict(source, error, warnings))
}

fn annotate(error: Option<&PolicyError>, warnings: &[Fault], out: &mut dyn Write) -> io::Result<()> {
    for fault in error.map_or(&[][..], PolicyError::faults) {
        github::annotate("error", fault, out)?;
    }
    for warning in warnings {
        github::annotate("warning", warning, out)?;
    }
    Ok(())
}

/// The last line: how many of what.
fn verdict(source: &Source, error: Option<&PolicyError>, warnings: &[Fault]) -> String {
    let file = source.file.display();
    let warned = counted(warnings.len(), "warning");
    if let Some(error) = error {
        return format!("{file}: {}, {warned}", counted(error.total(), "fault"));
    }
    let policy = &source.inspection.policy;
    let operations = policy
        .dependencies()
        .filter(|dependency| dependency.parent.is_some())
        .count();
    let dependencies = policy.dependencies().count() - operations;
    let dependencies = plural(dependencies, "dependency", "dependencies");
    let operations = counted(operations, "operation");
    format!(
        "{file} is good: {dependencies}, {operations}, {warned}, hash {}",
        policy.hash()
    )
}

fn print_json(
    file: &str,
    ok: bool,
    error: Option<&PolicyError>,
    warnings: &[Fault],
    out: &mut dyn Write,
) -> io::Result<()> {
    let faults = error.map_or(&[][..], PolicyError::faults);
    let list = |faults: &[Fault]| faults.iter().map(json::fault).collect::<Vec<_>>();
    let mut report = json!({ "file": file, "ok": ok, "faults": list(faults), "warnings": list(warnings) });
    let more = error.map_or(0, |error| error.total() - faults.len());
    if more > 0 {
        report["more"] = json!(more);
    }
    writeln!(out, "{report:#}")
}

/// What could not be read, in the command's own shape.
pub(crate) fn unreadable(
    format: Format,
    error: &PolicyError,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => writeln!(err, "{error}"),
        Format::Json => {
            let file = error.faults().first().map_or("", Fault::file).to_owned();
            print_json(&file, false, Some(error), &[], out)
        }
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    plural(count, noun, &format!("{noun}s"))
}

pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
