//! The layers together, in the one order: bulkhead, retry, breaker, timeout, body.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kit::{Gate, Script, seen, settle};
use crate::stand::{Stand, words};

const TWO_TIMED: &str = r#"
timeout = "500ms"
breaker = { window = "2 calls", failure_rate = 0.75, cooldown = "50s", cooldown_jitter = 0.0 }
"#;

#[tokio::test(start_paused = true)]
async fn cmp_01_attempts_that_are_cut_open_the_breaker() {
    let far = Stand::new(TWO_TIMED);
    let body = Script::new("S/1000ms");
    assert_eq!(far.calls(&body, 3).await, words("2*timed_out open"));
    assert_eq!((body.starts(), body.running(), far.now_ms()), (2, 0, 1_000));
}

#[tokio::test(start_paused = true)]
async fn cmp_02_cut_attempts_of_an_unlisted_kind_never_open_it() {
    let far = Stand::new(&format!("failures = [\"server\"]\n{TWO_TIMED}"));
    let body = Script::new("S/1000ms");
    assert_eq!(far.calls(&body, 3).await, words("3*timed_out"));
    assert_eq!((body.starts(), far.state(), far.window()), (3, "closed", 0));
}

fn bulkhead_and_breaker(bulkhead: &str) -> Stand {
    Stand::new(&format!(
        r#"
            timeout = "60s"
            bulkhead = {{ {bulkhead} }}
            breaker = {{ window = "3 calls", failure_rate = 1.0, cooldown = "50s" }}
            "#
    ))
}

#[tokio::test(start_paused = true)]
async fn cmp_03_and_05_calls_without_a_slot_never_reach_the_breaker() {
    let far = bulkhead_and_breaker("max_concurrent = 1, max_waiting = 1, max_wait = \"60s\"");
    let gate = Gate::new("S");
    let first_two = far.begin(&gate, 2).await;
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 5).await, words("5*bulkhead_full"));
    assert_eq!(
        (far.slots(), gate.running(), far.window(), body.starts()),
        ((1, 1), 1, 0, 0)
    );
    gate.open(2);
    for call in first_two {
        assert_eq!(call.await.unwrap(), "ok");
    }
    assert_eq!((far.window(), far.state(), far.slots()), (2, "closed", (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn cmp_04_a_bulkhead_without_a_line_rejects_and_the_breaker_stays_closed() {
    let far = bulkhead_and_breaker("max_concurrent = 1");
    let gate = Gate::new("S");
    let first = far.begin(&gate, 1).await.pop().unwrap();
    assert_eq!(far.each("5*F").await, words("5*bulkhead_full"));
    assert_eq!((far.window(), far.state()), (0, "closed"));
    gate.open(1);
    assert_eq!(first.await.unwrap(), "ok");
}

fn retry_and_breaker(retry: &str) -> Stand {
    Stand::new(&format!(
        r#"
        timeout = "100ms"
        retry = {{ backoff = "0s", budget_floor = 100.0, {retry} }}
        breaker = {{ window = "4 calls", failure_rate = 0.75, cooldown = "50s", cooldown_jitter = 0.0 }}
        "#
    ))
}

#[tokio::test(start_paused = true)]
async fn cmp_06_the_attempt_after_the_opening_is_rejected_and_not_repeated() {
    let far = retry_and_breaker("max_attempts = 8");
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["open"]);
    assert_eq!((body.starts(), far.state()), (4, "open"));
}

#[tokio::test(start_paused = true)]
async fn cmp_07_fewer_attempts_than_the_breaker_needs_give_the_own_error() {
    let far = retry_and_breaker("max_attempts = 3");
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.state(), far.window()), (3, "closed", 3));
}

