//! Results that come when another period has begun.

use std::time::Duration;

use resilience_runtime::testing::record;

use crate::kit::{FarError, Gate, Script, settle};
use crate::stand::{Stand, transitions, words};

fn two_probes() -> Stand {
    Stand::new(
        r#"
        timeout = "60s"
        breaker = { window = "4 calls", failure_rate = 0.5, cooldown = "1s", cooldown_jitter = 0.0, probes = 2 }
        "#,
    )
}

async fn late_ones_end_while_half_open(script: &str, seen: &str) {
    let far = two_probes();
    let early = Gate::new(script);
    let early_calls = far.begin(&early, 2).await;
    assert_eq!(far.each("4*F").await, words("4*server"));
    assert_eq!(far.state(), "open");
    far.at_ms(1_000).await;
    let gate = Gate::new("S");
    let probe = far.begin(&gate, 1).await.pop().unwrap();
    early.open(2);
    for call in early_calls {
        assert_eq!(call.await.unwrap(), seen);
    }
    assert_eq!((far.state(), far.window()), ("half_open", 4));
    gate.open(1);
    assert_eq!(probe.await.unwrap(), "ok");
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn stl_01_late_successes_do_not_close() {
    late_ones_end_while_half_open("S", "ok").await;
}

#[tokio::test(start_paused = true)]
async fn stl_02_late_failures_do_not_open() {
    late_ones_end_while_half_open("F", "server").await;
}

#[tokio::test(start_paused = true)]
async fn stl_03_a_late_failure_does_not_lengthen_open() {
    let far = two_probes();
    let gate = Gate::new("F");
    let late = far.begin(&gate, 1).await.pop().unwrap();
    far.trip().await;
    far.at_ms(900).await;
    let ((), events) = record(async {
        gate.open(1);
        assert_eq!(late.await.unwrap(), "server");
        far.at_ms(1_000).await;
        assert_eq!(far.one("S").await, "ok");
    })
    .await;
    assert_eq!(transitions(&events), ["open>half_open cooldown_over"]);
}

#[tokio::test(start_paused = true)]
async fn stl_06_a_late_failure_is_not_in_the_window_of_the_next_closed_period() {
    let far = Stand::new(
        r#"
        timeout = "60s"
        breaker = { window = "2 calls", minimum_calls = 2, failure_rate = 1.0, cooldown = "1s", cooldown_jitter = 0.0 }
        "#,
    );
    let gate = Gate::new("F");
    let late = far.begin(&gate, 1).await.pop().unwrap();
    far.each("F F").await;
    far.at_ms(1_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
    gate.open(1);
    assert_eq!(late.await.unwrap(), "server");
    assert_eq!(far.window(), 0);
    assert_eq!(far.one("F").await, "server");
    assert_eq!((far.window(), far.state()), (1, "closed"));
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn stl_06_a_call_from_before_a_reset_is_late_only_if_the_state_changed() {
    let far = two_probes();
    let gate = Gate::new("F");
    let early = far.begin(&gate, 1).await.pop().unwrap();
    far.trip().await;
    far.reset().await;
    gate.open(1);
    assert_eq!(early.await.unwrap(), "server");
    assert_eq!((far.window(), far.state()), (0, "closed"));
}

#[tokio::test(start_paused = true)]
async fn stl_07_work_that_goes_on_after_its_timeout_is_counted_once() {
    let far = Stand::new("timeout = \"100ms\"\nbreaker = { window = \"2 calls\", failure_rate = 1.0 }");
    let (told, ended) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let result = far
        .guard
        .call(|| {
            let told = told.take();
            let work = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                told.map(|told| told.send(()));
                Err::<(), _>(FarError::Failed(resilience_runtime::FailureKind::Server))
            });
            async move { work.await.unwrap() }
        })
        .await;
    assert_eq!(crate::kit::seen(&result), "timed_out");
    assert_eq!((far.now_ms(), far.window()), (100, 1));
    ended.await.unwrap();
    settle().await;
    assert_eq!((far.now_ms(), far.window(), far.state()), (300, 1, "closed"));
}

#[tokio::test(start_paused = true)]
async fn a_late_probe_of_the_half_open_before_decides_nothing_in_this_one() {
    let far = two_probes();
    far.trip().await;
    far.at_ms(1_000).await;
    let gate = Gate::new("S");
    let late = far.begin(&gate, 1).await.pop().unwrap();
    assert_eq!(far.one("F").await, "server");
    assert_eq!(far.state(), "open");
    far.at_ms(3_000).await;
    let body = Script::new("S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    gate.open(1);
    assert_eq!(late.await.unwrap(), "ok");
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(far.state(), "closed");
}
