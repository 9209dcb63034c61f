//! `suggest`: numbers from recorded calls, as a difference to the policy, each with its reason and its evidence.

mod advice;
mod edit;
mod evidence;
mod print;
mod rules;
mod statistics;

pub(crate) use print::unreadable;

use std::io::{self, Write};
use std::path::Path;

use resilience_policy::{Policy, PolicyError, lookup};

use crate::UNREADABLE;
use crate::args::{Format, Suggest};
use crate::trace::{Call, Trace, Unreadable};
use advice::Advice;
use evidence::Evidence;

/// What is said of a trace.
struct Report {
    trace: Trace,
    /// The policy file, read or to be.
    file: String,
    dependencies: Vec<(String, Evidence, Advice)>,
    edited: edit::Edited,
    notes: Vec<String>,
}

pub(crate) fn run(options: &Suggest, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match report(options) {
        Ok(report) => {
            match options.format {
                Format::Text => print::text(&report, out)?,
                Format::Json => print::json(&report, out)?,
            }
            Ok(0)
        }
        Err(Stop::Trace(unreadable)) => {
            print::unreadable(options.format, &unreadable, &options.trace, out, err)?;
            Ok(UNREADABLE)
        }
        Err(Stop::Policy(error)) => {
            crate::check::unreadable(options.format, &error, out, err)?;
            Ok(UNREADABLE)
        }
    }
}

enum Stop {
    Trace(Unreadable),
    Policy(PolicyError),
}

impl From<Unreadable> for Stop {
    fn from(unreadable: Unreadable) -> Self {
        Self::Trace(unreadable)
    }
}

impl From<PolicyError> for Stop {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

fn report(options: &Suggest) -> Result<Report, Stop> {
    let trace = Trace::read(&options.trace, options.trace_format)?;
    let base = Base::find(options.policy.as_deref())?;
    let mut notes = Vec::new();
    let subjects = subjects(&trace, base.policy.as_ref(), options, &mut notes)?;
    let mut dependencies = Vec::new();
    for (name, calls) in subjects {
        let now = base.policy.as_ref().and_then(|policy| policy.dependency(&name));
        let named = u32::try_from(trace.instances.words().len()).unwrap_or(u32::MAX);
        let instances = options
            .instances
            .or_else(|| Some(named).filter(|named| *named > 1))
            .or_else(|| now.and_then(|now| now.traffic.instances))
            .unwrap_or(1);
        let evidence = Evidence::of(&calls, instances);
        let advice = rules::advise(&evidence, now);
        dependencies.push((name, evidence, advice));
    }
    let advice: Vec<(String, Advice)> = dependencies
        .iter()
        .map(|(name, _, advice)| (name.clone(), advice.clone()))
        .collect();
    let edited = edit::edit(&base.text, &base.file, &advice)?;
    Ok(Report {
        trace,
        file: base.file,
        dependencies,
        edited,
        notes,
    })
}

/// The policy that the numbers are to go into.
struct Base {
    file: String,
    text: String,
    policy: Option<Policy>,
}

impl Base {
    /// The file that was named, or the one that a running service would find; none is an empty one.
    fn find(argument: Option<&Path>) -> Result<Self, PolicyError> {
        let found = lookup::at_run_time(argument)?;
        let file = match (argument, found) {
            (_, Some(file)) => Some(file),
            (Some(file), None) => Some(file.to_owned()),
            (None, None) => None,
        };
        let Some(file) = file else {
            return Ok(Self {
                file: lookup::FILE.into(),
                text: String::new(),
                policy: None,
            });
        };
        let bytes = lookup::bytes(&file)?;
        let policy = Policy::parse(&bytes, &file, &[])?;
        Ok(Self {
            file: file.display().to_string(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            policy: Some(policy),
        })
    }
}

/// The dependencies that the trace is about, each with its calls.
fn subjects(
    trace: &Trace,
    policy: Option<&Policy>,
    options: &Suggest,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, Vec<Call>)>, Unreadable> {
    let wanted = options.dependency.as_deref();
    let of = |number: Option<u32>| -> Vec<Call> {
        let is_of = |call: &&Call| call.dependency == number;
        trace.calls.iter().filter(is_of).copied().collect()
    };
    if trace.dependencies.words().is_empty() {
        let name = match wanted {
            Some(name) => name.to_owned(),
            None => name_of(&options.trace, policy)?,
        };
        let name = checked(&name)?;
        return Ok(vec![(name, trace.calls.clone())]);
    }
    if let Some(name) = wanted {
        if let Some(number) = trace.dependencies.find(name) {
            return Ok(vec![(checked(name)?, of(Some(number)))]);
        }
        // An operation's or a host's name of one's own for the only dependency in it.
        if let [only] = trace.dependencies.words() {
            notes.push(format!("the trace calls it `{only}`"));
            return Ok(vec![(checked(name)?, trace.calls.clone())]);
        }
        return Err(Unreadable::plain(format!(
            "`{}` has no calls of `{name}`; it has those of {}",
            trace.file,
            listed(trace.dependencies.words())
        )));
    }
    let mut subjects = Vec::new();
    for (number, name) in trace.dependencies.words().iter().enumerate() {
        match checked(name) {
            Ok(name) => subjects.push((name, of(u32::try_from(number).ok()))),
            Err(error) => notes.push(format!(
                "{}; `--dependency` gives its calls another name",
                error.message
            )),
        }
    }
    if trace.calls.iter().any(|call| call.dependency.is_none()) {
        notes.push("calls without a dependency were left out".into());
    }
    if subjects.is_empty() {
        return Err(Unreadable::plain(notes.join("\n")));
    }
    subjects.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(subjects)
}

/// Nobody said what the calls are of: the policy's only dependency, or what the file is named after.
pub(crate) fn name_of(trace: &Path, policy: Option<&Policy>) -> Result<String, Unreadable> {
    let stem = trace
        .file_stem()
        .map(|stem| stem.to_string_lossy().to_ascii_lowercase());
    let stem = stem.unwrap_or_default();
    let Some(policy) = policy else {
        return Ok(if checked(&stem).is_ok() {
            stem
        } else {
            "upstream".into()
        });
    };
    let names: Vec<String> = policy
        .dependencies()
        .filter(|dependency| dependency.parent.is_none())
        .map(|dependency| dependency.name.clone())
        .collect();
    match &names[..] {
        [only] => Ok(only.clone()),
        _ if names.contains(&stem) => Ok(stem),
        _ => Err(Unreadable::plain(format!(
            "the calls of `{}` name no dependency; say which with `--dependency`: {}",
            trace.display(),
            listed(&names)
        ))),
    }
}

/// A name that can stand in a policy.
fn checked(name: &str) -> Result<String, Unreadable> {
    let (dependency, operation) = name.split_once('.').unwrap_or((name, "x"));
    let text = format!(
        "version = 1\n[dependency.\"{dependency}\"]\nfail = \"closed\"\n[dependency.\"{dependency}\".operation.\"{operation}\"]\n"
    );
    let quoted = name.contains(['"', '\\', '\n', '\r']);
    if !quoted && Policy::from_toml(&text).is_ok() {
        return Ok(name.to_owned());
    }
    Err(Unreadable::plain(format!(
        "`{name}` cannot be the name of a dependency: 1 to 64 of a-z, 0-9, `_` and `-`, first a letter"
    )))
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
