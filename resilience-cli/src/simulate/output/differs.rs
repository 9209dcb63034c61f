//! What differs between runs of one scenario.

use serde::Serialize;
use serde_json::Value;

use super::Run;
use crate::simulate::report::Summary;

/// A figure that is not the same in every run.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) caller: String,
    pub(super) figure: String,
    /// In the order of the runs.
    pub(super) values: Vec<Value>,
}

/// Figures of the summaries that differ.
pub(super) fn all(runs: &[Run]) -> Vec<Difference> {
    let [first, others @ ..] = runs else { return Vec::new() };
    let mut found = Vec::new();
    for (caller, summary) in first.report.summary.iter().filter(|_| !others.is_empty()) {
        let of = |run: &Run| {
            let summary = run.report.summary.iter().find(|(name, _)| name == caller);
            summary.map_or(Value::Null, |(_, summary)| figures(summary))
        };
        let own = figures(summary);
        let theirs: Vec<Value> = others.iter().map(of).collect();
        for (figure, value) in own.as_object().into_iter().flatten() {
            let values: Vec<Value> = std::iter::once(value.clone())
                .chain(
                    theirs
                        .iter()
                        .map(|other| other.get(figure).cloned().unwrap_or(Value::Null)),
                )
                .collect();
            if values.iter().any(|other| other != value) {
                found.push(Difference {
                    caller: caller.clone(),
                    figure: figure.clone(),
                    values,
                });
            }
        }
    }
    found
}

fn figures(summary: &Summary) -> Value {
    let mut figures = serde_json::to_value(summary).expect("its keys are texts and its numbers finite");
    if let Some(figures) = figures.as_object_mut() {
        figures.remove("calls");
    }
    figures
}
