//! The breaker under a hand: modes, trips, resets, and what is told of them.

use std::sync::Mutex;

use resilience_runtime::testing::record;
use resilience_runtime::{Mode, Override, Runtime};

use crate::kit::{Script, secs, settle};
use crate::stand::{Stand, is_rate, rejections, transitions, words};

#[tokio::test(start_paused = true)]
async fn brk_16_off_admits_everything_and_measures_nothing() {
    let far = Stand::new("mode = \"off\"\ntimeout = \"1s\"\nbreaker = { window = \"2 calls\" }");
    let (results, events) = record(far.each("S 4*F S/5s")).await;
    assert_eq!(results, words("ok 4*server ok"));
    let read = far.read();
    assert_eq!((read.state, read.calls, read.failure_rate), (Some("closed"), 0, None));
    assert!(events.is_empty(), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn brk_17_isolated_stays_rejected_beyond_any_cooldown() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"2 calls\", cooldown = \"5s\" }");
    far.runtime
        .set_mode("far", Override::new(Mode::Isolate, "ops", "maintenance", secs(60)))
        .unwrap();
    let body = Script::new("S");
    let ((), events) = record(async {
        assert_eq!(far.calls(&body, 1).await, ["isolated"]);
        far.at_ms(6_000).await;
        assert_eq!(far.calls(&body, 1).await, ["isolated"]);
    })
    .await;
    assert_eq!(rejections(&events), words("2*isolated"));
    assert!(transitions(&events).is_empty());
    assert_eq!(body.starts(), 0);
}

const OBSERVED: &str = r#"
mode = "observe"
timeout = "10s"
breaker.window = "20s"
breaker.minimum_calls = 5
breaker.failure_rate = 0.5
breaker.slow_after = "4s"
breaker.slow_rate = 0.5
breaker.cooldown = "60s"
"#;

#[tokio::test(start_paused = true)]
async fn brk_18_observe_rejects_nothing_and_says_once_that_it_would_have_opened() {
    let far = Stand::new(OBSERVED);
    let (results, events) = record(far.each("F F F S S F")).await;
    assert_eq!(results, words("3*server 2*ok server"));
    assert_eq!(transitions(&events), ["closed>open failure_rate"]);
    let read = far.read();
    assert_eq!(read.calls, 5);
    assert!(is_rate(read.failure_rate, 0.6));
    let said = events.iter().find(|event| event.name() == "call.rejected").unwrap();
    assert_eq!(
        (said.field("reason"), said.field("observed")),
        (Some("open"), Some("true"))
    );
}

#[tokio::test(start_paused = true)]
async fn brk_18_observe_names_one_cause_where_two_are_met() {
    let far = Stand::new(OBSERVED);
    let (results, events) = record(far.each("5*F/5s")).await;
    assert_eq!(results, words("5*server"));
    // Within 20 s there are never five results that take 5 s each.
    assert!(transitions(&events).is_empty());
    let (results, events) = record(crate::kit::together((0..5).map(|_| far.one("F/5s")))).await;
    assert_eq!(results, words("5*server"));
    assert_eq!(transitions(&events), ["closed>open failure_rate"]);
}

#[tokio::test(start_paused = true)]
async fn brk_19_reset_forgets_and_closes() {
    let far =
        Stand::new("timeout = \"10s\"\nbreaker = { window = \"4 calls\", minimum_calls = 1, failure_rate = 1.0 }");
    far.each("S F").await;
    far.reset().await;
    assert_eq!(
        (far.window(), far.read().failure_rate, far.state()),
        (0, None, "closed")
    );
    far.trip().await;
    far.at_ms(3_000).await;
    let open_since = far.read().since.unwrap();
    let ((), events) = record(far.reset()).await;
    assert_eq!(transitions(&events), ["open>closed reset"]);
    let read = far.read();
    assert_eq!((read.state, read.cause, read.calls), (Some("closed"), Some("reset"), 0));
    // The time in a state is counted from the reset on.
    assert!((read.since.unwrap() - open_since - 3.0).abs() < 1e-3);
}

#[tokio::test(start_paused = true)]
async fn brk_20_each_change_by_hand_is_told_once_and_a_repeat_is_not() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"4 calls\" }");
    let ((), events) = record(async {
        far.reset().await;
        far.trip().await;
        far.trip().await;
        far.reset().await;
        far.reset().await;
    })
    .await;
    assert_eq!(transitions(&events), ["closed>open trip", "open>closed reset"]);
}

#[tokio::test(start_paused = true)]
async fn brk_23_each_thing_is_told_once() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"9 calls\" }");
    let ((), events) = record(async {
        far.each("S F I").await;
        far.trip().await;
        assert_eq!(far.one("S").await, "open");
        far.reset().await;
    })
    .await;
    assert!(events.iter().all(|event| event.dependency() == "far"));
    let names: Vec<_> = events.iter().map(resilience_runtime::testing::Event::name).collect();
    assert_eq!(names, ["breaker.transition", "call.rejected", "breaker.transition"]);
    assert_eq!(transitions(&events), ["closed>open trip", "open>closed reset"]);
}

/// A listener that looks at the runtime whenever it is told something.
struct Curious {
    runtime: Runtime,
    seen: Mutex<Vec<&'static str>>,
}

impl tracing::Subscriber for Curious {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "resilience"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.seen.lock().unwrap().push(crate::kit::state(&self.runtime));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn brk_23_a_listener_may_read_the_state_that_it_is_told_of() {
    let far =
        Stand::new("timeout = \"10s\"\nbreaker = { window = \"2 calls\", cooldown = \"1s\", cooldown_jitter = 0.0 }");
    let curious = std::sync::Arc::new(Curious {
        runtime: far.runtime.clone(),
        seen: Mutex::default(),
    });
    let told = crate::listener::listens(std::sync::Arc::clone(&curious));
    far.each("F F S").await;
    far.at_ms(1_000).await;
    far.one("S").await;
    settle().await;
    drop(told);
    let seen = curious.seen.lock().unwrap();
    assert_eq!(seen.as_slice(), ["open", "open", "half_open", "closed"]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_a_hold_too() {
    let far = Stand::new("timeout = \"1s\"\nthrottle = \"dependency\"\nbreaker = {}");
    assert_eq!(far.each("Q10s S").await, ["throttled", "held"]);
    far.reset().await;
    assert_eq!(far.one("S").await, "ok");
}
