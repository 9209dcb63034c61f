//! The audit for people.

use std::fmt::Write as _;

use comfy_table::{Table, presets};

use super::report::{Dependency, Gap, Report, plain};
use crate::check::{counted, plural};

/// The headings of the gaps, in the order of their weight.
const HEADINGS: [(&str, &str); 9] = [
    ("circular_fallback", "fallbacks that call what they stand in for"),
    ("unguarded_client", "clients that no attribute guards"),
    ("no_fallback", "guarded functions without a fallback"),
    ("unknown_dependency", "names that the policy lacks"),
    ("missing_layer", "layers that the policy lacks"),
    ("unused_entry", "policy entries that no code names"),
    ("policy", "the policy"),
    ("no_reason", "comments without a reason"),
    ("unread", "files that could not be read"),
];

pub(super) fn print(report: &Report<'_>) -> String {
    let mut text = String::new();
    for dependency in &report.dependencies {
        of_dependency(report, dependency, &mut text);
    }
    for (kind, heading) in HEADINGS {
        section(heading, report.gaps.iter().filter(|gap| gap.kind == kind), &mut text);
    }
    section("perhaps unused", report.uncertain.iter(), &mut text);
    if !report.on_purpose.is_empty() {
        text.push_str("unguarded on purpose:\n");
        for one in &report.on_purpose {
            let _ = writeln!(
                text,
                "  {}:{}: {} uses `{}`: {}",
                one.file, one.line, one.function, one.client, one.reason
            );
        }
        text.push('\n');
    }
    untried(report, &mut text);
    text.push_str(&summary(report));
    text
}

/// No gap in the code, but in what is known of it.
fn untried(report: &Report<'_>, text: &mut String) {
    let Some(never_ran) = report.never_ran.as_ref().filter(|found| !found.is_empty()) else {
        return;
    };
    text.push_str("fallbacks that never ran in that service, so nobody knows whether they work:\n");
    for one in never_ran {
        let _ = writeln!(
            text,
            "  {}:{}: {}: `{}` of `{}`",
            one.file, one.line, one.function, one.kind, one.dependency
        );
    }
    let first = &never_ran[0].dependency;
    let _ = writeln!(
        text,
        "  → `resilience override {first} isolate --by … --reason \"exercise\" --for 1m` runs them on purpose\n"
    );
}

fn section<'a>(heading: &str, gaps: impl Iterator<Item = &'a Gap>, text: &mut String) {
    let mut lines = String::new();
    for gap in gaps {
        let place = gap.line.map_or(gap.file.clone(), |line| format!("{}:{line}", gap.file));
        let who = gap
            .function
            .as_ref()
            .map_or(String::new(), |function| format!("{function}: "));
        let _ = writeln!(lines, "  {place}: {who}{}", gap.message);
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "{heading}:\n{lines}");
    }
}

fn of_dependency(report: &Report<'_>, dependency: &Dependency, text: &mut String) {
    let about = dependency
        .about
        .as_ref()
        .map_or(String::new(), |about| format!(": {about}"));
    let fail = dependency.fail.map_or(String::new(), |fail| format!(", fail {fail}"));
    let entry = dependency
        .entry
        .as_ref()
        .map_or("not in the policy".to_owned(), |(file, line)| format!("{file}:{line}"));
    let _ = writeln!(text, "{}{about}{fail}  ({entry})", dependency.name);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for id in &dependency.functions {
        let function = &report.index.functions[*id];
        let Some(guard) = &function.guard else { continue };
        let forms: Vec<String> = guard.fallbacks.iter().map(plain).collect();
        let forms = if forms.is_empty() {
            "no fallback".to_owned()
        } else {
            forms.join(", then ")
        };
        let condition = guard
            .condition
            .as_ref()
            .map_or(String::new(), |condition| format!(" (if {condition})"));
        table.add_row([
            format!(" {}", function.shown()),
            format!("{}{condition}", guard.layers.join(", ")),
            forms,
            format!("{}:{}", function.place.file, function.place.line),
        ]);
    }
    for by_hand in &dependency.by_hand {
        table.add_row([
            format!(" {}", by_hand.how),
            "as the policy has them".into(),
            if by_hand.layer { "by layer" } else { "by hand" }.into(),
            format!("{}:{}", by_hand.place.file, by_hand.place.line),
        ]);
    }
    let _ = writeln!(text, "{}\n", table.trim_fmt());
}

fn summary(report: &Report<'_>) -> String {
    let functions = counted(report.guarded().count(), "guarded function");
    let dependencies = plural(report.dependencies.len(), "dependency", "dependencies");
    let policy = match (&report.policies.all[..], &report.policies.not_found) {
        ([], Some(not_found)) => format!("\n{not_found}"),
        _ => String::new(),
    };
    // The working directory needs no name.
    let here = if report.path == "." {
        String::new()
    } else {
        format!("{}: ", report.path)
    };
    let gaps = counted(report.gaps.len(), "gap");
    format!("{here}{functions}, {dependencies}, {gaps}{policy}\n")
}
