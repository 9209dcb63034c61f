//! Refusing.

use failsafe::futures::CircuitBreaker;
use layered::Service;
use resilience_runtime::Runtime;
use tick::Clock;

use crate::measure::{Group, Row};
use crate::ours;
use crate::peers::towers::{self, Watch};
use crate::peers::{self, sentinel};
use crate::work::{answer, finish};

/// More failures than any of them bears.
const FAILURES: usize = 200;

pub(super) fn group(runtime: &Runtime, coarse: &Clock) -> Group {
    let guard = ours::open(runtime, "refused");
    let recloser = peers::recloser(100);
    let failsafe = peers::failsafe_consecutive();
    let seatbelt = peers::seatbelt(coarse);
    let mut tower = towers::breaker(Watch::Calls(100));
    for _ in 0..FAILURES {
        let _failed = finish(recloser.call(answer(true)));
        let _failed = finish(failsafe.call(answer(true)));
        let _failed = finish(seatbelt.execute(true));
        let _failed = towers::call(&mut tower, true);
        let _failed = finish(sentinel::call(sentinel::OPEN, true));
    }
    let rows = vec![
        Row::new("open", "ours: guard, with retry_after", move || {
            refused(finish(guard.call_once(answer(false))).is_err_and(|failure| failure.rejection().is_some()))
        }),
        Row::new("open-recloser", "recloser", move || {
            refused(finish(recloser.call(answer(false))).is_err())
        }),
        Row::new("open-failsafe", "failsafe", move || {
            refused(finish(failsafe.call(answer(false))).is_err())
        }),
        Row::new("open-seatbelt", "seatbelt, coarse clock", move || {
            refused(finish(seatbelt.execute(false)).is_err())
        }),
        Row::new("open-tower-resilience", "tower-resilience", move || {
            refused(towers::call(&mut tower, false).is_err())
        }),
        Row::new("open-sentinel", "sentinel-core", || {
            refused(finish(sentinel::call(sentinel::OPEN, false)).is_err())
        }),
    ];
    Group {
        title: "Rejection when open",
        note: "The work is never begun. Ours says how long it is still open; no peer does.",
        rows,
    }
}

/// A row that measures something else than refusals shows nothing.
#[inline]
fn refused(refused: bool) -> bool {
    assert!(refused, "an open breaker refuses");
    refused
}
