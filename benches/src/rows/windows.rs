//! Cost by the size of the window.

use std::hint::black_box;
use std::time::Instant;

use resilience_runtime::{Guard, Runtime};

use super::turning;
use crate::measure::{Group, Row};
use crate::ours;
use crate::peers;
use crate::peers::towers::{self, Watch};
use crate::work::{answer, finish};

pub(super) fn group(runtime: &Runtime) -> Group {
    let ours = [
        ("calls-10", "ours: 10 calls"),
        ("calls-1000", "ours: 1 000 calls"),
        ("calls-100000", "ours: 100 000 calls"),
        ("time-10", "ours: 10 s"),
        ("time-1000", "ours: 1 000 s"),
        ("time-3600", "ours: 3 600 s"),
    ];
    let mut rows: Vec<_> = ours
        .into_iter()
        .map(|(id, name)| own(id, name, ours::guard(runtime, id)))
        .collect();
    for (id, window) in [
        ("recloser-10", 10),
        ("recloser-1000", 1_000),
        ("recloser-100000", 100_000),
    ] {
        let recloser = peers::recloser(window);
        let name = format!("recloser: {window} calls");
        rows.push(turning(id, name, move |fail| {
            finish(recloser.call(answer(fail))).is_ok()
        }));
    }
    rows.push(held("tower-time-1000", 1_000));
    rows.push(held("tower-time-10000", 10_000));
    Group {
        title: "Windows",
        note: "Slow calls watched (recloser: not), one call in a hundred fails. A time window of ours holds all calls of \
               its time, some millions here; tower-resilience's row says how many it holds.",
        rows,
    }
}

fn own(id: &'static str, name: &str, guard: Guard) -> Row {
    turning(id, name, move |fail| finish(guard.call_once(answer(fail))).is_ok())
}

/// tower-resilience keeps every record of its time: a breaker of its own per sample holds so many, and a few more.
fn held(id: &'static str, records: u32) -> Row {
    let calls = records / 20;
    Row::timed(
        id,
        format!("tower-resilience: time, {records} held"),
        calls,
        move |calls| {
            let mut service = towers::breaker(Watch::Time);
            for _ in 0..records {
                black_box(towers::call(&mut service, false).is_ok());
            }
            let start = Instant::now();
            for _ in 0..calls {
                black_box(towers::call(&mut service, false).is_ok());
            }
            start.elapsed()
        },
    )
    .seldom(if records > 1_000 { 20 } else { 4 })
}
