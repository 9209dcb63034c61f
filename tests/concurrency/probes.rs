//! Half-open under a crowd.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use resilience_runtime::testing;

use crate::crowd::{End, FAILED, IGNORED, Room, any, leave_after, tasks};
use crate::kit::{call, guard, seen, state};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_probe_at_a_time_whatever_becomes_of_it() {
    let (runtime, guard) = guard(
        "timeout = \"60s\"\nbreaker = { window = \"9 calls\", cooldown = \"1us\", cooldown_max = \"5us\", probes = 1 }",
    );
    runtime.scope(async { testing::trip("far") }).await;
    let room = Arc::new(Room::of(1));
    let task = |mut chance: fastrand::Rng| {
        let (guard, room) = (guard.clone(), Arc::clone(&room));
        async move {
            let mut seen_all = Vec::new();
            for _ in 0..300 {
                // No probe succeeds, so that the breaker never closes and every body is a probe's.
                let end = any(&mut chance, &[FAILED, IGNORED, IGNORED, End::Panic]);
                let (yields, repeats) = (chance.u8(..4), chance.bool());
                let polls = chance.bool().then(|| chance.u8(..4));
                let call = async {
                    if repeats {
                        seen(&guard.call(|| room.visit(yields, end)).await)
                    } else {
                        seen(&guard.call_once(room.visit(yields, end)).await)
                    }
                };
                seen_all.extend(leave_after(polls, call).await);
                tokio::task::yield_now().await;
            }
            seen_all
        }
    };
    let seen: Vec<_> = tasks(64, task).await.into_iter().flatten().collect();
    let strangers: Vec<_> = seen
        .iter()
        .filter(|end| !["probes_busy", "open", "server", "ignored"].contains(end))
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    assert!(room.runs() > 100, "{}", room.runs());
    assert_eq!(room.inside(), 0);
    comes_back(&runtime, &guard).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn as_many_probes_as_allowed_and_no_more_and_each_place_comes_home() {
    const PROBES: usize = 3;
    let (runtime, guard) = guard(
        "timeout = \"60s\"\nbreaker = { window = \"9 calls\", cooldown = \"1us\", probes = 3, probe_successes = 100 }",
    );
    runtime.scope(async { testing::trip("far") }).await;
    let room = Arc::new(Room::of(PROBES));
    let task = |mut chance: fastrand::Rng| {
        let (guard, room) = (guard.clone(), Arc::clone(&room));
        async move {
            for _ in 0..200 {
                let polls = chance.bool().then(|| chance.u8(..4));
                leave_after(polls, guard.call(|| room.visit(3, IGNORED))).await;
            }
        }
    };
    tasks(64, task).await;
    assert_eq!((state(&runtime), room.inside()), ("half_open", 0));
    let mut running: Vec<_> = (0..=PROBES)
        .map(|_| Box::pin(guard.call_once(room.visit(9, IGNORED))))
        .collect();
    let pending = running
        .iter_mut()
        .map(|call| crate::kit::poll_once(call.as_mut()))
        .filter(Poll::is_pending);
    assert_eq!((pending.count(), room.inside()), (PROBES, PROBES));
    drop(running);
    assert_eq!((state(&runtime), room.inside()), ("half_open", 0));
}

/// A breaker whose probes are all home closes at the first success after its cooldown.
async fn comes_back(runtime: &resilience_runtime::Runtime, guard: &resilience_runtime::Guard) {
    let good = crate::kit::Script::new("S");
    let back = async {
        while call(guard, &good).await != "ok" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), back)
        .await
        .expect("a probe that is gone still holds its place");
    assert_eq!(state(runtime), "closed");
}
