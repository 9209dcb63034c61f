//! Keys of the bulkhead and of retries.

use resilience_runtime::{Failure, bulkhead, fallback};

use super::{Live, Row, row};
use crate::kit::{FarError, Gate, settle};

#[bulkhead("farms", key = farm)]
#[fallback(none = "the farmer sees the error")]
async fn write(farm: u32, gate: &Gate) -> Result<usize, FarError> {
    gate.run().await
}

async fn begin(live: &Live, farm: u32, gate: &Gate) {
    let gate = gate.clone();
    drop(tokio::spawn(
        live.runtime.scope(async move { write(farm, &gate).await }),
    ));
    settle().await;
}

#[allow(clippy::too_many_lines)] // a row for each key
pub(super) fn rows() -> Vec<Row> {
    vec![
        row!(MaxConcurrent Drains "far", "", "bulkhead.max_concurrent = 3" => "bulkhead.max_concurrent = 1", |live| {
            let gate = Gate::new("S");
            let running = live.begun(&gate, 3).await;
            live.change();
            assert_eq!(live.one("S").await, "bulkhead_full");
            gate.open(2);
            settle().await;
            assert_eq!((gate.running(), live.one("S").await), (1, "bulkhead_full"));
            gate.open(1);
            for call in running {
                assert_eq!(call.await.unwrap().0, "ok");
            }
            assert_eq!(live.one("S").await, "ok");
        }),
        row!(MaxWaiting Drains "far", "bulkhead.max_concurrent = 1\nbulkhead.max_wait = \"1h\"",
            "bulkhead.max_waiting = 2" => "bulkhead.max_waiting = 1", |live| {
            let gate = Gate::new("S");
            let running = live.begun(&gate, 3).await;
            live.change();
            // Who waits goes on waiting; nobody joins while there are more than one.
            assert_eq!((live.read().waiting, live.one("S").await), (2, "bulkhead_full"));
            gate.open(1);
            settle().await;
            assert_eq!((live.read().waiting, live.one("S").await), (1, "bulkhead_full"));
            gate.open(2);
            for call in running {
                assert_eq!(call.await.unwrap().0, "ok");
            }
        }),
        row!(MaxWait NextCall "far", "bulkhead.max_concurrent = 1\nbulkhead.max_waiting = 9",
            "bulkhead.max_wait = \"1s\"" => "bulkhead.max_wait = \"3s\"", |live| {
            let gate = Gate::new("S");
            let mut begun = live.begun(&gate, 2).await;
            live.change();
            begun.extend(live.begun(&gate, 1).await);
            let long = begun.pop().unwrap().await.unwrap();
            let short = begun.pop().unwrap().await.unwrap();
            assert_eq!((short, long), (("wait_timed_out", 1_000), ("wait_timed_out", 3_000)));
            gate.open(1);
        }),
        row!(PerKey Drains "farms", "bulkhead.max_concurrent = 9",
            "bulkhead.per_key = 2" => "bulkhead.per_key = 1", |live| {
            let gate = Gate::new("S");
            for _ in 0..3 {
                begin(&live, 1, &gate).await;
            }
            assert_eq!(gate.running(), 2);
            live.change();
            begin(&live, 2, &gate).await;
            gate.open(1);
            settle().await;
            begin(&live, 1, &gate).await;
            assert_eq!(gate.running(), 2, "one of farm 1 runs on, and one of farm 2");
            gate.open(2);
            settle().await;
            begin(&live, 1, &gate).await;
            assert_eq!(gate.running(), 1);
            gate.open(1);
        }),
        row!(MaxKeys Words "far", "bulkhead.max_concurrent = 1",
            "bulkhead.max_keys = 9" => "bulkhead.max_keys = 1", |live| {
            live.nothing_moves().await;
        }),
        row!(SlotRetryAfter AtOnce "far", "bulkhead.max_concurrent = 1",
            "bulkhead.retry_after = \"1s\"" => "bulkhead.retry_after = \"5s\"", |live| {
            let gate = Gate::new("S");
            let _running = live.begun(&gate, 1).await;
            live.change();
            let Err(Failure::Rejected(told)) = live.guard.call(|| gate.run()).await else { panic!("a slot was free") };
            assert_eq!(told.retry_after(), Some(crate::kit::secs(5)));
            gate.open(1);
        }),
        row!(MaxAttempts NextCall "far", "retry.backoff = \"1s\"\nretry.jitter = \"none\"",
            "retry.max_attempts = 2" => "retry.max_attempts = 4", |live| {
            let body = crate::kit::Script::new("F");
            let (guard, running) = (live.guard.clone(), body.clone());
            let call = tokio::spawn(async move { crate::kit::call(&guard, &running).await });
            settle().await;
            live.change();
            call.await.unwrap();
            assert_eq!((body.starts(), live.starts("F").await), (2, 4));
        }),
        row!(Backoff NextCall "far", "retry.max_attempts = 2\nretry.jitter = \"none\"",
            "retry.backoff = \"1s\"" => "retry.backoff = \"2s\"", |live| {
            live.change();
            assert_eq!(live.timed("F").await, ("server", 2_000));
        }),
        row!(BackoffMax NextCall "far", "retry.max_attempts = 3\nretry.backoff = \"1s\"\nretry.jitter = \"none\"",
            "retry.backoff_max = \"2s\"" => "retry.backoff_max = \"1s\"", |live| {
            assert_eq!(live.timed("F").await.1, 3_000);
            live.change();
            assert_eq!(live.timed("F").await.1, 2_000);
        }),
        row!(Jitter NextCall "far", "retry.max_attempts = 2\nretry.backoff = \"1h\"\nretry.backoff_max = \"1h\"",
            "retry.jitter = \"none\"" => "retry.jitter = \"full\"", |live| {
            assert_eq!(live.timed("F").await.1, 3_600_000);
            live.change();
            assert!(live.timed("F").await.1 < 3_600_000);
        }),
        row!(Budget AtOnce "far", "retry.max_attempts = 2\nretry.backoff = \"0s\"\nretry.budget_floor = 0.0",
            "retry.budget = 0.0" => "retry.budget = 1.0", |live| {
            assert_eq!(live.starts("F").await, 1);
            live.change();
            assert_eq!(live.starts("F").await, 2);
        }),
        row!(BudgetFloor AtOnce "far", "retry.max_attempts = 2\nretry.backoff = \"0s\"\nretry.budget = 0.0",
            "retry.budget_floor = 0.0" => "retry.budget_floor = 1.0", |live| {
            assert_eq!(live.starts("F").await, 1);
            live.change();
            assert_eq!(live.starts("F").await, 2);
        }),
    ]
}
