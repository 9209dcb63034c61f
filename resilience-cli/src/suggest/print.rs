//! The two shapes of the output.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, json};

use super::Report;
use super::advice::{Advice, written};
use super::evidence::Evidence;
use super::rules::figure;
use crate::args::Format;
use crate::check::{counted, plural};
use crate::json;
use crate::trace::{BadLine, Unreadable};

/// How many bad lines are printed as text.
const PRINTED: usize = 20;

pub(super) fn text(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let trace = &report.trace;
    writeln!(
        out,
        "{}, read as {}: {}",
        trace.file,
        trace.format,
        counted(trace.calls.len(), "call")
    )?;
    if trace.skipped > 0 {
        writeln!(
            out,
            "{} of {} records were passed over, {} %:",
            trace.skipped,
            trace.records,
            figure(trace.skipped_share() * 100.0)
        )?;
        bad_lines(&trace.bad, trace.skipped, out)?;
    }
    for note in trace.notes.iter().chain(&report.notes) {
        writeln!(out, "note: {note}")?;
    }
    for (name, evidence, advice) in &report.dependencies {
        writeln!(out, "\n{name}: {}", advice.because)?;
        figures(evidence, out)?;
        for note in &advice.notes {
            writeln!(out, "  note: {note}")?;
        }
    }
    writeln!(out)?;
    if report.edited.diff.is_empty() {
        writeln!(out, "nothing to change in {}", report.file)?;
    } else {
        write!(out, "{}", report.edited.diff)?;
    }
    for (name, _, advice) in &report.dependencies {
        reasons(name, advice, out)?;
    }
    for warning in &report.edited.warnings {
        writeln!(
            out,
            "\nwith these numbers `check` will say: {warning}\n   lint: {}",
            warning.name()
        )?;
    }
    Ok(())
}

fn figures(evidence: &Evidence, out: &mut dyn Write) -> io::Result<()> {
    let mut outcomes = vec![format!("{} success", evidence.success)];
    let mut more = |count: usize, word: &str| {
        if count > 0 {
            outcomes.push(format!("{count} {word}"));
        }
    };
    more(evidence.business, "business");
    for (kind, count) in &evidence.failures {
        more(*count, &format!("failed ({kind})"));
    }
    more(evidence.throttled, "throttled");
    more(evidence.ignored, "ignored");
    more(evidence.rejected, "refused");
    writeln!(out, "  outcomes   {}", outcomes.join(", "))?;
    writeln!(
        out,
        "  rate       {} calls/s over {} s, {} in the busiest ten seconds, on {}; at most {} at once",
        figure(evidence.rate),
        figure(evidence.span_s),
        figure(evidence.busiest_rate),
        plural(evidence.instances as usize, "instance", "instances"),
        evidence.peak_in_flight,
    )?;
    if evidence.answers > 0 {
        writeln!(
            out,
            "  latency    of {} answers: median {}, p99 {}, p99.9 {}, longest {}",
            evidence.answers,
            written(evidence.median),
            written(evidence.p99),
            written(evidence.p999),
            written(evidence.longest),
        )?;
    }
    Ok(())
}

fn reasons(name: &str, advice: &Advice, out: &mut dyn Write) -> io::Result<()> {
    // What was measured says so in the file.
    let mut reasoned = advice
        .suggestions
        .iter()
        .filter(|one| one.reason != one.short)
        .peekable();
    if reasoned.peek().is_some() {
        writeln!(out, "\nwhy, for {name}")?;
    }
    for suggestion in reasoned {
        let old = suggestion.old.as_ref().map_or(String::new(), |old| format!("{old} → "));
        writeln!(out, "  {}: {old}{}", suggestion.key, suggestion.value)?;
        writeln!(out, "      {}", suggestion.reason)?;
    }
    if !advice.kept.is_empty() {
        writeln!(out, "\nkept, for {name}")?;
    }
    for kept in &advice.kept {
        writeln!(
            out,
            "  {}: {} (the trace says {})",
            kept.key, kept.value, kept.suggested
        )?;
    }
    if !advice.refused.is_empty() {
        writeln!(out, "\nnot suggested, for {name}")?;
    }
    for refused in &advice.refused {
        writeln!(out, "  {}: {}", refused.key, refused.reason)?;
    }
    Ok(())
}

