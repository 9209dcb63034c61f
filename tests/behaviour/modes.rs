//! The operator's modes over every layer.

use std::time::Duration;

use resilience_runtime::deadline::within;
use resilience_runtime::testing::record;
use resilience_runtime::{Mode, Override, Runtime, available};

use crate::kit::{Gate, Script, call, parse, secs};
use crate::stand::{Stand, rejections, words};

const EVERYTHING: &str = r#"
timeout = "100ms"
deadline = "150ms"
throttle = "dependency"
bulkhead = { max_concurrent = 1 }
retry = { max_attempts = 3, backoff = "0s" }
breaker = { window = "2 calls", cooldown = "60s" }
"#;

fn everything(mode: &str) -> Stand {
    Stand::new(&format!("mode = \"{mode}\"\n{EVERYTHING}"))
}

#[tokio::test(start_paused = true)]
async fn observe_and_off_cut_nothing_repeat_nothing_and_reject_nothing() {
    for mode in ["observe", "off"] {
        let far = everything(mode);
        let body = Script::new("S/400ms F F F Q10s S/50ms");
        let results = far.calls(&body, 6).await;
        assert_eq!(results, words("ok 3*server throttled ok"), "{mode}");
        assert_eq!((body.starts(), far.now_ms()), (6, 450));
        assert_eq!(
            within(Duration::from_millis(10), far.one("S/90ms")).await,
            "ok",
            "{mode}"
        );
        assert!(far.runtime.scope(async { available("far") }).await);
    }
}

