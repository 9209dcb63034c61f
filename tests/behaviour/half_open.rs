//! Half-open: who is let through, and what decides.

use std::panic::AssertUnwindSafe;

use resilience_runtime::testing::record;

use crate::kit::{Gate, Script, settle};
use crate::stand::{Stand, transitions, words};

fn breaker(keys: &str) -> String {
    format!("timeout = \"60s\"\nbreaker = {{ cooldown_jitter = 0.0, cooldown_factor = 1.0, {keys} }}")
}

#[tokio::test(start_paused = true)]
async fn ho_03_half_open_admits_as_many_as_it_needs_and_no_more() {
    let far = Stand::new(&breaker(
        r#"window = "10 calls", failure_rate = 0.5, cooldown = "200ms", probes = 5"#,
    ));
    let body = Script::new("10*F S");
    assert_eq!(far.calls(&body, 20).await, words("10*server 10*open"));
    far.at_ms(200).await;
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    let gate = Gate::new("S");
    let probes = far.begin(&gate, 4).await;
    assert_eq!(gate.running(), 4);
    assert_eq!(far.calls(&body, 10).await, words("10*probes_busy"));
    assert_eq!(body.starts(), 11);
    gate.open(4);
    for probe in probes {
        assert_eq!(probe.await.unwrap(), "ok");
    }
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!(body.starts() + gate.let_go(), 16);
}

