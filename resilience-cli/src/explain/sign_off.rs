//! The table that people sign: what may be answered when a dependency fails, and who decided it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use resilience_policy::{Dependency, Fail, Policy, format_duration as time};

/// Every dependency and operation, as a Markdown table; with the fallbacks of the source, where that was read.
pub(super) fn table(policy: &Policy, forms: Option<&BTreeMap<String, BTreeSet<String>>>) -> String {
    let mut text = String::from(
        "| dependency | what it is | fail | a caller may get | agreed | clients see | layers | fallback | uses |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for dependency in policy.dependencies() {
        let fallback = &dependency.fallback;
        let bounds = match dependency.fail {
            Fail::Closed => "refuses".into(),
            Fail::Open => format!(
                "{} slots, {}, stale up to {}",
                fallback.max_concurrent,
                time(fallback.timeout),
                time(fallback.max_stale)
            ),
        };
        let written = forms.map(|forms| match forms.get(&dependency.name) {
            Some(forms) => forms
                .iter()
                .map(|form| format!("`{form}`"))
                .collect::<Vec<_>>()
                .join("; "),
            None => "no code names it".into(),
        });
        let bounds = match written {
            Some(written) if dependency.fail == Fail::Open => format!("{written} ({bounds})"),
            Some(written) => written,
            None => bounds,
        };
        let cells = [
            format!("`{}`", dependency.name),
            dependency.about.clone().unwrap_or_default(),
            dependency.fail.to_string(),
            may_get(dependency).into(),
            dependency.agreed.clone().unwrap_or_else(|| "nobody yet".into()),
            dependency.label.clone().unwrap_or_else(|| "no name".into()),
            layers(dependency),
            bounds,
            dependency.uses.join(", "),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// One sentence on `fail`.
pub(super) fn decision(dependency: &Dependency) -> String {
    let agreed = dependency
        .agreed
        .as_ref()
        .map_or_else(|| "nobody has signed".into(), |who| format!("agreed by {who}"));
    format!("fail = \"{}\": {}; {agreed}", dependency.fail, may_get(dependency))
}

fn may_get(dependency: &Dependency) -> &'static str {
    match dependency.fail {
        Fail::Closed => "an error, nothing made up",
        Fail::Open => "something lesser instead of an error",
    }
}

fn layers(dependency: &Dependency) -> String {
    let layers = [
        ("deadline", dependency.deadline.is_some()),
        ("bulkhead", dependency.bulkhead.is_some()),
        ("retry", dependency.retry.is_some()),
        ("breaker", dependency.breaker.is_some()),
        ("timeout", dependency.timeout.is_some()),
    ];
    layers
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}
