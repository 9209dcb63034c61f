//! The same with somebody who listens.

use resilience_runtime::Runtime;

use super::guarded;
use crate::measure::{Group, Row};
use crate::ours;
use crate::work::{answer, finish};

/// Installs a log as a service has it, at `info`, for the rest of the process; what it writes goes nowhere.
pub fn listen() {
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::sink)
        .finish();
    tracing::subscriber::set_global_default(log).expect("nobody else installs one");
}

/// To be measured after [`listen`], and after everything else.
pub fn group(runtime: &Runtime) -> Group {
    let guard = ours::guard(runtime, "refused");
    let rows = vec![
        guarded(
            runtime,
            "three-events",
            "ours: breaker, bulkhead and timeout, accepted",
            "three",
        ),
        Row::new("open-events", "ours: rejection when open", move || {
            finish(guard.call_once(answer(false))).is_ok()
        }),
    ];
    Group {
        title: "Events on",
        note: "A tracing log at level info, as a service has it (a rejection is an event of level debug).",
        rows,
    }
}