#[tokio::test(start_paused = true)]
async fn ho_05_a_probe_given_back_is_there_again_and_each_half_open_has_all_of_them() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s", probes = 4"#));
    far.trip().await;
    far.at_ms(1_000).await;
    let gate = Gate::new("F");
    let mut begun = far.begin(&gate, 6).await;
    assert_eq!(gate.running(), 4);
    assert_eq!(begun.pop().unwrap().await.unwrap(), "probes_busy");
    assert_eq!(begun.pop().unwrap().await.unwrap(), "probes_busy");
    begun.pop().unwrap().abort();
    settle().await;
    assert_eq!((gate.running(), far.state()), (3, "half_open"));
    begun.extend(far.begin(&gate, 1).await);
    assert_eq!(gate.running(), 4);
    assert_eq!(far.one("S").await, "probes_busy");
    // One fails, and the others are late.
    gate.open(4);
    settle().await;
    assert_eq!((gate.running(), far.state()), (0, "open"));
    far.at_ms(2_000).await;
    let gate = Gate::new("S");
    let begun = far.begin(&gate, 6).await;
    assert_eq!(gate.running(), 4);
    gate.open(4);
    let mut results = Vec::new();
    for task in begun {
        results.push(task.await.unwrap());
    }
    assert_eq!(results, words("4*ok 2*probes_busy"));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn ho_06_the_first_failure_decides() {
    let far = Stand::new(&breaker(
        r#"window = "10 calls", failure_rate = 0.5, cooldown = "1s", probes = 4"#,
    ));
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("F F S F");
    assert_eq!(far.calls(&body, 4).await, words("server 3*open"));
    assert_eq!(
        (far.state(), far.read().cause, body.starts()),
        ("open", Some("probe_failed"), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn ho_08_results_that_do_not_count_give_their_probe_back() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s", probes = 4"#));
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("I I Q I S");
    assert_eq!(far.calls(&body, 4).await, words("2*ignored throttled ignored"));
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.calls(&body, 3).await, words("3*ok"));
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((far.state(), far.window(), body.starts()), ("closed", 0, 8));
}

#[tokio::test(start_paused = true)]
async fn ho_09_a_slow_success_is_a_failed_probe() {
    let keys = r#"window = "10 calls", slow_after = "4s", slow_rate = 0.5, cooldown = "1s", probes = 4"#;
    let far = Stand::new(&breaker(keys));
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("S/5s S/5s S/5s S/1s");
    assert_eq!(far.calls(&body, 2).await, words("ok open"));
    assert_eq!(
        (far.state(), far.read().cause, body.starts()),
        ("open", Some("probe_slow"), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn ho_09_exactly_slow_after_is_not_slow() {
    let keys = r#"window = "10 calls", slow_after = "4s", slow_rate = 0.5, cooldown = "1s""#;
    let far = Stand::new(&breaker(keys));
    far.trip().await;
    far.at_ms(1_000).await;
    assert_eq!(far.one("S/4s").await, "ok");
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn ho_10_later_successes_do_not_make_up_for_a_first_failure() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s", probes = 4"#));
    far.trip().await;
    far.at_ms(1_000).await;
    assert_eq!(far.each("F S S S").await, words("server 3*open"));
    assert_eq!(far.state(), "open");
}

#[tokio::test(start_paused = true)]
async fn ho_13_a_dropped_call_counts_neither_closed_nor_half_open() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s""#));
    let gate = Gate::new("S");
    far.begin(&gate, 1).await.pop().unwrap().abort();
    settle().await;
    assert_eq!((gate.running(), far.window(), far.read().in_flight), (0, 0, 0));
    far.trip().await;
    far.at_ms(1_000).await;
    let probe = far.begin(&gate, 1).await.pop().unwrap();
    far.at_ms(1_100).await;
    assert_eq!(far.one("S").await, "probes_busy");
    probe.abort();
    settle().await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!((far.state(), far.window()), ("closed", 0));
}

#[tokio::test(start_paused = true)]
async fn ho_14_a_probe_that_panics_is_a_failure_and_nothing_is_lost() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s", probes = 2"#));
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("P P S");
    let probe = far.begin_script(&body).await;
    assert!(probe.await.unwrap_err().is_panic());
    assert_eq!(
        (far.state(), far.read().cause, far.read().in_flight),
        ("open", Some("probe_failed"), 0)
    );
    assert_eq!(far.calls(&body, 1).await, ["open"]);
    far.at_ms(2_000).await;
    assert!(far.begin_script(&body).await.await.unwrap_err().is_panic());
    assert_eq!(far.state(), "open");
    far.at_ms(3_600_000).await;
    assert_eq!(far.calls(&body, 2).await, words("2*ok"));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn ho_14_two_probes_that_panic_together_leave_the_breaker_open_once() {
    let far = Stand::new(&breaker(r#"window = "10 calls", cooldown = "1s", probes = 2"#));
    far.trip().await;
    far.at_ms(1_000).await;
    let body = Script::new("P/10ms P/10ms S");
    let (first, second) = (far.begin_script(&body).await, far.begin_script(&body).await);
    assert!(AssertUnwindSafe(first).0.await.unwrap_err().is_panic());
    assert!(second.await.unwrap_err().is_panic());
    assert_eq!((far.state(), body.starts(), body.running()), ("open", 2, 0));
    far.at_ms(2_010).await;
    assert_eq!(far.calls(&body, 2).await, words("2*ok"));
}

#[tokio::test(start_paused = true)]
async fn ho_16_a_kind_that_is_not_listed_gives_its_probe_back() {
    let far = Stand::new(&format!(
        "failures = [\"server\"]\n{}",
        breaker(r#"window = "4 calls", failure_rate = 0.5, cooldown = "200ms""#)
    ));
    let body = Script::new("4*F C");
    assert_eq!(far.calls(&body, 5).await, words("4*server open"));
    far.at_ms(200).await;
    assert_eq!(far.calls(&body, 11).await, words("11*connect"));
    assert_eq!((far.state(), body.starts()), ("half_open", 15));
}

#[tokio::test(start_paused = true)]
async fn ho_16_a_business_answer_closes() {
    let far = Stand::new(&breaker(
        r#"window = "4 calls", failure_rate = 0.5, cooldown = "200ms""#,
    ));
    let body = Script::new("4*F N");
    assert_eq!(far.calls(&body, 5).await, words("4*server open"));
    far.at_ms(200).await;
    assert_eq!(far.calls(&body, 1).await, ["business"]);
    assert_eq!(far.state(), "closed");
    assert_eq!(far.calls(&body, 10).await, words("10*business"));
    assert_eq!(body.starts(), 15);
}

#[tokio::test(start_paused = true)]
async fn ho_18_closing_needs_two_and_starts_from_an_empty_window() {
    let keys = r#"window = "10 calls", failure_rate = 0.5, cooldown = "1s", probe_successes = 2"#;
    let far = Stand::new(&breaker(&format!("{keys}, probes = 1")));
    assert_eq!(far.each("10*F S").await, words("10*server open"));
    far.at_ms(1_000).await;
    assert_eq!(far.each("S S").await, words("2*ok"));
    assert_eq!(far.each("10*F S").await, words("10*server open"));
    far.at_ms(2_000).await;
    assert_eq!(far.each("S F S").await, words("ok server open"));
}

#[tokio::test(start_paused = true)]
async fn ho_22_the_minimum_has_no_say_in_half_open() {
    let far = Stand::new(&breaker(
        r#"window = "10 calls", minimum_calls = 1, cooldown = "1s", probes = 3"#,
    ));
    far.trip().await;
    far.at_ms(1_000).await;
    for state in ["half_open", "half_open", "closed"] {
        assert_eq!(far.one("S").await, "ok");
        assert_eq!(far.state(), state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_ramp_admits_every_fourth_the_first_included_and_then_closes() {
    let keys = r#"window = "10 calls", cooldown = "1s", probe_successes = 2, probes = 1, ramp = [0.25, 0.5]"#;
    let far = Stand::new(&breaker(keys));
    far.trip().await;
    far.at_ms(1_000).await;
    let (results, events) = record(far.each("2*S 5*S 3*S S")).await;
    let expected = words("2*ok ok 3*probes_busy ok ok probes_busy ok ok");
    assert_eq!(results, expected);
    assert_eq!(
        transitions(&events),
        ["open>half_open cooldown_over", "half_open>closed ramp_done"]
    );
}
