//! The text: who got what, then the phases, then what the breakers did, and the rows of time where they are asked for.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use super::{Run, differs};
use crate::check::counted;
use crate::simulate::report::{Second, Summary};
use crate::simulate::scenario::Scenario;
use crate::simulate::scenario::shown;

/// So many changes of state are printed, and the others counted.
const PRINTED: usize = 24;

pub(super) fn print(scenario: &Scenario, runs: &[Run], seconds: bool, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", scenario.name)?;
    if let Some(about) = &scenario.about {
        write!(out, ": {about}")?;
    }
    writeln!(
        out,
        "\n{}, {}, seed {}\n",
        shown(scenario.duration),
        counted(scenario.instances as usize, "instance"),
        scenario.seed
    )?;
    for run in runs {
        one(run, seconds, out)?;
    }
    if runs.len() > 1 {
        beside(runs, out)?;
    }
    Ok(())
}

fn one(run: &Run, seconds: bool, out: &mut dyn Write) -> io::Result<()> {
    let report = &run.report;
    write!(out, "== {}", run.title)?;
    if let Some(hash) = &report.policy_hash {
        write!(out, " ({hash})")?;
    }
    writeln!(out)?;
    let mut table = totals("caller");
    for (caller, summary) in &report.summary {
        table.add_row(cells(caller.clone(), summary));
        for (part, summary) in &summary.calls {
            table.add_row(cells(format!("  └ {part}"), summary));
        }
    }
    writeln!(out, "{}\n", aligned(table))?;
    for (caller, summary) in &report.summary {
        for line in facts(summary) {
            writeln!(out, "{caller}: {line}")?;
        }
        for (part, summary) in &summary.calls {
            for line in facts(summary) {
                writeln!(out, "{caller} → {part}: {line}")?;
            }
        }
    }
    if !report.phases.is_empty() {
        let mut table = totals("phase, caller");
        for phase in &report.phases {
            table.add_row(cells(format!("{}, {}", phase.name, phase.caller), &phase.summary));
        }
        writeln!(out, "\n{}", aligned(table))?;
    }
    transitions(run, out)?;
    if seconds {
        rows(run, out)?;
    }
    writeln!(out)
}

fn totals(first: &str) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        first,
        "arrived",
        "ok",
        "business",
        "failed",
        "timed out",
        "rejected",
        "left",
        "saved",
        "reached",
        "p50",
        "p99",
    ]);
    table
}

fn cells(name: String, summary: &Summary) -> Vec<String> {
    let counts = &summary.counts;
    let numbers = [
        counts.arrived,
        counts.ok,
        counts.business,
        counts.failed,
        counts.timed_out,
        counts.rejections(),
        counts.left,
        counts.served.fallback,
        counts.reached,
    ];
    std::iter::once(name)
        .chain(numbers.map(|number| if number == 0 { "·".into() } else { number.to_string() }))
        .chain([summary.p50_ms, summary.p99_ms].map(milliseconds))
        .collect()
}

fn aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn milliseconds(value: Option<f64>) -> String {
    match value {
        None => "·".into(),
        Some(ms) if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        Some(ms) => format!("{ms:.0} ms"),
    }
}

