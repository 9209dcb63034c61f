//! What the breaker counts, and when it opens.

use resilience_runtime::testing::record;
use resilience_runtime::{Mode, Override};

use crate::kit::{Script, secs, together};
use crate::stand::{Stand, is_rate, rejections, transitions, words};

const THREE_OF_FOUR: &str = r#"
timeout = "10s"
breaker = { window = "4 calls", failure_rate = 0.75, cooldown = "1s", cooldown_factor = 1.0, cooldown_jitter = 0.0 }
"#;

#[tokio::test(start_paused = true)]
async fn brk_01_four_failures_open_and_the_rest_never_begin() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        breaker = { window = "4 calls", failure_rate = 0.75, cooldown = "50s", cooldown_jitter = 0.0, probes = 2 }
        "#,
    );
    let body = Script::new("F");
    let ((), events) = record(async {
        assert_eq!(far.calls(&body, 3).await, words("3*server"));
        assert_eq!(far.state(), "closed");
        assert_eq!(far.calls(&body, 1).await, ["server"]);
        assert_eq!(far.state(), "open");
        assert_eq!(far.calls(&body, 3).await, words("3*open"));
    })
    .await;
    assert_eq!((body.starts(), far.window(), far.now_ms()), (4, 4, 0));
    assert_eq!(transitions(&events), ["closed>open failure_rate"]);
    assert_eq!(rejections(&events), words("3*open"));
}

#[tokio::test(start_paused = true)]
async fn brk_02_two_successes_close_after_the_cooldown() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        breaker.window = "4 calls"
        breaker.failure_rate = 0.75
        breaker.cooldown = "1ms"
        breaker.cooldown_jitter = 0.0
        breaker.probe_successes = 2
        breaker.probes = 1
        "#,
    );
    let body = Script::new("4*F S");
    assert_eq!(far.calls(&body, 4).await, words("4*server"));
    far.at_ms(500).await;
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(body.starts(), 7);
}

#[tokio::test(start_paused = true)]
async fn brk_03_one_success_closes_and_the_window_starts_again() {
    let far = Stand::new(THREE_OF_FOUR);
    let body = Script::new("4*F S 4*F");
    let ((), events) = record(async {
        assert_eq!(far.calls(&body, 5).await, words("4*server open"));
        far.at_ms(2_000).await;
        assert_eq!(far.calls(&body, 6).await, words("ok 4*server open"));
    })
    .await;
    assert_eq!(body.starts(), 9);
    let opened = transitions(&events)
        .iter()
        .filter(|made| made.starts_with("closed>open"))
        .count();
    assert_eq!(opened, 2);
}

#[tokio::test(start_paused = true)]
async fn brk_04_a_failure_among_three_needed_successes_opens_again() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        breaker.window = "4 calls"
        breaker.failure_rate = 0.75
        breaker.cooldown = "1s"
        breaker.cooldown_jitter = 0.0
        breaker.probe_successes = 3
        breaker.probes = 1
        "#,
    );
    let body = Script::new("4*F 2*S F");
    assert_eq!(far.calls(&body, 5).await, words("4*server open"));
    far.at_ms(2_000).await;
    assert_eq!(far.calls(&body, 2).await, words("2*ok"));
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.calls(&body, 2).await, words("server open"));
    assert_eq!((far.state(), body.starts()), ("open", 7));
}

#[tokio::test(start_paused = true)]
async fn brk_06_successes_count_in_the_window_before_and_after() {
    let far = Stand::new(THREE_OF_FOUR);
    let body = Script::new("S 3*F 2*S 3*F");
    assert_eq!(far.calls(&body, 5).await, words("ok 3*server open"));
    far.at_ms(2_000).await;
    assert_eq!(far.calls(&body, 6).await, words("ok ok 3*server open"));
    assert_eq!(body.starts(), 9);
}

#[tokio::test(start_paused = true)]
async fn brk_08_the_nearer_table_counts() {
    let text = r#"
        version = 1
        [defaults]
        timeout = "10s"
        breaker = { window = "4 calls", failure_rate = 0.75, cooldown_jitter = 0.0 }
        [dependency.far]
        fail = "closed"
        breaker = { window = "2 calls", failure_rate = 1.0, cooldown = "50s", probes = 2 }
        "#;
    let guard = resilience_runtime::Runtime::new(crate::kit::parse(text))
        .guard("far")
        .unwrap();
    let body = Script::new("F");
    assert_eq!(crate::kit::calls(&guard, &body, 7).await, words("2*server 5*open"));
    assert_eq!(body.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn brk_09_a_window_of_four_needs_four() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"4 calls\", failure_rate = 0.5 }");
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 5).await, words("4*server open"));
    assert_eq!(body.starts(), 4);
}

#[tokio::test(start_paused = true)]
async fn brk_10_eight_of_ten_is_exactly_four_fifths() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"10 calls\", failure_rate = 0.8 }");
    let body = Script::new("F F S F F F S F F F");
    assert_eq!(far.calls(&body, 9).await, words("2*server ok 3*server ok 2*server"));
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 2).await, words("server open"));
    assert_eq!(body.starts(), 10);
}

