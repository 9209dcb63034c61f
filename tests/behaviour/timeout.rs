//! The time of one attempt.

use resilience_runtime::Policy;
use resilience_runtime::testing::record;

use crate::kit::{Script, settle};
use crate::stand::{Stand, rejections, words};

#[tokio::test(start_paused = true)]
async fn tmo_01_an_attempt_ends_with_its_own_result_or_at_its_limit() {
    for (limit, millis, step, result, at) in [
        ("1000ms", 1_000, "F/20000ms", "timed_out", 1_000),
        ("1000ms", 1_000, "F/10ms", "server", 10),
        ("2000ms", 2_000, "F/2500ms", "timed_out", 2_000),
        ("2000ms", 2_000, "F/1500ms", "server", 1_500),
        ("500ms", 500, "F/1000ms", "timed_out", 500),
        ("500ms", 500, "F/10ms", "server", 10),
        ("2s", 2_000, "F/2500ms", "timed_out", 2_000),
        ("2s", 2_000, "F/1500ms", "server", 1_500),
    ] {
        let far = Stand::new(&format!("timeout = \"{limit}\""));
        assert_eq!(far.one(step).await, result, "{limit} {step}");
        assert_eq!(far.now_ms(), at);
        assert!(at <= millis);
    }
}

#[test]
fn tmo_02_none_is_spelled_by_leaving_it_out() {
    for limit in ["\"0s\"", "\"-1s\"", "0", "-1", "\"0ms\"", "500", "\"500\"", "\"25h\""] {
        let text = format!("version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = {limit}\n");
        let refused = Policy::from_toml(&text).expect_err(limit);
        assert_eq!(refused.faults()[0].key(), "dependency.far.timeout", "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn tmo_02_without_one_nothing_is_cut() {
    let far = Stand::new("bulkhead.max_concurrent = 1");
    assert_eq!(far.one("S/86400s").await, "ok");
    assert_eq!(far.now_ms(), 86_400_000);
}

#[tokio::test(start_paused = true)]
async fn tmo_03_a_body_that_waits_for_ever_is_cut_exactly_at_the_limit() {
    let far = Stand::new("timeout = \"500ms\"");
    let body = Script::new("H S/200ms");
    let call = far.begin_script(&body).await;
    far.at_ms(499).await;
    assert!(!call.is_finished());
    far.at_ms(500).await;
    assert_eq!(call.await.unwrap(), "timed_out");
    assert_eq!((body.running(), body.ends()), (0, 1));
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(far.now_ms(), 700);
}

#[tokio::test(start_paused = true)]
async fn tmo_04_each_attempt_is_cut_and_repeated() {
    let far = Stand::new("timeout = \"500ms\"\nretry = { max_attempts = 3, backoff = \"0s\" }");
    let body = Script::new("H");
    assert_eq!(far.calls(&body, 1).await, ["timed_out"]);
    assert_eq!((body.starts(), body.ends(), far.now_ms()), (3, 3, 1_500));
}

#[tokio::test(start_paused = true)]
async fn tmo_07_a_body_that_ends_exactly_on_its_limit_has_succeeded() {
    let far = Stand::new("timeout = \"500ms\"\nbreaker = { window = \"1 calls\", failure_rate = 1.0 }");
    assert_eq!(far.one("S/500ms").await, "ok");
    assert_eq!((far.now_ms(), far.state()), (500, "closed"));
}

#[tokio::test(start_paused = true)]
async fn tmo_08_a_dropped_call_is_no_timeout() {
    let far = Stand::new("timeout = \"100ms\"\nretry = { max_attempts = 4 }\nbreaker = { window = \"2 calls\" }");
    let body = Script::new("H");
    let ((), events) = record(async {
        let call = far.guard.call(|| body.run());
        let left = far.clock.at(std::time::Duration::from_millis(10));
        tokio::select! { _ = call => unreachable!("it hangs"), () = left => {} }
        far.at_ms(200).await;
        settle().await;
    })
    .await;
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(
        (body.starts(), body.running(), far.window(), far.read().in_flight),
        (1, 0, 0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn tmo_09_our_own_timeout_and_the_client_librarys_are_both_failures() {
    for (step, result) in [("H", "timed_out"), ("T", "timeout")] {
        let far = Stand::new("timeout = \"100ms\"\nbreaker = { window = \"2 calls\", failure_rate = 0.5 }");
        assert_eq!(far.calls(&Script::new(step), 3).await, vec![result, result, "open"]);
    }
}

#[tokio::test(start_paused = true)]
async fn met_10_a_cut_attempt_is_told_once_and_never_late() {
    let far = Stand::new("timeout = \"500ms\"");
    let (results, events) = record(far.each("H H S/10ms")).await;
    assert_eq!(results, words("2*timed_out ok"));
    assert_eq!(rejections(&events), words("2*timed_out"));
    assert_eq!(far.now_ms(), 1_010);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_shorter_than_a_tick_still_cuts() {
    let far = Stand::new("timeout = \"300us\"");
    assert_eq!(far.one("H").await, "timed_out");
    assert!(far.now_ms() <= 1);
}