/// What the numbers of the table do not say, a sentence each.
fn facts(summary: &Summary) -> Vec<String> {
    let mut facts = Vec::new();
    let at = |seconds: f64| format!("{seconds:.3} s");
    if let (Some(first), Some(reason)) = (summary.first_rejection_s, summary.first_rejection_reason) {
        let by_reason: Vec<_> = summary
            .counts
            .rejected
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        facts.push(format!(
            "first rejected at {} ({reason}); {}",
            at(first),
            by_reason.join(", ")
        ));
    }
    if let Some(first) = summary.first_timeout_s {
        facts.push(format!("first timed out at {}", at(first)));
    }
    if let Some(first) = summary.first_failure_s {
        facts.push(format!("first failed at {}", at(first)));
    }
    if let Some(first) = summary.first_left_s {
        let vain = summary.abandoned;
        facts.push(format!(
            "first left at {}; {vain} attempts went on for nobody",
            at(first)
        ));
    }
    if let Some(full) = summary.full_s {
        facts.push(format!("full from {} on", at(full)));
    }
    if let Some(first) = summary.opened_s.first() {
        let opened = counted(summary.opened_s.len(), "time");
        let states: Vec<_> = summary.ended.iter().map(|ended| ended.state).collect();
        let same = states.windows(2).all(|pair| pair[0] == pair[1]);
        let ended = if same {
            states.first().copied().unwrap_or("closed").to_owned()
        } else {
            states.join(", ")
        };
        facts.push(format!("opened {opened}, first at {}; ended {ended}", at(*first)));
    }
    if let Some(kept) = summary.retry_after_kept {
        facts.push(format!(
            "Retry-After was true for {:.1} % of those it was told",
            kept * 100.0
        ));
    }
    if summary.refused_working > 0 {
        facts.push(format!("{} rejected calls would have worked", summary.refused_working));
    }
    let peaks = [
        ("in flight", summary.peak_in_flight),
        ("waiting", summary.peak_waiting),
        ("connections", summary.peak_pool_used),
        ("waiting for one", summary.peak_pool_waiting),
        ("fallbacks", summary.peak_fallbacks),
    ];
    let peaks: Vec<_> = peaks
        .iter()
        .filter(|(_, peak)| *peak > 0)
        .map(|(name, peak)| format!("{peak} {name}"))
        .collect();
    if !peaks.is_empty() {
        facts.push(format!("at most {}", peaks.join(", ")));
    }
    if let Some(longest) = summary.longest_ok_s {
        facts.push(format!("longest success {}", at(longest)));
    }
    if let Some(sold) = summary.sold_out_s {
        facts.push(format!("sold out at {}", at(sold)));
    }
    facts
}

fn transitions(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let all = &run.report.transitions;
    if all.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["at", "dependency", "instance", "change", "cause"]);
    for made in all.iter().take(PRINTED) {
        table.add_row([
            format!("{:.3} s", made.at),
            made.dependency.clone(),
            made.instance.to_string(),
            format!("{} → {}", made.from, made.to),
            made.cause.clone(),
        ]);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    writeln!(out, "\n{}", lines.join("\n"))?;
    if all.len() > PRINTED {
        writeln!(out, "… and {} more, see --format json", all.len() - PRINTED)?;
    }
    Ok(())
}

fn rows(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n{:>9}  {:20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "t", "caller", "arrived", "ok", "failed", "timed", "rejected", "left", "in flight", "waiting"
    )?;
    for second in run.report.seconds.rows() {
        let Second {
            t,
            caller,
            counts,
            gauges,
            ..
        } = &second;
        writeln!(
            out,
            "{t:>9}  {caller:20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
            counts.arrived,
            counts.ok,
            counts.failed,
            counts.timed_out,
            counts.rejections(),
            counts.left,
            gauges.in_flight,
            gauges.waiting,
        )?;
    }
    Ok(())
}

/// Figures that are not the same in every run, side by side.
fn beside(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let titles = runs.iter().map(|run| run.title.clone());
    table.set_header(["what differs".to_owned()].into_iter().chain(titles));
    for difference in differs::all(runs) {
        let name = format!("{} {}", difference.caller, difference.figure);
        let values = difference.values.iter().map(plainly);
        table.add_row(std::iter::once(name).chain(values));
    }
    writeln!(out, "{}", aligned(table))
}

/// A figure of the JSON as people write it.
fn plainly(value: &Value) -> String {
    match value {
        Value::Null => "·".to_owned(),
        Value::Number(number) if number.is_f64() => {
            let rounded = format!("{:.3}", number.as_f64().unwrap_or_default());
            rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Value::Array(list) if list.is_empty() => "·".to_owned(),
        Value::Array(list) if list.len() > 3 => format!("{} of them", list.len()),
        Value::Array(list) => list.iter().map(plainly).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let told = map.iter().filter(|(_, value)| **value != 0);
            let told: Vec<_> = told.map(|(name, value)| format!("{name} {}", plainly(value))).collect();
            if told.is_empty() {
                "·".to_owned()
            } else {
                told.join(", ")
            }
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
