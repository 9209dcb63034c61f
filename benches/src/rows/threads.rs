//! Two threads on one object.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use failsafe::futures::CircuitBreaker;
use layered::Service;
use resilience_runtime::Runtime;
use tick::Clock;
use tokio::sync::Semaphore;

use crate::measure::Shared;
use crate::ours;
use crate::peers::towers::{self, Watch};
use crate::peers::{self, sentinel};
use crate::work::{NowAndThen, SLOTS, answer, finish};

/// Ours and the peers'.
pub fn rows(runtime: &Runtime, coarse: &Clock) -> Vec<Shared> {
    let mut rows = vec![counter(), semaphore()];
    for (id, name, dependency) in [
        ("shared-alone", "ours: breaker", "alone"),
        ("shared-slow", "ours: breaker, slow calls watched", "slow"),
        (
            "shared-three",
            "ours: breaker, bulkhead and timeout, slow calls watched",
            "three",
        ),
    ] {
        let guard = ours::guard(runtime, dependency);
        rows.push(Shared::new(id, name, move || {
            let guard = guard.clone();
            move || ours::call(&guard)
        }));
    }
    let mixed = ours::guard(runtime, "slow-mixed");
    rows.push(Shared::new(
        "shared-mixed",
        "ours: breaker, slow calls watched, one in a hundred fails",
        move || {
            let guard = mixed.clone();
            let mut turn = NowAndThen::default();
            move || finish(guard.call_once(answer(turn.fails()))).is_ok()
        },
    ));
    rows.extend(others(coarse));
    rows
}

fn counter() -> Shared {
    let counter = Arc::new(AtomicU64::new(0));
    Shared::new("shared-counter", "floor: one shared counter", move || {
        let counter = Arc::clone(&counter);
        move || counter.fetch_add(1, Ordering::AcqRel)
    })
}

fn semaphore() -> Shared {
    let semaphore = Arc::new(Semaphore::new(SLOTS));
    Shared::new("shared-semaphore", "floor: one shared semaphore", move || {
        let semaphore = Arc::clone(&semaphore);
        move || semaphore.try_acquire().is_ok()
    })
}

fn others(coarse: &Clock) -> Vec<Shared> {
    let (recloser, consecutive, default) = (
        peers::recloser(100),
        peers::failsafe_consecutive(),
        peers::failsafe_default(),
    );
    let seatbelt = peers::seatbelt(coarse);
    let tower = towers::breaker(Watch::Calls(100));
    vec![
        Shared::new("shared-recloser", "recloser", move || {
            let recloser = recloser.clone();
            move || finish(recloser.call(answer(false))).is_ok()
        }),
        Shared::new("shared-failsafe-run", "failsafe, consecutive failures", move || {
            let failsafe = consecutive.clone();
            move || finish(failsafe.call(answer(false))).is_ok()
        }),
        Shared::new("shared-failsafe", "failsafe, default", move || {
            let failsafe = default.clone();
            move || finish(failsafe.call(answer(false))).is_ok()
        }),
        Shared::new("shared-seatbelt", "seatbelt, coarse clock", move || {
            let seatbelt = Arc::clone(&seatbelt);
            move || finish(seatbelt.execute(false)).is_ok()
        }),
        Shared::new("shared-tower-resilience", "tower-resilience", move || {
            let mut tower = tower.clone();
            move || towers::call(&mut tower, false).is_ok()
        }),
        Shared::new("shared-sentinel", "sentinel-core", || {
            || finish(sentinel::call(sentinel::CLOSED, false)).is_ok()
        }),
    ]
}
