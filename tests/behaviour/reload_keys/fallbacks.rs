//! Keys of the fallback, and `fail`.

use resilience_runtime::{breaker, fallback, timeout};

use super::{Live, Row, row};
use crate::kit::{FarError, Gate, Script, settle};

#[breaker("seatmap")]
#[fallback(stale(key = show))]
async fn kept(show: u32, body: &Script) -> Result<usize, FarError> {
    let _ = show;
    body.run().await
}

#[timeout("seatmap")]
#[fallback(value = 0)]
async fn made_up(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[timeout("seatmap")]
#[fallback(other)]
async fn from_elsewhere(body: &Script, gate: &Gate) -> Result<usize, FarError> {
    let _ = gate;
    body.run().await
}

async fn other(_: &Script, gate: &Gate) -> Result<usize, FarError> {
    gate.run().await
}

/// Whether there is an answer for the show although the dependency is down.
async fn has(live: &Live, show: u32) -> bool {
    live.runtime
        .scope(async move { kept(show, &Script::new("F")).await.is_ok() })
        .await
}

async fn keep(live: &Live, show: u32) {
    let body = Script::new("S");
    assert!(live.runtime.scope(async move { kept(show, &body).await.is_ok() }).await);
}

/// Begins fallbacks that wait for the gate.
async fn begin(live: &Live, gate: &Gate, count: usize) {
    for _ in 0..count {
        let gate = gate.clone();
        let call = async move { from_elsewhere(&Script::new("F"), &gate).await };
        drop(tokio::spawn(live.runtime.scope(call)));
    }
    settle().await;
}

const TIMED: &str = "timeout = \"1h\"\nbreaker = { window = \"99 calls\", minimum_calls = 99 }";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row!(Fail AtOnce "seatmap", TIMED, "fail = \"open\"" => "fail = \"closed\"", |live| {
            let answer = || live.runtime.scope(async { made_up(&Script::new("F")).await.ok() });
            assert_eq!(answer().await, Some(0));
            live.change();
            assert_eq!(answer().await, None);
        }),
        row!(MaxStale NextCall "seatmap", TIMED, "fallback.max_stale = \"5m\"" => "fallback.max_stale = \"1s\"", |live| {
            keep(&live, 1).await;
            live.at_ms(2_000).await;
            assert!(has(&live, 1).await);
            live.change();
            assert!(!has(&live, 1).await);
        }),
        row!(MaxEntries AtOnce "seatmap", TIMED, "fallback.max_entries = 9" => "fallback.max_entries = 1", |live| {
            keep(&live, 1).await;
            keep(&live, 2).await;
            assert!(has(&live, 1).await && has(&live, 2).await);
            live.change();
            keep(&live, 3).await;
            assert_eq!((has(&live, 1).await, has(&live, 2).await, has(&live, 3).await), (false, false, true));
        }),
        row!(FallbackConcurrent Drains "seatmap", TIMED,
            "fallback = { timeout = \"1h\", max_concurrent = 3 }" => "fallback = { timeout = \"1h\", max_concurrent = 1 }", |live| {
            let gate = Gate::new("S");
            begin(&live, &gate, 4).await;
            assert_eq!(gate.running(), 3);
            live.change();
            gate.open(2);
            settle().await;
            begin(&live, &gate, 1).await;
            assert_eq!(gate.running(), 1);
            gate.open(1);
            settle().await;
            begin(&live, &gate, 2).await;
            assert_eq!(gate.running(), 1);
            gate.open(1);
        }),
        row!(FallbackTimeout NextCall "seatmap", TIMED, "fallback.timeout = \"1s\"" => "fallback.timeout = \"3s\"", |live| {
            let timed = || async {
                let clock = crate::kit::Clock::start();
                let gate = Gate::new("S");
                live.runtime.scope(async { from_elsewhere(&Script::new("F"), &gate).await.unwrap_err() }).await;
                clock.now().as_secs()
            };
            assert_eq!(timed().await, 1);
            live.change();
            assert_eq!(timed().await, 3);
        }),
        row!(FallbackUses Words "far", "bulkhead.max_concurrent = 1", "" => "fallback.uses = []", |live| {
            live.nothing_moves().await;
        }),
    ]
}