#[tokio::test(start_paused = true)]
async fn brk_11_a_business_answer_keeps_its_own_error_and_counts_as_a_success() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        breaker = { window = "4 calls", failure_rate = 0.5, cooldown = "1s", cooldown_jitter = 0.0, probes = 2 }
        "#,
    );
    let body = Script::new("S S N S S S F S F");
    assert_eq!(far.calls(&body, 8).await, words("2*ok business 3*ok server ok"));
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 6).await, words("server 5*open"));
    assert_eq!(body.starts(), 9);
}

#[tokio::test(start_paused = true)]
async fn brk_11_an_ignored_one_is_absent_from_the_window() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"4 calls\", failure_rate = 0.5 }");
    assert_eq!(far.each("S S I S S S F S").await, words("2*ok ignored 3*ok server ok"));
    assert_eq!((far.state(), far.window()), ("closed", 4));
    assert_eq!(far.each("F S").await, words("server open"));
}

const SLOW: &str = r#"
timeout = "10s"
breaker = { window = "20s", minimum_calls = 5, failure_rate = 0.5, slow_after = "4s", slow_rate = 0.5 }
"#;

#[tokio::test(start_paused = true)]
async fn brk_13_slow_attempts_open_whatever_they_returned() {
    let far = Stand::new(SLOW);
    let body = Script::new("F/5s S/5s F/100ms S/100ms S/5s");
    assert_eq!(far.calls(&body, 4).await, words("server ok server ok"));
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 2).await, words("ok open"));
    let read = far.read();
    assert_eq!((read.calls, read.cause), (5, Some("slow_rate")));
    assert!(
        is_rate(read.slow_rate, 0.6) && is_rate(read.failure_rate, 0.4),
        "{read:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn brk_13_slow_successes_alone_open() {
    let far = Stand::new(SLOW);
    assert_eq!(far.each("S/5s S/5s S/1s S/1s S/5s S").await, words("5*ok open"));
    let read = far.read();
    assert_eq!((read.calls, read.cause), (5, Some("slow_rate")));
    assert!(
        is_rate(read.slow_rate, 0.6) && is_rate(read.failure_rate, 0.0),
        "{read:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn brk_15_rates_are_of_the_window_and_rejections_are_not_in_it() {
    let far =
        Stand::new("timeout = \"10s\"\nbreaker = { window = \"10 calls\", minimum_calls = 10, failure_rate = false }");
    far.each("S S F F").await;
    let hand = Override::new(Mode::Isolate, "test", "to be rejected", secs(60));
    far.runtime.set_mode("far", hand).unwrap();
    assert_eq!(far.each("S S").await, words("2*isolated"));
    far.runtime.clear_mode("far").unwrap();
    assert_eq!((far.read().calls, far.read().failure_rate), (4, None));
    far.each("4*F 4*S").await;
    assert_eq!(far.read().calls, 10);
    assert!(is_rate(far.read().failure_rate, 0.6));
    far.each("3*S").await;
    assert!(is_rate(far.read().failure_rate, 0.3));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn brk_21_only_listed_kinds_are_failures() {
    for (step, counts) in [("T", true), ("C", true), ("F", false), ("X", false), ("O", false)] {
        let far = Stand::new(
            r#"
            timeout = "10s"
            failures = ["timeout", "connect"]
            breaker = { window = "1 calls", failure_rate = 1.0, cooldown = "20s" }
            "#,
        );
        far.one(step).await;
        let next = far.one("S").await;
        assert_eq!(next, if counts { "open" } else { "ok" }, "{step}");
    }
}

#[tokio::test(start_paused = true)]
async fn brk_21_what_is_no_failure_never_opens() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"1 calls\", failure_rate = 1.0 }");
    assert_eq!(
        far.each("B I Q Q1s S").await,
        words("business ignored throttled throttled ok")
    );
    assert_eq!((far.state(), far.window()), ("closed", 1));
}

#[tokio::test(start_paused = true)]
async fn brk_22_fifty_failures_of_one_instant_open_once() {
    let far = Stand::new(
        r#"
            timeout = "10s"
            breaker = { window = "50 calls", minimum_calls = 50, failure_rate = 0.5, cooldown = "10s" }
            "#,
    );
    let body = Script::new("F/1s");
    let (results, events) = record(together((0..50).map(|_| crate::kit::call(&far.guard, &body)))).await;
    assert_eq!(results, words("50*server"));
    assert_eq!(transitions(&events), ["closed>open failure_rate"]);
    assert_eq!((far.window(), far.state(), far.now_ms()), (50, "open", 1_000));
    assert_eq!(far.one("S").await, "open");
}

#[tokio::test(start_paused = true)]
async fn consecutive_failures_open_without_a_minimum_and_a_business_answer_ends_the_run() {
    let far = Stand::new(
        "timeout = \"10s\"\nbreaker = { window = \"100 calls\", failure_rate = false, consecutive_failures = 3 }",
    );
    assert_eq!(
        far.each("F F B F Q F I").await,
        words("2*server business server throttled server ignored")
    );
    assert_eq!(far.state(), "closed");
    assert_eq!(far.each("F S").await, words("server open"));
    assert_eq!(far.read().cause, Some("consecutive_failures"));
}

#[tokio::test(start_paused = true)]
async fn a_success_can_be_what_brings_the_window_to_its_minimum_and_opens_it() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"4 calls\", failure_rate = 0.5 }");
    assert_eq!(far.each("F F S").await, words("2*server ok"));
    assert_eq!(far.state(), "closed");
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "open");
}
