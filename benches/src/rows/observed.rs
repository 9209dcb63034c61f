//! The same with a Prometheus recorder and a log, as a service has both.

use std::time::Instant;

use resilience_runtime::Runtime;
use tokio::sync::Semaphore;

use super::guarded;
use super::together::by_hand;
use crate::measure::Row;
use crate::ours;
use crate::peers;
use crate::work::{SLOTS, answer, finish};

/// Installs both for the rest of the process.
pub fn listen() {
    metrics_exporter_prometheus::PrometheusBuilder::new()
        .install_recorder()
        .expect("nobody else installs one");
    super::events::listen();
}

/// To be measured after [`listen`].
pub fn rows(runtime: &Runtime) -> Vec<Row> {
    let (bare, recloser, slots) = (peers::recloser(100), peers::recloser(100), Semaphore::new(SLOTS));
    let unseen = Semaphore::new(SLOTS);
    let (calls, seconds) = (
        metrics::counter!("by_hand_calls_total", "outcome" => "success"),
        metrics::histogram!("by_hand_duration_seconds"),
    );
    let open = ours::open(runtime, "refused");
    vec![
        guarded(runtime, "alone-observed", "ours: breaker, accepted", "alone"),
        guarded(
            runtime,
            "three-observed",
            "ours: breaker, bulkhead and timeout, accepted",
            "three",
        ),
        Row::new("open-observed", "ours: rejection when open", move || {
            finish(open.call_once(answer(false))).is_ok()
        }),
        Row::new(
            "by-hand-unseen",
            "by hand: Semaphore, recloser, tokio timeout, nothing seen",
            move || finish(by_hand(&unseen, &bare)).is_ok(),
        ),
        Row::new(
            "by-hand-observed",
            "the same, with one counter and one histogram for each call",
            move || {
                let start = Instant::now();
                let answer = finish(by_hand(&slots, &recloser));
                calls.increment(1);
                seconds.record(start.elapsed());
                answer.is_ok()
            },
        ),
    ]
}
