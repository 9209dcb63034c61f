//! The same on several threads at once: nothing is lost, and no limit is passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::{Failure, FailureKind};

use crate::kit::{FarError, call, seen};
use crate::stand::{Stand, words};

/// Runs so many tasks to their ends, and gives what they made of it.
async fn tasks<F>(count: usize, make: impl Fn(usize) -> F) -> Vec<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let all: Vec<_> = (0..count).map(|number| tokio::spawn(make(number))).collect();
    let mut outputs = Vec::new();
    for task in all {
        outputs.push(task.await.unwrap());
    }
    outputs
}

/// Counts who is inside, over some polls.
#[derive(Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
    runs: AtomicUsize,
}

impl Room {
    async fn visit(&self) {
        struct Leaving<'r>(&'r Room);

        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.inside.fetch_sub(1, Ordering::SeqCst);
            }
        }

        self.runs.fetch_add(1, Ordering::SeqCst);
        self.most
            .fetch_max(self.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _leaving = Leaving(self);
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_result_is_in_the_window() {
    let far = Stand::new(
        "timeout = \"60s\"\nbreaker = { window = \"100000 calls\", minimum_calls = 1, failure_rate = false }",
    );
    let ends = tasks(8, |_| {
        let guard = far.guard.clone();
        async move {
            for number in 0..2_000 {
                let _ = guard
                    .call(|| async move {
                        match number % 4 {
                            0 => Err(FarError::Failed(FailureKind::Server)),
                            _ => Ok(()),
                        }
                    })
                    .await;
            }
        }
    });
    ends.await;
    assert_eq!(
        (far.window(), far.failed_and_slow().0, far.read().in_flight),
        (16_000, 4_000, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn half_open_never_lets_more_through_than_its_probes() {
    let far = Stand::new("timeout = \"60s\"\nbreaker = { window = \"9 calls\", cooldown = \"1us\", probes = 3 }");
    far.trip().await;
    while far.state() != "half_open" {
        tokio::task::yield_now().await;
    }
    let room = Arc::new(Room::default());
    let results = tasks(64, |_| {
        let (guard, room) = (far.guard.clone(), Arc::clone(&room));
        async move {
            let mut results = Vec::new();
            for _ in 0..50 {
                let visit = || async {
                    room.visit().await;
                    Err::<(), _>(FarError::Ignored)
                };
                results.push(seen(&guard.call(visit).await));
            }
            results
        }
    });
    let results: Vec<_> = results.await.into_iter().flatten().collect();
    let busy = results.iter().filter(|result| **result == "probes_busy").count();
    let ran = results.iter().filter(|result| **result == "ignored").count();
    assert_eq!((busy + ran, room.runs.load(Ordering::SeqCst)), (results.len(), ran));
    assert!(room.most.load(Ordering::SeqCst) <= 3);
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.each("3*S").await, words("3*ok"));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_and_the_count_in_flight_come_back_from_calls_that_are_dropped_anywhere() {
    let far = Arc::new(Stand::new(
        r#"
        timeout = "60s"
        bulkhead = { max_concurrent = 4, max_waiting = 1000, max_wait = "1h" }
        breaker = { window = "100 calls", failure_rate = false, in_flight = 5 }
        "#,
    ));
    let room = Arc::new(Room::default());
    for _ in 0..200 {
        let mut begun = Vec::new();
        for number in 0..24 {
            let (guard, room) = (far.guard.clone(), Arc::clone(&room));
            let task = tokio::spawn(async move {
                let visit = || async {
                    room.visit().await;
                    Ok::<_, FarError>(())
                };
                guard.call(visit).await.map_err(|_: Failure<FarError>| ())
            });
            if number % 3 == 0 {
                tokio::task::yield_now().await;
                task.abort();
            }
            begun.push(task);
        }
        for task in begun {
            // Rejected is nobody: the line is long, and four in flight are fewer than five.
            assert!(!matches!(task.await, Ok(Err(()))));
        }
        assert_eq!((far.slots(), far.state()), ((0, 0), "closed"));
    }
    assert!(room.most.load(Ordering::SeqCst) <= 4);
    assert_eq!(room.inside.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_and_reloads_beside_calls_change_no_result() {
    let lines = |slots: usize| {
        format!(
            r#"
                timeout = "60s"
                bulkhead = {{ max_concurrent = {slots}, max_waiting = 1000, max_wait = "1h" }}
                retry = {{ backoff = "0s" }}
                breaker = {{ window = "50 calls" }}
                "#
        )
    };
    let far = Arc::new(Stand::new(&lines(3)));
    let done = Arc::new(AtomicUsize::new(0));
    let (reader, ended) = (Arc::clone(&far), Arc::clone(&done));
    let beside = tokio::spawn(async move {
        let mut turns = 0;
        while ended.load(Ordering::SeqCst) < 8 {
            let read = reader.read();
            assert!(read.in_flight <= 5, "{read:?}");
            reader
                .runtime
                .reload(crate::kit::policy(&lines(3 + turns % 3)))
                .unwrap();
            turns += 1;
            tokio::task::yield_now().await;
        }
        turns
    });
    let results = tasks(8, |_| {
        let (guard, done) = (far.guard.clone(), Arc::clone(&done));
        async move {
            let body = crate::kit::Script::new("S");
            let mut results = Vec::new();
            for _ in 0..300 {
                results.push(call(&guard, &body).await);
            }
            done.fetch_add(1, Ordering::SeqCst);
            results
        }
    });
    assert!(results.await.into_iter().flatten().all(|result| result == "ok"));
    assert!(beside.await.unwrap() > 0);
    assert_eq!((far.slots(), far.window()), ((0, 0), 50));
}
