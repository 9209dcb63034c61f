//! Many callers on several threads: no result, slot or place is lost, whatever they race for. Time is real here, and
//! nobody waits for it.

use std::task::Poll;

use resilience_runtime::{Guard, testing};

use crate::kit::{Script, call, guard, slots, state, window};

/// A body that gives way a few times before it answers.
async fn body(script: &Script, yields: u8) -> Result<usize, crate::kit::FarError> {
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    let answer = script.run().await;
    tokio::task::yield_now().await;
    answer
}

/// Calls `guard`, and leaves the call after so many polls.
async fn call_and_leave(guard: &Guard, script: &Script, yields: u8, polls: u8) {
    let mut left = polls;
    let mut running = Box::pin(guard.call(|| body(script, yields)));
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        running.as_mut().poll(cx).map(drop)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn gm_r26_twenty_callers_in_parallel_lose_no_result_and_no_slot() {
    let lines = "timeout = \"60s\"\nbreaker.window = \"100000 calls\"\nbreaker.minimum_calls = 100000\nbulkhead.max_concurrent = 7\n\
                 bulkhead.max_waiting = 20\nbulkhead.max_wait = \"60s\"";
    let (runtime, guard) = guard(lines);
    let script = Script::new("S");
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let (guard, script) = (guard.clone(), script.clone());
            tokio::spawn(async move {
                for _ in 0..500 {
                    let ended = guard
                        .call(|| async {
                            let answer = script.run().await;
                            tokio::task::yield_now().await;
                            answer
                        })
                        .await;
                    assert!(ended.is_ok());
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(
        (script.starts(), window(&runtime), slots(&runtime)),
        (10_000, 10_000, (0, 0))
    );
    assert!(script.peak() <= 7, "{}", script.peak());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn gm_r25_callers_that_leave_at_any_moment_leave_no_slot_and_no_place_behind() {
    let lines =
        "timeout = \"60s\"\nbulkhead.max_concurrent = 3\nbulkhead.max_waiting = 20\nbulkhead.max_wait = \"60s\"";
    let (runtime, guard) = guard(lines);
    let script = Script::new("S");
    let callers: Vec<_> = (0..20)
        .map(|seed| {
            let (guard, script) = (guard.clone(), script.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..400 {
                    call_and_leave(&guard, &script, random.u8(0..4), random.u8(1..8)).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!((slots(&runtime), script.running()), ((0, 0), 0));
    assert!(script.peak() <= 3, "{}", script.peak());
    assert_eq!(call(&guard, &script).await, "ok", "and the next one finds a slot");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn gm_r09_however_many_threads_race_for_the_trials_only_so_many_run() {
    let lines = "timeout = \"60s\"\nbreaker.cooldown = \"1us\"\nbreaker.probes = 2\nbreaker.probe_successes = 100000";
    let (runtime, guard) = guard(lines);
    runtime.scope(async { testing::trip("far") }).await;
    while state(&runtime) == "open" {
        tokio::task::yield_now().await;
    }
    let script = Script::new("S");
    let callers: Vec<_> = (0..20)
        .map(|seed| {
            let (guard, script) = (guard.clone(), script.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..400 {
                    call_and_leave(&guard, &script, random.u8(0..4), random.u8(1..8)).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    assert!((1..=2).contains(&script.peak()), "{}", script.peak());
    assert_eq!(state(&runtime), "half_open");
    assert_eq!(call(&guard, &script).await, "ok", "and the next one is a trial");
}
