//! `diff`: what a newer policy changes.

use std::io::{self, Write};
use std::path::Path;

use resilience_policy::{Change, Policy, PolicyError, grouped};
use serde_json::json;

use crate::UNREADABLE;
use crate::args::{Diff, Format};
use crate::json;

/// So many dependencies with the same change are told as one.
const GROUPED: usize = 4;

pub(crate) fn run(options: &Diff, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let read = |file: &Path| Policy::read(file);
    let (old, new) = match (read(&options.old), read(&options.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            let errors: Vec<PolicyError> = [old.err(), new.err()].into_iter().flatten().collect();
            for error in errors {
                writeln!(err, "{error}")?;
            }
            return Ok(UNREADABLE);
        }
    };
    let changes = old.diff(&new);
    match options.format {
        Format::Json => print_json(&changes, out)?,
        Format::Text => print_text(&changes, &options.new, out)?,
    }
    Ok(u8::from(!changes.is_empty()))
}

fn print_json(changes: &[Change], out: &mut dyn Write) -> io::Result<()> {
    let changes: Vec<_> = changes
        .iter()
        .map(|change| {
            json!({
                "key": change.key(),
                "old": change.old_value().map(json::value),
                "new": change.new_value().map(json::value),
                "line": change.line(),
                "effect": change.effect(),
            })
        })
        .collect();
    writeln!(out, "{:#}", json!({ "changes": changes }))
}

fn print_text(changes: &[Change], file: &Path, out: &mut dyn Write) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(out, "no effective value changes");
    }
    for same in grouped(changes) {
        let first = same[0];
        let place = |change: &Change| {
            change
                .line()
                .map_or(String::new(), |line| format!("  ({}:{line})", file.display()))
        };
        if same.len() >= GROUPED {
            let key = first.path();
            writeln!(
                out,
                "{} dependencies: {key}: {} → {}{}",
                same.len(),
                first.old(),
                first.new(),
                place(first)
            )?;
        } else {
            for change in &same {
                writeln!(
                    out,
                    "{}: {} → {}{}",
                    change.key(),
                    change.old(),
                    change.new(),
                    place(change)
                )?;
            }
        }
        writeln!(out, "    {}", first.effect())?;
    }
    Ok(())
}