#[tokio::test(start_paused = true)]
async fn cmp_08_and_11_a_rejection_is_never_waited_out_by_a_retry() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        retry = { max_attempts = 20, backoff = "200ms", jitter = "none" }
        breaker = { window = "4 calls", failure_rate = 0.75, cooldown = "1s", cooldown_jitter = 0.0 }
        "#,
    );
    far.trip().await;
    let body = Script::new("S");
    assert_eq!(far.calls(&body, 1).await, ["open"]);
    assert_eq!((body.starts(), far.now_ms()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn cmp_10_a_pause_that_outlasts_the_cooldown_makes_the_next_attempt_the_probe() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        retry = { max_attempts = 6, backoff = "1ms", jitter = "none" }
        breaker = { window = "5 calls", failure_rate = 0.5, cooldown = "1ms", cooldown_jitter = 0.0 }
        "#,
    );
    let body = Script::new("5*F S");
    let (results, events) = resilience_runtime::testing::record(far.calls(&body, 1)).await;
    assert_eq!(results, ["ok"]);
    assert_eq!((body.starts(), far.state()), (6, "closed"));
    assert!(crate::stand::rejections(&events).is_empty());
    assert_eq!(crate::stand::transitions(&events).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn cmp_12_every_cut_attempt_counts() {
    let far = retry_and_breaker("max_attempts = 8");
    let body = Script::new("H");
    assert_eq!(far.calls(&body, 1).await, ["open"]);
    assert_eq!((body.starts(), far.now_ms()), (4, 400));
}

#[tokio::test(start_paused = true)]
async fn cmp_13_the_breaker_has_one_result_for_each_attempt() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        retry = { max_attempts = 6, backoff = "0s" }
        breaker = { window = "5 calls", minimum_calls = 1, failure_rate = false }
        "#,
    );
    assert_eq!(far.calls(&Script::new("F F S"), 1).await, ["ok"]);
    assert_eq!((far.window(), far.failed_and_slow().0), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn cmp_14_each_attempt_has_the_whole_timeout() {
    let lines = "timeout = \"500ms\"\nretry = { max_attempts = 2, backoff = \"0s\" }";
    for (step, result, at) in [("S/1000ms", "timed_out", 1_000), ("F/10ms", "server", 20)] {
        let far = Stand::new(lines);
        let body = Script::new(step);
        assert_eq!(far.calls(&body, 1).await, [result]);
        assert_eq!((body.starts(), far.now_ms()), (2, at));
    }
}

#[tokio::test(start_paused = true)]
async fn cmp_14_a_timeout_that_is_not_listed_is_not_repeated() {
    let far =
        Stand::new("timeout = \"500ms\"\nfailures = [\"connect\"]\nretry = { max_attempts = 2, backoff = \"0s\" }");
    let body = Script::new("H");
    assert_eq!(far.calls(&body, 1).await, ["timed_out"]);
    assert_eq!((body.starts(), far.now_ms()), (1, 500));
}

#[tokio::test(start_paused = true)]
async fn cmp_15_what_stands_inside_runs_for_each_attempt_and_what_stands_outside_once() {
    let far = Stand::new("timeout = \"1s\"\nretry = { max_attempts = 2, backoff = \"0s\" }");
    let (inside, body) = (AtomicUsize::new(0), Script::new("F F"));
    let mut outside = 0;
    let result = {
        outside += 1;
        far.guard
            .call(|| {
                inside.fetch_add(1, Ordering::Relaxed);
                body.run()
            })
            .await
    };
    assert_eq!(seen(&result), "server");
    assert_eq!((outside, inside.into_inner(), body.starts()), (1, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn cmp_16_a_call_keeps_its_slot_through_its_pauses() {
    let far = Stand::new(
        r#"
        bulkhead = { max_concurrent = 10 }
        retry = { max_attempts = 4, backoff = "200ms", backoff_max = "200ms", jitter = "none", budget_floor = 100.0 }
        "#,
    );
    let body = Script::new("F/50ms");
    let mut tasks = Vec::new();
    for call in 0..400 {
        far.at_ms(call * 20).await;
        tasks.push(far.begin_script(&body).await);
    }
    let mut accepted = 0;
    for task in tasks {
        match task.await.unwrap() {
            "server" => accepted += 1,
            other => assert_eq!(other, "bulkhead_full"),
        }
    }
    assert_eq!((accepted, body.starts(), far.slots()), (100, 400, (0, 0)));
    settle().await;
    assert_eq!(body.running(), 0);
}
