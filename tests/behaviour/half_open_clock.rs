//! How long open lasts, and what the clock alone changes.

use std::pin::pin;
use std::time::Duration;

use resilience_runtime::testing::record;
use resilience_runtime::{Mode, Override, available};

use crate::kit::{Script, poll_once, secs};
use crate::stand::{Stand, transitions, words};

fn breaker(keys: &str) -> String {
    format!("timeout = \"60s\"\nbreaker = {{ cooldown_jitter = 0.0, {keys} }}")
}

#[tokio::test(start_paused = true)]
async fn ho_01_the_cooldown_ends_by_the_clock_and_half_open_starts_from_nothing() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "5s", probes = 4"#));
    far.trip().await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(3_000).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(6_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!((far.state(), far.window()), ("half_open", 0));
}

#[tokio::test(start_paused = true)]
async fn ho_11_a_probe_that_hangs_fails_when_its_timeout_is_over() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        breaker = { window = "10 calls", cooldown = "5s", cooldown_factor = 1.0, cooldown_jitter = 0.0 }
        "#,
    );
    far.trip().await;
    far.at_ms(5_000).await;
    let hung = far.begin_script(&Script::new("H")).await;
    far.at_ms(5_500).await;
    let rejected = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    let rejection = rejected.rejection().unwrap();
    assert_eq!(rejection.reason().as_str(), "probes_busy");
    assert_eq!(rejection.retry_after(), Some(Duration::from_millis(500)));
    far.at_ms(6_000).await;
    assert_eq!(hung.await.unwrap(), "timed_out");
    tokio::time::advance(Duration::from_nanos(1)).await;
    assert_eq!(far.one("S").await, "open");
    assert_eq!(far.read().cause, Some("probe_timed_out"));
    far.at_ms(10_999).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(11_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn ho_11_a_probe_whose_caller_never_looks_again_fails_just_the_same() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        breaker = { window = "10 calls", cooldown = "5s", cooldown_factor = 1.0, cooldown_jitter = 0.0 }
        "#,
    );
    far.trip().await;
    far.at_ms(5_000).await;
    let body = Script::new("H");
    let mut forgotten = pin!(far.guard.call(|| body.run()));
    assert!(poll_once(forgotten.as_mut()).is_pending());
    far.at_ms(5_999).await;
    assert_eq!(far.state(), "half_open");
    far.at_ms(6_001).await;
    assert_eq!((far.state(), far.read().cause), ("open", Some("probe_timed_out")));
    // The cooldown began when the probe's time was over, not when somebody looked.
    far.at_ms(10_999).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(11_000).await;
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn ho_15_reading_is_enough_to_leave_open() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "200ms""#));
    let ((), events) = record(async {
        far.each("10*F").await;
        assert_eq!(far.state(), "open");
        far.at_ms(600).await;
        assert_eq!(far.state(), "half_open");
        assert_eq!(far.one("S").await, "ok");
        assert_eq!(far.state(), "closed");
    })
    .await;
    let made = [
        "closed>open failure_rate",
        "open>half_open cooldown_over",
        "half_open>closed probes_succeeded",
    ];
    assert_eq!(transitions(&events), made);
}

#[tokio::test(start_paused = true)]
async fn ho_17_a_failed_probe_starts_the_cooldown_again() {
    let keys = r#"window = "4 calls", cooldown = "1s", cooldown_factor = 1.0, probe_successes = 2, probes = 1"#;
    let far = Stand::new(&breaker(keys));
    far.trip().await;
    far.at_ms(1_500).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.one("F").await, "server");
    for at in [1_500, 2_000, 2_499] {
        far.at_ms(at).await;
        assert_eq!(far.one("S").await, "open", "at {at} ms");
    }
    far.at_ms(3_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn ho_19_each_opening_in_a_row_lasts_longer_until_it_closes() {
    let far = Stand::new(&breaker(
        r#"window = "10 calls", cooldown = "5s", cooldown_factor = 1.5"#,
    ));
    far.trip().await;
    far.at_ms(3_000).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(6_000).await;
    assert_eq!(far.one("F").await, "server");
    far.at_ms(12_000).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(17_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
    far.trip().await;
    far.at_ms(21_999).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(22_000).await;
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn ho_20_open_ends_exactly_at_its_end() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1000ms""#));
    far.trip().await;
    tokio::time::advance(Duration::from_nanos(999_999_999)).await;
    assert_eq!(far.one("S").await, "open");
    tokio::time::advance(Duration::from_nanos(1)).await;
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn ho_21_the_end_of_an_opening_that_was_reset_does_nothing_to_the_next() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "2s""#));
    far.trip().await;
    far.at_ms(1_000).await;
    far.reset().await;
    far.at_ms(1_500).await;
    far.trip().await;
    far.at_ms(2_000).await;
    assert_eq!(far.state(), "open");
    far.at_ms(3_499).await;
    assert_eq!(far.state(), "open");
    far.at_ms(3_500).await;
    assert_eq!(far.state(), "half_open");
}

#[tokio::test(start_paused = true)]
async fn ho_21_isolation_outlasts_the_cooldown() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "2s""#));
    far.trip().await;
    far.at_ms(1_000).await;
    far.runtime
        .set_mode("far", Override::new(Mode::Isolate, "ops", "maintenance", secs(3_600)))
        .unwrap();
    far.at_ms(3_000).await;
    assert_eq!(far.one("S").await, "isolated");
    assert!(!far.runtime.scope(async { available("far") }).await);
    far.runtime.clear_mode("far").unwrap();
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn what_a_rejected_caller_is_told_is_what_is_truly_left() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "5s""#));
    far.trip().await;
    far.at_ms(1_250).await;
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    assert_eq!(
        failure.rejection().unwrap().retry_after(),
        Some(Duration::from_millis(3_750))
    );
    assert!((far.read().retry_after.unwrap() - 3.75).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn samples_are_let_through_while_open_and_change_nothing() {
    let far = Stand::new(&breaker(
        r#"window = "10 calls", cooldown = "30s", sample_every = "10s""#,
    ));
    far.trip().await;
    let body = Script::new("S");
    let ((), events) = record(async {
        for at in [5_000, 10_000, 10_001, 19_999, 20_000] {
            far.at_ms(at).await;
            let expected = if at == 10_000 || at == 20_000 { "ok" } else { "open" };
            assert_eq!(far.calls(&body, 1).await, words(expected), "at {at} ms");
        }
    })
    .await;
    assert_eq!((far.state(), body.starts()), ("open", 2));
    let samples: Vec<_> = events.iter().filter(|event| event.name() == "breaker.sample").collect();
    assert_eq!(samples.len(), 2);
    assert_eq!(samples[0].field("outcome"), Some("success"));
}
