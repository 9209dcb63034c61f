//! The table, as Markdown.

use std::fmt::Write as _;

use crate::machine::Machine;
use crate::measure::{Group, Row, Shared};
use crate::stats::figure;
use crate::targets::Verdict;

/// Everything that is not a row.
#[derive(Debug)]
pub struct Frame {
    /// Where and when.
    pub machine: Machine,
    /// The load before and after.
    pub load: (String, String),
    /// Samples per row, and per row with two threads.
    pub rounds: (u32, u32),
    /// How long the measuring took, in seconds.
    pub seconds: u64,
    /// How long the runtime with ten thousand dependencies took to make, in milliseconds.
    pub loaded: f64,
    /// What each of them holds, in bytes.
    pub idle_bytes: f64,
    /// … of which the policy has so many.
    pub policy_bytes: f64,
}

/// The whole document.
pub fn markdown(frame: &Frame, verdicts: &[Verdict], groups: &[Group], shared: &[Shared]) -> String {
    let mut text = String::new();
    head(&mut text, frame);
    targets(&mut text, verdicts);
    for group in groups {
        table(&mut text, group);
    }
    two(&mut text, shared);
    text
}

fn head(text: &mut String, frame: &Frame) {
    let Frame {
        machine,
        load,
        rounds,
        seconds,
        loaded,
        idle_bytes,
        policy_bytes,
    } = frame;
    line(text, "# Benchmarks\n");
    line(
        text,
        "Written by `cargo run --release --manifest-path benches/Cargo.toml`; do not edit.\n",
    );
    line(text, "![Nanoseconds a call, ours beside the peers](benchmarks.svg)\n");
    line(
        text,
        &format!(
            "Nanoseconds a call. The work is a future that is ready when it is first polled, so what is seen is the \
             guard alone; no executor is in it. All rows of one thread are sampled in turn ({} times, about 1 ms each), \
             so that a drift of the machine hits all alike; then the rows of two threads ({} times). **p10** is what a \
             tenth of the samples stay below: the cost when the machine leaves it alone; compare those. Rows of ours \
             run under one installed runtime with 10 000 more dependencies, which take {loaded:.0} ms to make from the \
             policy's text and hold {idle_bytes:.0} bytes each ({policy_bytes:.0} of them the policy's). The counting \
             allocator adds about 2 ns to each allocation of those that allocate.\n",
            rounds.0, rounds.1
        ),
    );
    line(
        text,
        &format!("- {}; {}; {}", machine.processor, machine.system, machine.compiler),
    );
    line(
        text,
        &format!(
            "- {}, {seconds} s, load {} before and {} after; commit {}",
            machine.date, load.0, load.1, machine.commit
        ),
    );
    line(text, &format!("- {}\n", machine.versions.join(", ")));
}

fn targets(text: &mut String, verdicts: &[Verdict]) {
    line(text, "## Targets\n");
    line(text, "| what | ours | limit | which is | |");
    line(text, "| --- | ---: | ---: | --- | --- |");
    for verdict in verdicts {
        let reached = match verdict.missed {
            None => "reached".to_owned(),
            Some(by) if by.is_finite() => format!("**missed by {:.0} %**", by * 100.0),
            Some(by) if by.is_nan() => "**not measured**".to_owned(),
            Some(_) => "**missed**".to_owned(),
        };
        let Verdict {
            what,
            ours,
            limit,
            against,
            ..
        } = verdict;
        line(text, &format!("| {what} | {ours} | {limit} | {against} | {reached} |"));
    }
    line(text, "");
}

fn table(text: &mut String, group: &Group) {
    line(text, &format!("## {}\n\n{}\n", group.title, group.note));
    line(text, "| call | p10 | median | allocations | bytes of the future |");
    line(text, "| --- | ---: | ---: | ---: | ---: |");
    for Row {
        name,
        samples,
        allocations,
        future,
        ..
    } in &group.rows
    {
        let size = future.map_or_else(|| "–".to_owned(), |bytes| bytes.to_string());
        let (p10, median) = (figure(samples.p10()), figure(samples.median()));
        line(
            text,
            &format!(
                "| {} | {p10} | {median} | {} | {size} |",
                bold(name),
                allocated(*allocations)
            ),
        );
    }
    line(text, "");
}

fn two(text: &mut String, shared: &[Shared]) {
    line(text, "## Two threads on one object\n");
    line(
        text,
        "A call by one thread, while the other makes the same without a pause. Samples in which the two only took \
         turns, as on a busy machine, are left out. Compare medians here.\n",
    );
    line(
        text,
        "| call | alone, median | together, median | together, p10 | samples |",
    );
    line(text, "| --- | ---: | ---: | ---: | ---: |");
    for row in shared {
        let Shared {
            name, alone, together, ..
        } = row;
        let (alone, median, p10) = (
            figure(alone.median()),
            figure(together.median()),
            figure(together.p10()),
        );
        let name = bold(name);
        line(
            text,
            &format!("| {name} | {alone} | {median} | {p10} | {} |", together.count()),
        );
    }
}

/// Ours stand out.
fn bold(name: &str) -> String {
    if name.starts_with("ours") {
        format!("**{name}**")
    } else {
        name.to_owned()
    }
}

fn allocated(count: f64) -> String {
    if count == 0.0 { "0".to_owned() } else { figure(count) }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes everything");
}
