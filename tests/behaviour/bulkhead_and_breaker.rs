//! The bulkhead stands outside of the breaker.

use resilience_runtime::available;

use crate::kit::{Gate, Script, settle};
use crate::stand::{Stand, words};

fn both(bulkhead: &str, breaker: &str) -> Stand {
    Stand::new(&format!(
        r#"
            timeout = "60s"
            bulkhead = {{ {bulkhead} }}
            breaker = {{ window = "2 calls", cooldown_jitter = 0.0, {breaker} }}
            "#
    ))
}

const LINE: &str = "max_concurrent = 1, max_waiting = 2, max_wait = \"5s\"";

#[tokio::test(start_paused = true)]
async fn a_rejection_by_the_breaker_gives_the_slot_back() {
    let far = both("max_concurrent = 1", "cooldown = \"1s\"");
    far.trip().await;
    let body = Script::new("S");
    assert_eq!(far.calls(&body, 3).await, words("3*open"));
    assert_eq!((far.slots(), body.starts()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_have_to_wait_while_open_is_rejected_at_once() {
    let far = both(LINE, "cooldown = \"3s\"");
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await.pop().unwrap();
    far.trip().await;
    far.at_ms(1_000).await;
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    let rejection = failure.rejection().unwrap();
    assert_eq!((rejection.reason().as_str(), far.now_ms()), ("open", 1_000));
    assert_eq!(rejection.retry_after(), Some(std::time::Duration::from_secs(2)));
    assert_eq!(far.slots(), (1, 0));
    gate.open(1);
    assert_eq!(running.await.unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_not_wait_is_told_that_there_is_no_slot_even_while_open() {
    let far = both("max_concurrent = 1", "cooldown = \"3s\"");
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await.pop().unwrap();
    far.trip().await;
    assert_eq!(far.one("S").await, "bulkhead_full");
    gate.open(1);
    assert_eq!(running.await.unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn who_waits_when_it_opens_is_rejected_when_its_turn_comes() {
    let far = both(LINE, "cooldown = \"30s\"");
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await.pop().unwrap();
    let body = Script::new("S");
    let waiting = far.begin_script(&body).await;
    far.trip().await;
    settle().await;
    assert_eq!(far.slots(), (1, 1));
    gate.open(1);
    assert_eq!(running.await.unwrap(), "ok");
    assert_eq!(waiting.await.unwrap(), "open");
    assert_eq!((body.starts(), far.slots(), far.now_ms()), (0, (0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn half_open_lets_callers_wait_for_a_slot_and_then_decides() {
    let far = both(LINE, "cooldown = \"1s\", probes = 1");
    far.trip().await;
    far.at_ms(1_000).await;
    let gate = Gate::new("S");
    let probe = far.begin(&gate, 1).await.pop().unwrap();
    let next = far.begin_script(&Script::new("S")).await;
    assert_eq!((far.state(), far.slots()), ("half_open", (1, 1)));
    gate.open(1);
    assert_eq!((probe.await.unwrap(), next.await.unwrap()), ("ok", "ok"));
    assert_eq!((far.state(), far.window()), ("closed", 1));
}

#[tokio::test(start_paused = true)]
async fn waiting_is_no_part_of_the_attempts_time() {
    let far = Stand::new(
        r#"
        timeout = "100ms"
        bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = "5s" }
        breaker = { window = "4 calls", minimum_calls = 2, failure_rate = false, slow_after = "60ms", slow_rate = 1.0 }
        "#,
    );
    let first = far.begin_script(&Script::new("S/90ms")).await;
    let second = far.begin_script(&Script::new("S/50ms")).await;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), ("ok", "ok"));
    assert_eq!((far.now_ms(), far.failed_and_slow()), (140, (0, 1)));
}

#[tokio::test(start_paused = true)]
async fn the_attempt_that_makes_it_too_many_is_admitted_and_trips() {
    let far = both(
        "max_concurrent = 10",
        "in_flight = 3, failure_rate = false, cooldown = \"1s\"",
    );
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 2).await;
    assert_eq!(far.state(), "closed");
    tasks.extend(far.begin(&gate, 1).await);
    assert_eq!(
        (gate.running(), far.state(), far.read().cause),
        (3, "open", Some("in_flight"))
    );
    assert_eq!(far.one("S").await, "open");
    gate.open(3);
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
    assert_eq!(far.slots(), (0, 0));
    far.at_ms(1_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn available_looks_at_both_and_takes_nothing() {
    let far = both("max_concurrent = 1", "cooldown = \"1s\", probes = 1");
    let asks = || far.runtime.scope(async { available("far") });
    assert!(asks().await);
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await.pop().unwrap();
    assert!(!asks().await);
    gate.open(1);
    running.await.unwrap();
    assert!(asks().await);
    far.trip().await;
    assert!(!asks().await);
    far.at_ms(1_000).await;
    assert!(asks().await && asks().await);
    assert_eq!((far.state(), far.one("S").await), ("half_open", "ok"));
}