fn bad_lines(bad: &[BadLine], all: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in bad.iter().take(PRINTED) {
        writeln!(out, "  {line}")?;
    }
    if all > PRINTED {
        writeln!(out, "  … and {} more", all - PRINTED.min(bad.len()))?;
    }
    Ok(())
}

pub(super) fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let trace = &report.trace;
    let dependencies: Map<String, serde_json::Value> = report
        .dependencies
        .iter()
        .map(|(name, evidence, advice)| (name.clone(), dependency(evidence, advice)))
        .collect();
    let warnings: Vec<_> = report.edited.warnings.iter().map(json::fault).collect();
    let notes: Vec<&String> = trace.notes.iter().chain(&report.notes).collect();
    let whole = json!({
        "trace": {
            "file": trace.file,
            "format": trace.format.as_str(),
            "calls": trace.calls.len(),
            "records": trace.records,
            "skipped": trace.skipped,
            "skipped_share": trace.skipped_share(),
            "faults": trace.bad,
        },
        "policy": report.file,
        "dependencies": dependencies,
        "notes": notes,
        "warnings": warnings,
        "diff": report.edited.diff,
        "toml": report.edited.text,
    });
    writeln!(out, "{whole:#}")
}

fn dependency(evidence: &Evidence, advice: &Advice) -> serde_json::Value {
    let numbers = |numbers: &[(&'static str, f64)]| -> Map<String, serde_json::Value> {
        numbers
            .iter()
            .map(|(name, number)| ((*name).to_owned(), json!(number)))
            .collect()
    };
    let suggestions: Vec<_> = advice
        .suggestions
        .iter()
        .map(|suggestion| {
            json!({
                "key": suggestion.key,
                "old": suggestion.old,
                "new": suggestion.value.to_json(),
                "reason": suggestion.reason,
                "evidence": numbers(&suggestion.evidence),
            })
        })
        .collect();
    let refused: Vec<_> = advice
        .refused
        .iter()
        .map(|refused| {
            json!({ "key": refused.key, "reason": refused.reason, "have": refused.have, "need": refused.need })
        })
        .collect();
    let kept: Vec<_> = advice
        .kept
        .iter()
        .map(|kept| json!({ "key": kept.key, "value": kept.value, "suggested": kept.suggested }))
        .collect();
    json!({
        "verdict": advice.verdict.as_str(),
        "because": advice.because,
        "evidence": {
            "calls": evidence.calls,
            "success": evidence.success,
            "business": evidence.business,
            "failures": evidence.failures,
            "throttled": evidence.throttled,
            "ignored": evidence.ignored,
            "rejected": evidence.rejected,
            "span_s": evidence.span_s,
            "calls_per_second": evidence.rate,
            "busiest_calls_per_second": evidence.busiest_rate,
            "instances": evidence.instances,
            "peak_in_flight": evidence.peak_in_flight,
            "answers": evidence.answers,
            "median_s": evidence.median.as_secs_f64(),
            "p99_s": evidence.p99.as_secs_f64(),
            "p999_s": evidence.p999.as_secs_f64(),
            "longest_s": evidence.longest.as_secs_f64(),
            "failing_in_health": evidence.failing_in_health,
            "sick_s": evidence.sick_s,
            "outages": evidence.outages,
        },
        "suggestions": suggestions,
        "kept": kept,
        "refused": refused,
        "notes": advice.notes,
    })
}

/// Why there is nothing to say.
pub(crate) fn unreadable(
    format: Format,
    unreadable: &Unreadable,
    file: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => {
            writeln!(err, "{}", unreadable.message)?;
            bad_lines(&unreadable.bad, unreadable.bad.len(), err)
        }
        Format::Json => {
            let report = json!({
                "trace": { "file": file.display().to_string(), "faults": unreadable.bad },
                "error": unreadable.message,
            });
            writeln!(out, "{report:#}")
        }
    }
}
