//! Several layers around one call.

use failsafe::futures::CircuitBreaker;
use layered::Service;
use recloser::AsyncRecloser;
use resilience_runtime::Runtime;
use tick::Clock;
use tokio::sync::Semaphore;

use super::guarded;
use crate::measure::{Group, Row};
use crate::ours;
use crate::peers::{self, sentinel, towers};
use crate::work::{Answer, Failed, SLOTS, answer, finish};

pub(super) fn three(runtime: &Runtime, coarse: &Clock) -> Group {
    let (recloser, failsafe) = (peers::recloser(100), peers::failsafe_consecutive());
    let seatbelt = peers::seatbelt_timed(coarse);
    let [with_recloser, with_failsafe, with_seatbelt, sizer] = std::array::from_fn(|_| Semaphore::new(SLOTS));
    let (mut shed, mut tower) = (towers::shed_timed(), towers::three());
    let of_size = recloser.clone();
    let rows = vec![
        guarded(runtime, "three", "ours: guard", "three"),
        Row::new("three-fn", "ours: annotated function", || finish(ours::three(false))).sized(&ours::three(false)),
        Row::new("by-hand", "by hand: Semaphore, recloser, tokio timeout", move || {
            finish(by_hand(&with_recloser, &recloser))
        })
        .sized(&by_hand(&sizer, &of_size)),
        Row::new(
            "by-hand-failsafe",
            "by hand: Semaphore, failsafe, tokio timeout",
            move || {
                finish(async {
                    let _slot = with_failsafe.try_acquire().map_err(|_| Failed)?;
                    failsafe.call(peers::timed(false)).await.map_err(|_| Failed)
                })
            },
        ),
        Row::new(
            "by-hand-seatbelt",
            "Semaphore, seatbelt's breaker and timeout",
            move || {
                finish(async {
                    let _slot = with_seatbelt.try_acquire().map_err(|_| Failed)?;
                    seatbelt.execute(false).await
                })
            },
        ),
        Row::new(
            "tower-three",
            "tower LoadShed, ConcurrencyLimit, Timeout (no breaker)",
            move || towers::call(&mut shed, false).is_ok(),
        ),
        Row::new("tower-resilience-three", "tower-resilience", move || {
            towers::call(&mut tower, false).is_ok()
        }),
        Row::new("sentinel-three", "sentinel-core, tokio timeout", || {
            finish(sentinel::timed(sentinel::THREE))
        }),
    ];
    Group {
        title: "Breaker + bulkhead + timeout",
        note: "Ours, tower-resilience and sentinel-core watch slow calls; what is put together by hand cannot.",
        rows,
    }
}

pub(super) fn every(runtime: &Runtime, coarse: &Clock) -> Group {
    let (repeat, every, sizer) = (
        ours::guard(runtime, "repeat"),
        ours::guard(runtime, "every"),
        ours::guard(runtime, "repeat"),
    );
    let recloser = peers::recloser(100);
    let seatbelt = peers::seatbelt_retried(coarse);
    let [with_recloser, with_seatbelt] = std::array::from_fn(|_| Semaphore::new(SLOTS));
    let rows = vec![
        Row::new("repeat", "ours: guard", move || {
            finish(repeat.call(|| answer(false))).is_ok()
        })
        .sized(&sizer.call(|| answer(false))),
        Row::new("repeat-fn", "ours: annotated function", || finish(ours::repeat(false))).sized(&ours::repeat(false)),
        Row::new("every", "ours: guard, and a deadline", move || {
            finish(every.call(|| answer(false))).is_ok()
        }),
        Row::new("every-fn", "ours: annotated function, and a deadline", || {
            finish(ours::every(false))
        })
        .sized(&ours::every(false)),
        Row::new(
            "by-hand-retry",
            "by hand: Semaphore, loop, recloser, tokio timeout",
            move || finish(by_hand_retried(&with_recloser, &recloser)),
        ),
        Row::new(
            "seatbelt-retry",
            "Semaphore, seatbelt's retry, breaker and timeout",
            move || {
                finish(async {
                    let _slot = with_seatbelt.try_acquire().map_err(|_| Failed)?;
                    seatbelt.execute(false).await
                })
            },
        ),
    ];
    Group {
        title: "All layers, retry configured",
        note: "The first attempt succeeds. Ours keeps a retry budget, which the others do not have.",
        rows,
    }
}

pub(super) async fn by_hand(semaphore: &Semaphore, recloser: &AsyncRecloser) -> Answer {
    let _slot = semaphore.try_acquire().map_err(|_| Failed)?;
    recloser.call(peers::timed(false)).await.map_err(|_| Failed)
}

async fn by_hand_retried(semaphore: &Semaphore, recloser: &AsyncRecloser) -> Answer {
    let _slot = semaphore.try_acquire().map_err(|_| Failed)?;
    let mut attempts = 1;
    loop {
        match recloser.call(peers::timed(false)).await {
            Ok(answer) => return Ok(answer),
            Err(_) if attempts == 3 => return Err(Failed),
            Err(_) => attempts += 1,
        }
    }
}
