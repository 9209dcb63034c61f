//! The retry stands outside of the breaker: each attempt is admitted and counted by itself.

use std::time::Duration;

use resilience_runtime::available;

use crate::kit::Script;
use crate::stand::{Stand, words};

fn both(retry: &str, breaker: &str) -> Stand {
    Stand::new(&format!(
        r#"
        timeout = "10s"
        retry = {{ backoff = "10ms", jitter = "none", budget_floor = 9.0, {retry} }}
        breaker = {{ cooldown_jitter = 0.0, cooldown_factor = 1.0, {breaker} }}
        "#
    ))
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_is_not_repeated_into_the_open_breaker() {
    let far = both("max_attempts = 5", r#"window = "9 calls", cooldown = "1s""#);
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("F S");
    assert_eq!(far.calls(&body, 1).await, ["open"]);
    assert_eq!((body.starts(), far.now_ms(), far.state()), (1, 1_010, "open"));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_does_not_count_may_be_repeated_by_the_same_call() {
    let far = both("max_attempts = 5", r#"window = "9 calls", cooldown = "1s""#);
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("Q Q S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((body.starts(), far.state()), (3, "closed"));
}

#[tokio::test(start_paused = true)]
async fn the_attempt_that_opens_and_the_next_that_closes_may_be_of_one_call() {
    let far = both("max_attempts = 3", r#"window = "2 calls", cooldown = "5ms""#);
    let body = Script::new("F F S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((body.starts(), far.now_ms(), far.state()), (3, 30, "closed"));
}

#[tokio::test(start_paused = true)]
async fn throttling_is_repeated_after_the_time_it_names_and_opens_nothing() {
    let far = both("max_attempts = 3", r#"window = "2 calls", consecutive_failures = 2"#);
    let body = Script::new("Q3s Q3s S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(
        (body.starts(), far.now_ms(), far.state(), far.window()),
        (3, 6_000, "closed", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn throttling_without_a_time_is_repeated_after_the_ordinary_pause() {
    let far = both("max_attempts = 3", r#"window = "2 calls""#);
    let body = Script::new("Q Q S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((body.starts(), far.now_ms()), (3, 30));
}

#[tokio::test(start_paused = true)]
async fn throttling_binds_the_call_alone_unless_the_policy_says_everybody() {
    let far = both("max_attempts = 1", r#"window = "2 calls""#);
    assert_eq!(far.each("Q30s S").await, words("throttled ok"));

    let far = Stand::new(
        r#"
        timeout = "10s"
        throttle = "dependency"
        max_hold = "20s"
        breaker = { window = "2 calls" }
        "#,
    );
    let body = Script::new("Q30s S");
    assert_eq!(far.calls(&body, 1).await, ["throttled"]);
    far.at_ms(5_000).await;
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    let rejection = failure.rejection().unwrap();
    assert_eq!(rejection.reason().as_str(), "held");
    assert_eq!(
        rejection.retry_after(),
        Some(Duration::from_secs(15)),
        "at most max_hold"
    );
    assert!(!far.runtime.scope(async { available("far") }).await);
    assert_eq!(far.state(), "closed");
    far.at_ms(20_000).await;
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(body.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hold_rejects_the_next_attempt_of_another_call_too() {
    let far = Stand::new(
        r#"
        throttle = "dependency"
        retry = { max_attempts = 3, backoff = "1s", jitter = "none" }
        "#,
    );
    let pausing = far.begin_script(&Script::new("F S")).await;
    far.at_ms(500).await;
    let told = far.begin_script(&Script::new("Q10s S")).await;
    assert_eq!(pausing.await.unwrap(), "held");
    assert_eq!(far.now_ms(), 1_000);
    // Who got the answer waits it out.
    assert_eq!(told.await.unwrap(), "ok");
    assert_eq!(far.now_ms(), 10_500);
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_ends_the_attempts_with_the_last_result() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        retry = { max_attempts = 5, backoff = "0s", budget = 0.0, budget_floor = 0.2 }
        breaker = { window = "9 calls", minimum_calls = 9 }
        "#,
    );
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.window()), (3, 3));
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.window()), (4, 4));
    assert!(far.read().retry_budget.unwrap() < 1.0);
}
