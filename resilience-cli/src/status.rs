//! `status`: what a running service says of itself, worst first.

mod advice;
mod seen;
mod words;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::UNREADABLE;
use crate::args::{Format, Status};
use crate::check::plural;
use crate::fetch::fetch;

use seen::{Dependency, Snapshot, Untried};
use words::Told;

pub(crate) fn run(options: &Status, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let (snapshot, now) = match read(&options.from) {
        Ok(read) => read,
        Err(why) => {
            writeln!(err, "{why}")?;
            return Ok(UNREADABLE);
        }
    };
    let mut told: Vec<Told<'_>> = snapshot
        .dependencies
        .iter()
        .map(|(name, one)| words::tell(name, one, now))
        .collect();
    // What is equally bad stays in the order of the names.
    told.sort_by_key(|one| one.rank);
    match options.format {
        Format::Json => writeln!(out, "{:#}", report(&snapshot, &told))?,
        Format::Text => {
            let mut text = Vec::new();
            print(&snapshot, &told, now, &mut text)?;
            // What another process says may not move the cursor of this terminal.
            let text = String::from_utf8_lossy(&text).replace(|c: char| c.is_control() && c != '\n', "?");
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(u8::from(!is_well(&snapshot, &told)))
}

/// A snapshot, and when it was true.
fn read(from: &str) -> Result<(Snapshot, f64), String> {
    let fetched = fetch(from)?;
    let snapshot = serde_json::from_str(&fetched.text);
    let snapshot = snapshot.map_err(|error| format!("`{from}` is no snapshot: {error}"))?;
    Ok((snapshot, seconds(fetched.at)))
}

/// What never ran of the fallbacks of one dependency in a service.
pub(crate) struct NeverRan {
    /// Of no function of it.
    pub(crate) kinds: Vec<String>,
    /// Function by function, which older services do not tell.
    pub(crate) forms: Option<Vec<Untried>>,
}

/// The fallbacks that never ran in a service, by dependency.
pub(crate) fn never_ran(from: &str) -> Result<BTreeMap<String, NeverRan>, String> {
    let (snapshot, _) = read(from)?;
    let of = |(name, one): (String, Dependency)| {
        let never = NeverRan {
            kinds: one.never_ran,
            forms: one.untried,
        };
        (name, never)
    };
    Ok(snapshot.dependencies.into_iter().map(of).collect())
}

/// Nothing is refused by a breaker or by hand, and the policy in force is that of the file.
fn is_well(snapshot: &Snapshot, told: &[Told<'_>]) -> bool {
    !snapshot.policy.stale && snapshot.policy.refusal.is_none() && told.iter().all(|one| !one.rank.refuses())
}

fn print(snapshot: &Snapshot, told: &[Told<'_>], now: f64, out: &mut dyn Write) -> io::Result<()> {
    let policy = &snapshot.policy;
    writeln!(out, "{}: policy {} of {}", snapshot.instance, policy.hash, policy.file)?;
    if let Some(loaded) = policy.loaded_at {
        writeln!(out, "  in force for {}", words::lasting(now - loaded))?;
    }
    if let Some(refusal) = &policy.refusal {
        let first = refusal.lines().next().unwrap_or_default();
        writeln!(
            out,
            "  the file was refused, and what was good before stays in force: {first}"
        )?;
        writeln!(out, "  → `resilience check {}` shows every fault", policy.file)?;
    } else if policy.stale {
        writeln!(
            out,
            "  the file differs from what is in force: `resilience check {}`",
            policy.file
        )?;
    }
    let (quiet, loud): (Vec<&Told<'_>>, Vec<&Told<'_>>) = told.iter().partition(|one| one.rank.is_quiet());
    for one in &loud {
        writeln!(out, "\n{}: {}", one.name, one.state)?;
        for line in &one.lines {
            writeln!(out, "  {line}")?;
        }
        for advice in &one.advice {
            writeln!(out, "  → {advice}")?;
        }
    }
    if !quiet.is_empty() {
        let names: Vec<&str> = quiet.iter().map(|one| one.name).collect();
        writeln!(out, "\nwell: {}", names.join(", "))?;
    }
    let refusing = told.iter().filter(|one| one.rank.refuses()).count();
    let all = plural(told.len(), "dependency or operation", "dependencies and operations");
    writeln!(out, "\n{all}, {} of them refusing, {} to look at", refusing, loud.len())
}

/// Worst first, with the snapshot's own figures beside the words.
fn report(snapshot: &Snapshot, told: &[Told<'_>]) -> Value {
    let of = |one: &Told<'_>| {
        let seen: &Dependency = one.seen;
        json!({
            "name": one.name,
            "rank": one.rank.as_str(),
            "state": seen.state,
            "mode": seen.mode,
            "words": one.state,
            "lines": one.lines,
            "advice": one.advice,
            "for_s": one.for_s,
            "retry_after": seen.retry_after,
        })
    };
    let policy = &snapshot.policy;
    json!({
        "instance": snapshot.instance,
        "ok": is_well(snapshot, told),
        "policy": { "hash": policy.hash, "file": policy.file, "stale": policy.stale, "refusal": policy.refusal },
        "dependencies": told.iter().map(of).collect::<Vec<_>>(),
    })
}

fn seconds(moment: SystemTime) -> f64 {
    moment
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
