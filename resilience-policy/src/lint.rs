//! What a policy allows and its author probably did not mean. Each lint is one small function; a finding carries the
//! figures it rests on, and its cure.

mod evidence;
mod recovery;
mod room;
mod shared;

use crate::diff::path;
use crate::fault::Fault;
use crate::figures::Figures;
use crate::locate::Text;
use crate::names::sorted;
use crate::policy::{Breaker, Bulkhead, Dependency, Policy};
use crate::provenance::Origin;
use crate::reference::Id;
use crate::words::Evidence;

/// What one lint has to say.
struct Finding {
    /// The key it stands at.
    at: Id,
    message: String,
    numbers: Vec<(&'static str, f64)>,
}

impl Finding {
    #[allow(clippy::unnecessary_wraps)] // a lint ends in `found` or in nothing
    fn found(at: Id, message: String, numbers: &[(&'static str, f64)]) -> Option<Self> {
        Some(Self {
            at,
            message,
            numbers: numbers.to_vec(),
        })
    }
}

/// A dependency or operation, with the layers that are its own: what an operation shares is told of its dependency.
struct Subject<'a> {
    dependency: &'a Dependency,
    breaker: Option<&'a Breaker>,
    bulkhead: Option<&'a Bulkhead>,
    figures: Figures,
    /// Whether it judges with its fleet where it is too quiet to judge alone.
    pooled: bool,
}

/// The lint's name, the keys that must not be doubtful for it, and itself.
type Lint = (&'static str, &'static [Id], fn(&Subject<'_>) -> Option<Finding>);

/// Every finding in a policy. `text` is what it was read from; it gives the places.
pub fn lint(policy: &Policy, text: &str) -> Vec<Fault> {
    let text = Text::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let file = policy.file().to_string_lossy();
    let mut faults = Vec::new();
    for dependency in policy.dependencies() {
        let subject = Subject {
            dependency,
            breaker: dependency.breaker.as_ref().filter(|_| !dependency.breaker_shared),
            bulkhead: dependency.bulkhead.as_ref().filter(|_| !dependency.slots_shared),
            figures: Figures::of(dependency),
            pooled: policy.fleet().is_some_and(|fleet| fleet.evidence == Evidence::Pooled),
        };
        for (name, rests_on, lint) in evidence::LINTS.iter().chain(recovery::LINTS).chain(room::LINTS) {
            let doubtful = rests_on.iter().any(|id| dependency.doubtful.contains(id));
            if doubtful || !is_own(dependency, rests_on) {
                continue;
            }
            if let Some(finding) = lint(&subject) {
                let key = finding.at.key();
                let mut fault = Fault::named(
                    name,
                    &file,
                    format!("{}.{}", path(dependency), key.path),
                    finding.message,
                );
                fault.numbers = finding.numbers;
                faults.push(placed(fault, &text, dependency, finding.at));
            }
        }
    }
    faults.extend(shared::mixed_operations(policy, &file, &text));
    faults.extend(shared::resource_oversubscribed(policy, &file, &text));
    sorted(faults, |one, other| {
        (one.line(), one.column()).cmp(&(other.line(), other.column()))
    })
}

/// Whether anything a lint rests on stands in the operation itself: what it only takes over is told of its dependency.
fn is_own(dependency: &Dependency, rests_on: &[Id]) -> bool {
    let own = |id: &Id| {
        let value = dependency.effective(*id);
        value.is_some_and(|value| matches!(value.from, Origin::Own | Origin::Environment))
    };
    dependency.parent.is_none() || rests_on.iter().any(own)
}

/// At the line that gives the value; where it is built in, at the dependency's header.
fn placed(mut fault: Fault, text: &Text<'_>, dependency: &Dependency, id: Id) -> Fault {
    let value = dependency.effective(id);
    if let Some(value) = &value {
        fault.value = Some(value.value.to_string());
        if value.from == Origin::Environment {
            if let Some(variable) = &value.file {
                fault.file = variable.as_ref().into();
            }
            return fault;
        }
    }
    at_line(
        fault,
        text,
        value.and_then(|value| value.line).unwrap_or(dependency.line),
    )
}

fn at_line(fault: Fault, text: &Text<'_>, line: u32) -> Fault {
    let index = (line as usize).saturating_sub(1).min(text.lines() - 1);
    let range = text.line_range(index);
    let written = text.line(index);
    let start = range.start + (written.len() - written.trim_start().len());
    let key_end = written
        .find('=')
        .map_or(range.end, |at| range.start + written[..at].trim_end().len());
    fault.at(text, &(start..key_end.max(start)))
}

/// A figure as it stands in a message: at most three digits after the point, none of them for show.
fn figure(number: f64) -> String {
    if number.fract().abs() < 5e-4 {
        return format!("{number:.0}");
    }
    let digits = if number.abs() < 0.1 { 3 } else { 2 };
    let text = format!("{number:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether `left` is above `right` by more than rounding.
fn above(left: f64, right: f64) -> bool {
    left > right * (1.0 + 1e-9)
}

/// The least whole number that is not below; rates are no binary fractions, so a hair above counts as equal.
fn ceil(number: f64) -> f64 {
    (number - 1e-9).ceil()
}
