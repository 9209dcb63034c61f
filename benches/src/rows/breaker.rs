//! A breaker by itself, closed.

use failsafe::futures::CircuitBreaker;
use layered::Service;
use resilience_runtime::Runtime;
use tick::Clock;

use super::{guarded, turning};
use crate::measure::{Group, Row};
use crate::ours;
use crate::peers::towers::{self, Watch};
use crate::peers::{self, sentinel};
use crate::work::{answer, finish};

pub(super) fn group(runtime: &Runtime, precise: &Clock) -> Group {
    let inside = runtime.clone();
    let (recloser, consecutive, default) = (
        peers::recloser(100),
        peers::failsafe_consecutive(),
        peers::failsafe_default(),
    );
    let sizes = (recloser.clone(), consecutive.clone(), default.clone());
    let seatbelt = peers::seatbelt(precise);
    let size = seatbelt.clone();
    let mut tower = towers::breaker(Watch::Calls(100));
    let rows = vec![
        guarded(runtime, "alone", "ours: guard", "alone"),
        Row::new("alone-fn", "ours: annotated function", || finish(ours::alone(false))).sized(&ours::alone(false)),
        Row::new("alone-scope", "ours: annotated function in a scope", move || {
            finish(inside.scope(ours::alone(false)))
        }),
        Row::new("recloser", "recloser", move || finish(recloser.call(answer(false))))
            .sized(&sizes.0.call(answer(false))),
        Row::new("failsafe-run", "failsafe, consecutive failures", move || {
            finish(consecutive.call(answer(false)))
        })
        .sized(&sizes.1.call(answer(false))),
        Row::new("failsafe", "failsafe, default", move || {
            finish(default.call(answer(false)))
        })
        .sized(&sizes.2.call(answer(false))),
        Row::new("seatbelt-precise", "seatbelt, 30 s", move || {
            finish(seatbelt.execute(false))
        })
        .sized(&size.execute(false)),
        Row::new("tower-resilience", "tower-resilience", move || {
            towers::call(&mut tower, false).is_ok()
        }),
        Row::new("sentinel", "sentinel-core, 30 s", || {
            finish(sentinel::call(sentinel::CLOSED, false))
        })
        .sized(&sentinel::call(sentinel::CLOSED, false)),
    ];
    Group {
        title: "Breaker alone, closed",
        note: "Window of 100 calls (failsafe and those marked: 30 s), slow calls not watched.",
        rows,
    }
}

pub(super) fn slow(runtime: &Runtime, coarse: &Clock, precise: &Clock) -> Group {
    let (coarse, precise) = (peers::seatbelt(coarse), peers::seatbelt(precise));
    let mut tower = towers::breaker(Watch::Slow(100));
    let rows = vec![
        guarded(runtime, "slow", "ours: guard", "slow"),
        Row::new(
            "seatbelt",
            "seatbelt, coarse clock (watches failures only)",
            move || finish(coarse.execute(false)),
        ),
        Row::new(
            "seatbelt-again",
            "seatbelt, precise clock (watches failures only)",
            move || finish(precise.execute(false)),
        ),
        Row::new("tower-resilience-slow", "tower-resilience", move || {
            towers::call(&mut tower, false).is_ok()
        }),
        Row::new("sentinel-slow", "sentinel-core, 30 s", || {
            finish(sentinel::call(sentinel::SLOW, false))
        }),
    ];
    Group {
        title: "Breaker alone, closed, slow calls watched",
        note: "The same, and every call is timed. seatbelt times every call too, for its window.",
        rows,
    }
}

pub(super) fn mixed(runtime: &Runtime, precise: &Clock) -> Group {
    let (plain, slow) = (ours::guard(runtime, "mixed"), ours::guard(runtime, "slow-mixed"));
    let (recloser, default) = (peers::recloser(100), peers::failsafe_default());
    let seatbelt = peers::seatbelt(precise);
    let mut tower = towers::breaker(Watch::Calls(100));
    let rows = vec![
        turning("mixed", "ours: guard", move |fail| {
            finish(plain.call_once(answer(fail))).is_ok()
        }),
        turning("slow-mixed", "ours: guard, slow calls watched", move |fail| {
            finish(slow.call_once(answer(fail))).is_ok()
        }),
        turning("recloser-mixed", "recloser", move |fail| {
            finish(recloser.call(answer(fail))).is_ok()
        }),
        turning("failsafe-mixed", "failsafe, default", move |fail| {
            finish(default.call(answer(fail))).is_ok()
        }),
        turning("seatbelt-mixed", "seatbelt, 30 s", move |fail| {
            finish(seatbelt.execute(fail)).is_ok()
        }),
        turning("tower-resilience-mixed", "tower-resilience", move |fail| {
            towers::call(&mut tower, fail).is_ok()
        }),
    ];
    Group {
        title: "Breaker alone, closed, one call in a hundred fails",
        note: "No window is ever only good, so nobody may take a short cut.",
        rows,
    }
}
