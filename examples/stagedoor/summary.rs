//! The end of a run: a table for people, a document for programs.

use std::time::Duration;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value, json};

use crate::book::{Cell, Source, Stage};
use crate::guards::Guards;
use crate::live::{counts, millis};
use crate::service::{Route, Twin};
use crate::story::Claim;
use crate::watch::{Transition, Watch};

const COLUMNS: [&str; 16] = [
    "phase",
    "dependency",
    "calls",
    "primary",
    "fallback",
    "stale",
    "error",
    "rejected",
    "state",
    "p50",
    "p99",
    "held",
    "alone: ok",
    "p50",
    "p99",
    "held",
];

/// Everything that is known when the run is over.
pub(crate) struct Run<'a> {
    pub(crate) stages: &'a [Stage],
    pub(crate) watch: &'a Watch,
    pub(crate) guards: &'a Guards,
    pub(crate) claims: &'a [Claim],
    pub(crate) took: Duration,
}

/// One row per phase and dependency, the guarded twin to the left and the other one to the right.
pub(crate) fn table(run: &Run<'_>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(COLUMNS);
    let transitions = run.watch.transitions();
    for (number, stage) in (1..).zip(run.stages) {
        for route in Route::ALL {
            let guarded = stage.cell(Twin::Guarded, route);
            let without = stage.cell(Twin::Unguarded, route);
            let [held, held_without] = [0, 1].map(|twin: usize| stage.noticed[twin].held[route as usize]);
            table.add_row([
                if route == Route::Checkout {
                    stage.phase.name().to_owned()
                } else {
                    String::new()
                },
                route.dependency().to_owned(),
                guarded.calls.to_string(),
                guarded.from(Source::Primary).to_string(),
                guarded.from(Source::Fallback).to_string(),
                guarded.from(Source::Stale).to_string(),
                guarded.from(Source::Error).to_string(),
                counts(&run.watch.rejections(number, route.dependency())).join("\n"),
                state(
                    stage.states[route as usize],
                    openings(&transitions, number, route).count(),
                ),
                millis(guarded.percentile(50)),
                millis(guarded.percentile(99)),
                held.to_string(),
                format!("{} of {}", without.from(Source::Primary), without.calls),
                millis(without.percentile(50)),
                millis(without.percentile(99)),
                held_without.to_string(),
            ]);
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if !matches!(COLUMNS[index], "phase" | "dependency" | "rejected" | "state") {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn openings(transitions: &[Transition], stage: usize, route: Route) -> impl Iterator<Item = &Transition> {
    transitions
        .iter()
        .filter(move |change| change.stage == stage && change.dependency == route.dependency() && change.to == "open")
}

fn state(state: &str, openings: usize) -> String {
    if openings == 0 {
        state.to_owned()
    } else {
        format!("{state} ({openings}×)")
    }
}

/// The same and more, with times in seconds.
pub(crate) fn document(run: &Run<'_>) -> Value {
    let transitions = run.watch.transitions();
    let phases: Vec<_> = (1..)
        .zip(run.stages)
        .map(|(number, stage)| {
            let dependencies: Map<_, _> = Route::ALL
                .map(|route| {
                    (
                        route.dependency().to_owned(),
                        dependency(run.watch, &transitions, number, stage, route),
                    )
                })
                .into_iter()
                .collect();
            json!({
                "name": stage.phase.name(),
                "about": stage.phase.about(),
                "from_s": stage.from.as_secs_f64(),
                "to_s": stage.to.as_secs_f64(),
                "dependencies": dependencies,
            })
        })
        .collect();
    let transitions: Vec<_> = transitions
        .iter()
        .map(
            |Transition {
                 at,
                 dependency,
                 from,
                 to,
                 cause,
                 ..
             }| {
                json!({ "at": at.as_secs_f64(), "dependency": dependency, "from": from, "to": to, "cause": cause })
            },
        )
        .collect();
    let story: Vec<_> = run
        .claims
        .iter()
        .map(|claim| json!({ "claim": claim.text, "held": claim.held, "unjudged": !claim.held && claim.unjudged, "seen": claim.seen }))
        .collect();
    json!({
        "policy": { "file": run.guards.policy().file, "hash": run.guards.policy().hash },
        "took_s": run.took.as_secs_f64(),
        "ok": !run.claims.iter().any(Claim::broken),
        "phases": phases,
        "transitions": transitions,
        "story": story,
    })
}

fn dependency(watch: &Watch, transitions: &[Transition], number: usize, stage: &Stage, route: Route) -> Value {
    let mut guarded = side(stage, Twin::Guarded, route);
    guarded["rejections"] = json!(watch.rejections(number, route.dependency()));
    guarded["state"] = json!(stage.states[route as usize]);
    guarded["opened"] = json!(openings(transitions, number, route).count());
    json!({ "guarded": guarded, "without": side(stage, Twin::Unguarded, route) })
}

fn side(stage: &Stage, twin: Twin, route: Route) -> Value {
    let cell: &Cell = stage.cell(twin, route);
    let noticed = stage.noticed[twin as usize];
    let reached = (route == Route::Checkout).then_some(noticed.charges);
    json!({
        "calls": cell.calls,
        "served": {
            "primary": cell.from(Source::Primary),
            "fallback": cell.from(Source::Fallback),
            "stale": cell.from(Source::Stale),
            "error": cell.from(Source::Error),
        },
        "statuses": cell.statuses,
        "left": cell.left,
        "p50_s": cell.percentile(50).map(|took| took.as_secs_f64()),
        "p99_s": cell.percentile(99).map(|took| took.as_secs_f64()),
        "tasks_held": noticed.held[route as usize],
        "reached": reached,
    })
}
