//! The deadline bounds everything inside of it.

use std::time::Duration;

use resilience_runtime::deadline::{remaining, within};
use resilience_runtime::testing::record;

use crate::kit::{Gate, Script, call, secs, seen};
use crate::stand::{Stand, rejections, words};

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[tokio::test(start_paused = true)]
async fn over_a_wait_it_is_exceeded_and_equal_to_it_the_wait_was_too_long() {
    for (deadline, result, at) in [
        (300, "deadline_exceeded", 300),
        (500, "wait_timed_out", 500),
        (900, "wait_timed_out", 500),
    ] {
        let far = Stand::new("bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"500ms\" }");
        let gate = Gate::new("S");
        let holder = far.begin(&gate, 1).await.pop().unwrap();
        let body = Script::new("S");
        assert_eq!(
            within(millis(deadline), call(&far.guard, &body)).await,
            result,
            "{deadline}"
        );
        assert_eq!((far.now_ms(), body.starts(), far.slots()), (at, 0, (1, 0)));
        gate.open(1);
        assert_eq!(holder.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_uses_it_up() {
    let far =
        Stand::new("deadline = \"300ms\"\nbulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"300ms\" }");
    let first = far.begin_script(&Script::new("S/200ms")).await;
    let body = Script::new("H");
    assert_eq!(far.calls(&body, 1).await, ["deadline_exceeded"]);
    assert_eq!((far.now_ms(), body.starts(), first.await.unwrap()), (300, 1, "ok"));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_it_cuts_is_a_failure_for_the_breaker_and_not_repeated() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        deadline = "100ms"
        retry = { max_attempts = 5, backoff = "0s" }
        breaker = { window = "1 calls", failure_rate = 1.0 }
        "#,
    );
    let body = Script::new("H");
    let (results, events) = record(far.calls(&body, 2)).await;
    assert_eq!(results, words("deadline_exceeded open"));
    assert_eq!(rejections(&events), words("deadline_exceeded open"));
    assert_eq!((body.starts(), body.ends(), far.now_ms()), (1, 1, 100));
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_timeout_and_deadline_gives_the_name() {
    for (timeout, deadline, result, at) in [
        ("100ms", "150ms", "timed_out", 100),
        ("150ms", "100ms", "deadline_exceeded", 100),
        ("100ms", "100ms", "timed_out", 100),
    ] {
        let far = Stand::new(&format!("timeout = \"{timeout}\"\ndeadline = \"{deadline}\""));
        assert_eq!(far.one("H").await, result, "{timeout} {deadline}");
        assert_eq!(far.now_ms(), at);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_exactly_on_it_has_succeeded() {
    let far = Stand::new("deadline = \"100ms\"");
    assert_eq!(far.one("S/100ms").await, "ok");
    assert_eq!(far.now_ms(), 100);
}

#[tokio::test(start_paused = true)]
async fn the_attempt_after_a_pause_has_only_what_is_left() {
    let far = Stand::new(
        r#"
        timeout = "100ms"
        deadline = "170ms"
        retry = { max_attempts = 3, backoff = "50ms", jitter = "none" }
        "#,
    );
    let body = Script::new("H");
    assert_eq!(far.calls(&body, 1).await, ["deadline_exceeded"]);
    assert_eq!((body.starts(), far.now_ms()), (2, 170));
}

#[tokio::test(start_paused = true)]
async fn throttling_that_names_a_time_beyond_it_is_returned_now() {
    let far = Stand::new("deadline = \"5s\"\nretry = { max_attempts = 3 }");
    let body = Script::new("Q5s S");
    assert_eq!(far.calls(&body, 1).await, ["throttled"]);
    assert_eq!((body.starts(), far.now_ms()), (1, 0));
    let body = Script::new("Q4s S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((body.starts(), far.now_ms()), (2, 4_000));
}

#[tokio::test(start_paused = true)]
async fn within_bounds_every_call_inside_and_the_earlier_one_counts() {
    let far = Stand::new("timeout = \"10s\"\ndeadline = \"300ms\"");
    assert_eq!(remaining(), None);
    let seen = within(millis(500), async {
        assert_eq!(remaining(), Some(millis(500)));
        let first = far.one("H").await;
        let at = far.now_ms();
        // The outer one is the earlier by now.
        let second = within(secs(5), far.one("H")).await;
        assert_eq!(remaining(), Some(Duration::ZERO));
        let third = far.one("S").await;
        (first, at, second, third)
    })
    .await;
    assert_eq!(
        seen,
        ("deadline_exceeded", 300, "deadline_exceeded", "deadline_exceeded")
    );
    assert_eq!((far.now_ms(), remaining()), (500, None));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_begins_after_it_takes_nothing_and_never_runs() {
    let far = Stand::new(
        "timeout = \"10s\"\nbulkhead.max_concurrent = 1\nbreaker = { window = \"1 calls\", failure_rate = 1.0 }",
    );
    let body = Script::new("S");
    within(millis(10), async {
        far.at_ms(10).await;
        let failure = far.guard.call(|| body.run()).await;
        assert_eq!(seen(&failure), "deadline_exceeded");
        assert_eq!(failure.unwrap_err().rejection().unwrap().retry_after(), None);
    })
    .await;
    assert_eq!((body.starts(), far.slots(), far.window()), (0, (0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_it_cuts_opens_again() {
    let far =
        Stand::new("timeout = \"10s\"\nbreaker = { window = \"9 calls\", cooldown = \"1s\", cooldown_jitter = 0.0 }");
    far.trip().await;
    far.at_ms(1_000).await;
    assert_eq!(within(millis(50), far.one("H")).await, "deadline_exceeded");
    assert_eq!(
        (far.state(), far.read().cause, far.now_ms()),
        ("open", Some("probe_timed_out"), 1_050)
    );
}

#[tokio::test(start_paused = true)]
async fn it_is_not_seen_by_tasks_that_are_spawned_inside() {
    let far = Stand::new("timeout = \"1s\"");
    let (guard, body) = (far.guard.clone(), Script::new("S/500ms"));
    let result = within(millis(100), async move {
        tokio::spawn(async move { call(&guard, &body).await }).await
    })
    .await;
    assert_eq!(result.unwrap(), "ok");
}