#[tokio::test(start_paused = true)]
async fn observe_lets_more_in_than_there_are_slots_and_says_so() {
    let far = everything("observe");
    let gate = Gate::new("S");
    let held = far.begin(&gate, 1).await;
    let (result, events) = record(far.one("S")).await;
    assert_eq!((result, rejections(&events)), ("ok", words("bulkhead_full")));
    assert_eq!(events[0].field("observed"), Some("true"));
    assert_eq!(far.slots(), (1, 0));
    gate.open(1);
    for task in held {
        assert_eq!(task.await.unwrap(), "ok");
    }
    assert_eq!(far.slots(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn observe_says_that_there_is_no_slot_only_of_who_could_not_have_waited_for_one() {
    for (line, told) in [
        ("max_waiting = 1, max_wait = \"1s\"", ""),
        ("max_waiting = 0, max_wait = \"1s\"", "bulkhead_full"),
        ("max_waiting = 1, max_wait = \"0s\"", "bulkhead_full"),
    ] {
        let far = Stand::new(&format!(
            "mode = \"observe\"\ntimeout = \"9s\"\nbulkhead = {{ max_concurrent = 1, {line} }}"
        ));
        let gate = Gate::new("S");
        let holder = far.begin(&gate, 1).await.pop().unwrap();
        let (result, events) = record(far.one("S")).await;
        assert_eq!((result, rejections(&events)), ("ok", words(told)), "{line}");
        gate.open(1);
        assert_eq!(holder.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn observe_counts_what_would_have_been_cut_as_cut() {
    let far = everything("observe");
    let (results, events) = record(far.each("S/400ms S/400ms")).await;
    assert_eq!(results, words("2*ok"));
    assert_eq!(crate::stand::transitions(&events), ["closed>open failure_rate"]);
    assert_eq!(rejections(&events), words("2*timed_out"));
    // Without a breaker it is told all the same.
    let far = Stand::new("mode = \"observe\"\ntimeout = \"100ms\"");
    let (results, events) = record(far.each("S/100ms S/101ms")).await;
    assert_eq!((results, rejections(&events)), (words("2*ok"), words("timed_out")));
    assert_eq!(events[0].field("observed"), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn off_makes_no_event_and_takes_no_slot() {
    let far = everything("off");
    let gate = Gate::new("S");
    let held = far.begin(&gate, 3).await;
    let (_, events) = record(far.each("F F F Q10s S/1s")).await;
    assert!(events.is_empty(), "{events:?}");
    assert_eq!((gate.running(), far.slots(), far.window()), (3, (0, 0), 0));
    gate.open(3);
    for task in held {
        assert_eq!(task.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn isolate_rejects_everything_and_runs_nothing() {
    let far = everything("isolate");
    let body = Script::new("S");
    let (results, events) = record(far.calls(&body, 3)).await;
    assert_eq!(
        (results, rejections(&events)),
        (words("3*isolated"), words("3*isolated"))
    );
    assert_eq!((body.starts(), far.slots(), far.window()), (0, (0, 0), 0));
    // The file names no end, so nobody knows when to come back.
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    assert_eq!(failure.rejection().unwrap().retry_after(), None);
    assert!(!far.runtime.scope(async { available("far") }).await);
}

#[tokio::test(start_paused = true)]
async fn an_override_ends_by_the_clock_and_tells_what_is_left_of_it() {
    let far = Stand::new("timeout = \"1s\"");
    let mut hand = Override::new(Mode::Isolate, "ops", "maintenance", secs(60));
    hand.answer = Some("delayed".to_owned());
    far.runtime.set_mode("far", hand).unwrap();
    far.at_ms(20_000).await;
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    let rejection = failure.rejection().unwrap();
    assert_eq!(
        (rejection.reason().as_str(), rejection.answer()),
        ("isolated", Some("delayed"))
    );
    let left = rejection.retry_after().unwrap().as_secs_f64();
    assert!((left - 40.0).abs() < 0.01, "{left}");
    far.at_ms(60_010).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.read().mode, "enforce");
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_in_the_mode_it_began_with() {
    let far = Stand::new("timeout = \"1s\"\nbulkhead.max_concurrent = 2");
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await.pop().unwrap();
    far.runtime
        .set_mode("far", Override::new(Mode::Isolate, "ops", "maintenance", secs(60)))
        .unwrap();
    assert_eq!(far.one("S").await, "isolated");
    gate.open(1);
    assert_eq!(running.await.unwrap(), "ok");
    assert_eq!(far.slots(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn isolating_a_dependency_isolates_its_operations_and_not_the_other_way_round() {
    let runtime = Runtime::new(parse(
        r#"
            version = 1
            [dependency.far]
            fail = "closed"
            timeout = "1s"
            [dependency.far.operation.refund]
            timeout = "9s"
            "#,
    ));
    let (whole, refund) = (runtime.guard("far").unwrap(), runtime.guard("far.refund").unwrap());
    let body = Script::new("S");
    let hand = || Override::new(Mode::Isolate, "ops", "maintenance", secs(60));
    runtime.set_mode("far.refund", hand()).unwrap();
    assert_eq!(
        (call(&whole, &body).await, call(&refund, &body).await),
        ("ok", "isolated")
    );
    runtime.clear_mode("far.refund").unwrap();
    runtime.set_mode("far", hand()).unwrap();
    assert_eq!(
        (call(&whole, &body).await, call(&refund, &body).await),
        ("isolated", "isolated")
    );
    runtime.clear_mode("far").unwrap();
    assert_eq!((call(&whole, &body).await, call(&refund, &body).await), ("ok", "ok"));
}

#[tokio::test(start_paused = true)]
async fn a_hand_without_a_name_or_a_reason_or_with_a_wrong_end_is_refused() {
    let far = Stand::new("timeout = \"1s\"");
    for (by, reason, duration) in [
        ("", "why", secs(60)),
        ("who", " ", secs(60)),
        ("who", "why", Duration::ZERO),
        ("who", "why", secs(8 * 86_400)),
    ] {
        let hand = Override::new(Mode::Off, by, reason, duration);
        assert!(
            far.runtime.set_mode("far", hand).is_err(),
            "{by:?} {reason:?} {duration:?}"
        );
    }
    let unknown = far
        .runtime
        .set_mode("fra", Override::new(Mode::Off, "who", "why", secs(60)))
        .unwrap_err();
    assert_eq!(unknown.unknown_dependency().unwrap().nearest(), Some("far"));
    assert_eq!(far.read().mode, "enforce");
}

#[tokio::test(start_paused = true)]
async fn the_breaker_goes_on_from_where_it_was_when_a_hand_is_taken_off() {
    let far =
        Stand::new("timeout = \"1s\"\nbreaker = { window = \"2 calls\", cooldown = \"30s\", cooldown_jitter = 0.0 }");
    far.each("F F").await;
    assert_eq!(far.state(), "open");
    far.runtime
        .set_mode("far", Override::new(Mode::Off, "ops", "trust me", secs(3_600)))
        .unwrap();
    assert_eq!(far.each("S F F").await, words("ok 2*server"));
    far.runtime.clear_mode("far").unwrap();
    assert_eq!(far.one("S").await, "open");
    far.at_ms(30_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_hand_is_announced_a_minute_before_and_told_when_it_comes_once_each() {
    let far = Stand::new("timeout = \"1s\"");
    let ((), events) = record(async {
        let hand = Override::new(Mode::Isolate, "ops", "drill", secs(3_600));
        far.runtime.set_mode("far", hand).unwrap();
        for (at_ms, mode) in [
            (3_539_999, "isolate"),
            (3_540_000, "isolate"),
            (3_570_000, "isolate"),
            (3_599_999, "isolate"),
            (3_600_000, "enforce"),
            (3_700_000, "enforce"),
        ] {
            far.at_ms(at_ms).await;
            assert_eq!(far.read().mode, mode, "{at_ms}");
        }
    })
    .await;
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.name().starts_with("override."))
        .map(|event| {
            (
                event.name(),
                event.dependency(),
                event.field("by"),
                event.field("seconds"),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("override.set", "far", Some("ops"), Some("3600")),
            ("override.expiring", "far", Some("ops"), Some("60")),
            ("override.expired", "far", Some("ops"), None),
        ]
    );
}
