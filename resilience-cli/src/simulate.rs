//! `simulate`: the layers that run in production, on a virtual clock, against described or recorded traffic.

mod engine;
mod output;
mod picture;
mod progress;
mod replay;
pub(crate) mod report;
pub(crate) mod scenario;

use std::io::{self, Write};
use std::path::Path;

use resilience_policy::{Fault, Policy, PolicyError, lookup};

use crate::UNREADABLE;
use crate::args::{Simulate, Table};
use crate::check;
use output::Run;
use report::Report;
use scenario::Scenario;

pub(crate) fn run(options: &Simulate, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    if options.is_replay() {
        return replay::run(options, out, err);
    }
    match read(options) {
        Ok((scenario, policies)) => show(&scenario, &policies, options, out, err),
        Err(error) => refuse(options, &error, out, err),
    }
}

/// Runs what was asked for, prints it, and draws it.
fn show(
    scenario: &Scenario,
    policies: &[Policy],
    options: &Simulate,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let runs = all(scenario, policies, options.without);
    output::print(scenario, &runs, options, out)?;
    match &options.svg {
        Some(file) => save(file, &picture::draw(scenario, &runs, policies), err),
        None => Ok(0),
    }
}

fn refuse(options: &Simulate, error: &PolicyError, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    check::unreadable(options.format.plain(), error, out, err)?;
    Ok(if error.is_unreadable() { UNREADABLE } else { 1 })
}

/// The policies that recorded traffic is to meet, or the faults of all of them.
fn policies(options: &Simulate) -> Result<Vec<Policy>, PolicyError> {
    let mut policies = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    for path in paths(options)? {
        match Policy::read(&path) {
            Ok(policy) => policies.push(policy),
            Err(error) if error.is_unreadable() => return Err(error),
            Err(error) => faults.extend_from_slice(error.faults()),
        }
    }
    if faults.is_empty() {
        Ok(policies)
    } else {
        Err(PolicyError::of(faults))
    }
}

/// Writes the picture whole.
fn save(file: &Path, svg: &str, err: &mut dyn Write) -> io::Result<u8> {
    match std::fs::write(file, svg) {
        Ok(()) => Ok(0),
        Err(error) => {
            writeln!(err, "cannot write `{}`: {error}", file.display())?;
            Ok(UNREADABLE)
        }
    }
}

/// The scenario and the policies, or the faults of all of them.
fn read(options: &Simulate) -> Result<(Scenario, Vec<Policy>), PolicyError> {
    let file = options.scenario.to_string_lossy();
    let bytes = lookup::bytes(&options.scenario)?;
    let scenario = scenario::read(&bytes, &file);
    let mut policies = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    for path in paths(options)? {
        match Policy::read(&path) {
            Ok(policy) => policies.push(policy),
            Err(error) if error.is_unreadable() => return Err(error),
            Err(error) => faults.extend_from_slice(error.faults()),
        }
    }
    match &scenario {
        Ok(scenario) => {
            for policy in &policies {
                faults.extend(scenario.unknown_names(&bytes, &file, policy));
            }
        }
        Err(error) => faults.extend_from_slice(error.faults()),
    }
    match scenario {
        Ok(scenario) if faults.is_empty() => Ok((scenario, policies)),
        _ => Err(PolicyError::of(faults)),
    }
}

fn paths(options: &Simulate) -> Result<Vec<std::path::PathBuf>, PolicyError> {
    if !options.policy.is_empty() {
        return Ok(options.policy.clone());
    }
    let found = lookup::at_run_time(None)?;
    Ok(vec![found.unwrap_or_else(|| Path::new(lookup::FILE).to_path_buf())])
}

/// Every run that was asked for: each policy, and then without guards.
fn all(scenario: &Scenario, policies: &[Policy], without: bool) -> Vec<Run> {
    let guarded = policies.iter().map(|policy| Run {
        title: policy.file().display().to_string(),
        report: simulate(scenario, Some(policy)),
    });
    let bare = without.then(|| Run {
        title: "without guards".into(),
        report: simulate(scenario, None),
    });
    guarded.chain(bare).collect()
}

/// Runs a scenario under a policy, or without any guard.
pub(crate) fn simulate(scenario: &Scenario, policy: Option<&Policy>) -> Report {
    let progress = progress::Progress::new();
    engine::run(scenario, policy, |share| progress.tell(share))
}

impl Table {
    /// The format of faults: they are not rows.
    fn plain(self) -> crate::args::Format {
        match self {
            Self::Json => crate::args::Format::Json,
            Self::Text | Self::Csv => crate::args::Format::Text,
        }
    }
}
