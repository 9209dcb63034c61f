//! Repeats: what is repeated, how often, and when.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use resilience_runtime::{Classify, Failure, FailureKind, Outcome};
use tokio::time::Instant;

use crate::kit::{FarError, Gate, Script, seen, settle};
use crate::stand::{Stand, words};

#[tokio::test(start_paused = true)]
async fn rty_01_as_many_attempts_as_the_policy_says_the_first_included() {
    for (lines, starts) in [("max_attempts = 6, ", 6), ("", 3), ("max_attempts = 1, ", 1)] {
        let far = Stand::new(&format!("retry = {{ {lines}backoff = \"0s\" }}"));
        let body = Script::new("F");
        assert_eq!(far.calls(&body, 1).await, ["server"]);
        assert_eq!((body.starts(), far.now_ms()), (starts, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn rty_02_the_deadline_ends_the_attempts_with_the_last_real_result() {
    let far =
        Stand::new("deadline = \"1000ms\"\nretry = { max_attempts = 91, backoff = \"0s\", budget_floor = 100.0 }");
    let body = Script::new("F/100ms");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.now_ms()), (10, 1_000));
}

/// The moments at which the attempts of one failing call began.
async fn begins(lines: &str) -> Vec<Duration> {
    let far = Stand::new(lines);
    let zero = Instant::now();
    let begun = Mutex::new(Vec::new());
    let result = far
        .guard
        .call(|| {
            begun.lock().unwrap().push(zero.elapsed());
            async { Err::<(), _>(FarError::Failed(FailureKind::Server)) }
        })
        .await;
    assert_eq!(seen(&result), "server");
    begun.into_inner().unwrap()
}

fn gaps(begun: &[Duration]) -> Vec<Duration> {
    begun.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

#[tokio::test(start_paused = true)]
async fn rty_03_and_04_full_jitter_spreads_each_pause_from_nothing_to_the_whole() {
    let mut all = Vec::new();
    for _ in 0..200 {
        let begun = begins(
            r#"
            deadline = "3200ms"
            retry.max_attempts = 11
            retry.backoff = "400ms"
            retry.backoff_max = "400ms"
            retry.jitter = "full"
            retry.budget_floor = 100.0
            "#,
        )
        .await;
        assert!(begun.len() > 4, "{begun:?}");
        assert!(*begun.last().unwrap() < Duration::from_millis(3_200));
        all.extend(gaps(&begun));
    }
    // Timers wake on the next millisecond.
    assert!(all.iter().all(|gap| *gap <= Duration::from_millis(401)));
    assert!(all.iter().any(|gap| *gap < Duration::from_millis(100)));
    assert!(all.iter().any(|gap| *gap > Duration::from_millis(300)));
}

#[tokio::test(start_paused = true)]
async fn equal_jitter_keeps_half_of_each_pause() {
    let mut all = Vec::new();
    for _ in 0..100 {
        let lines = "retry = { max_attempts = 4, backoff = \"400ms\", backoff_max = \"400ms\", jitter = \"equal\" }";
        all.extend(gaps(&begins(lines).await));
    }
    assert!(all.iter().all(|gap| (200..=401).contains(&gap.as_millis())));
    assert!(all.iter().any(|gap| gap.as_millis() < 250) && all.iter().any(|gap| gap.as_millis() > 350));
}

#[tokio::test(start_paused = true)]
async fn rty_05_without_a_pause_no_time_passes() {
    let far = Stand::new("retry = { max_attempts = 4, backoff = \"0s\" }");
    let body = Script::new("F F F S");
    assert_eq!(far.calls(&body, 1).await, ["ok"]);
    assert_eq!((body.starts(), far.now_ms()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn rty_06_only_listed_kinds_and_throttling_are_repeated() {
    let cases = [
        ("C", 4),
        ("T", 4),
        ("F", 1),
        ("X", 1),
        ("O", 1),
        ("B", 1),
        ("I", 1),
        ("Q", 4),
        ("S", 1),
    ];
    for (step, starts) in cases {
        let far = Stand::new("failures = [\"connect\", \"timeout\"]\nretry = { max_attempts = 4, backoff = \"0s\" }");
        let body = Script::new(step);
        far.calls(&body, 1).await;
        assert_eq!(body.starts(), starts, "{step}");
    }
}

#[tokio::test(start_paused = true)]
async fn rty_07_where_in_the_body_the_failure_sits_does_not_matter() {
    let far = Stand::new("retry = { max_attempts = 3, backoff = \"0s\" }");
    for script in ["F F S", "F/5ms F/5ms S/5ms", "F"] {
        let body = Script::new(script);
        far.calls(&body, 1).await;
        assert_eq!(body.starts(), 3, "{script}");
    }
    let (one, other) = (Script::new("F/2ms F/2ms S"), Script::new("S/1ms"));
    let result = far
        .guard
        .call(|| async { tokio::try_join!(one.run(), other.run()) })
        .await;
    assert_eq!(seen(&result), "ok");
    assert_eq!((one.starts(), other.starts()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn rty_08_ten_failures_are_followed_by_what_comes_eleventh() {
    for (last, result) in [("S", "ok"), ("B", "business")] {
        let far =
            Stand::new("deadline = \"1s\"\nretry = { max_attempts = 100, backoff = \"0s\", budget_floor = 100.0 }");
        let body = Script::new(&format!("10*F {last}"));
        assert_eq!(far.calls(&body, 1).await, [result]);
        assert_eq!(body.starts(), 11);
    }
}

#[tokio::test(start_paused = true)]
async fn rty_10_a_business_answer_ends_the_attempts() {
    for (failures, result, starts) in [(2, "business", 3), (3, "business", 4), (4, "server", 4)] {
        let far = Stand::new("retry = { max_attempts = 4, backoff = \"0s\" }");
        let body = Script::new(&format!("{failures}*F B"));
        assert_eq!(far.calls(&body, 1).await, [result]);
        assert_eq!(body.starts(), starts);
    }
}

const EVERYTHING: &str = r#"
timeout = "10s"
retry = { max_attempts = 6, backoff = "1s", jitter = "none" }
bulkhead = { max_concurrent = 1 }
breaker = { window = "10 calls" }
"#;

#[tokio::test(start_paused = true)]
async fn rty_11_dropped_while_the_first_attempt_runs() {
    let far = Stand::new(EVERYTHING);
    let gate = Gate::new("F");
    let call = far.begin(&gate, 1).await.pop().unwrap();
    assert_eq!((gate.running(), far.slots()), (1, (1, 0)));
    call.abort();
    settle().await;
    assert_eq!(
        (gate.running(), gate.let_go(), far.slots(), far.window()),
        (0, 0, (0, 0), 0)
    );
}

#[tokio::test(start_paused = true)]
async fn rty_11_dropped_during_the_pause() {
    let far = Stand::new(EVERYTHING);
    let body = Script::new("F");
    let call = far.begin_script(&body).await;
    far.at_ms(500).await;
    assert_eq!((body.starts(), far.slots()), (1, (1, 0)));
    call.abort();
    far.at_ms(5_000).await;
    assert_eq!((body.starts(), far.slots(), far.window()), (1, (0, 0), 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_pauses_is_one_that_runs() {
    let far = Stand::new("retry = { max_attempts = 3, backoff = \"1s\", jitter = \"none\" }");
    let call = far.begin_script(&Script::new("F")).await;
    assert_eq!(far.read().in_flight, 1);
    far.at_ms(1_500).await;
    assert_eq!(far.read().in_flight, 1);
    assert_eq!((call.await.unwrap(), far.read().in_flight), ("server", 0));
}

#[tokio::test(start_paused = true)]
async fn rty_14_pauses_double() {
    let begun =
        begins("retry = { max_attempts = 3, backoff = \"500ms\", backoff_max = \"10s\", jitter = \"none\" }").await;
    assert_eq!(gaps(&begun), [Duration::from_millis(500), Duration::from_secs(1)]);
    let lines =
        "retry = { max_attempts = 12, backoff = \"1ms\", backoff_max = \"1h\", jitter = \"none\", budget_floor = 9.0 }";
    let pauses: Vec<_> = gaps(&begins(lines).await).iter().map(Duration::as_millis).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]);
}

#[tokio::test(start_paused = true)]
async fn rty_16_pauses_at_the_cap_are_spread() {
    let mut tenth = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        let begun =
            begins(r#"retry = { max_attempts = 11, backoff = "500ms", backoff_max = "1s", budget_floor = 9.0 }"#).await;
        tenth.insert(begun[10].saturating_sub(begun[9]));
    }
    assert!(tenth.len() >= 100 && *tenth.first().unwrap() < Duration::from_millis(750));
    assert!(*tenth.last().unwrap() <= Duration::from_millis(1_001));
}

#[test]
fn rty_17_the_most_attempts_fit_on_a_small_stack() {
    let run = || {
        let alone = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        alone.block_on(async {
            let far = Stand::new("retry = { max_attempts = 100, backoff = \"0s\", budget_floor = 100.0 }");
            let body = Script::new("F");
            assert_eq!(far.calls(&body, 1).await, ["server"]);
            assert_eq!(body.starts(), 100);
        });
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

/// An error that nobody can judge.
#[derive(Debug)]
struct Unjudged;

impl Classify for Unjudged {
    fn classify(&self) -> Outcome {
        panic!("the classifier panics")
    }
}

#[tokio::test(start_paused = true)]
async fn rty_18_a_classifier_that_panics_ends_the_call_and_gives_everything_back() {
    let far = Stand::new(EVERYTHING);
    let starts = Arc::new(AtomicUsize::new(0));
    let (guard, counter) = (far.guard.clone(), Arc::clone(&starts));
    let call = tokio::spawn(async move {
        let body = || {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Err::<(), _>(Unjudged) }
        };
        guard.call(body).await.map_err(|_: Failure<Unjudged>| ())
    });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(
        (starts.load(Ordering::Relaxed), far.slots(), far.now_ms()),
        (1, (0, 0), 0)
    );
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn rty_20_a_pause_that_would_reach_the_deadline_is_not_begun() {
    let far = Stand::new(
        r#"
            deadline = "1000ms"
            retry = { max_attempts = 6, backoff = "300ms", backoff_max = "300ms", jitter = "none" }
            "#,
    );
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.now_ms()), (4, 900));
    // One that would end exactly on it neither.
    let far = Stand::new("deadline = \"300ms\"\nretry = { max_attempts = 2, backoff = \"300ms\", jitter = \"none\" }");
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!((body.starts(), far.now_ms()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn met_04_and_14_what_ends_the_attempts_is_what_the_caller_gets() {
    for (script, calls, result, starts) in [
        ("S", 1, "ok", 1),
        ("F F F S", 1, "ok", 4),
        ("B", 1, "business", 1),
        ("F F F B", 1, "business", 4),
        ("F", 2, "server", 12),
        ("F F B", 1, "business", 3),
    ] {
        let far = Stand::new("retry = { max_attempts = 6, backoff = \"0s\", budget_floor = 9.0 }");
        let body = Script::new(script);
        assert_eq!(far.calls(&body, calls).await, vec![result; calls], "{script}");
        assert_eq!(body.starts(), starts, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_budget_allows_its_floor_and_a_share_of_the_calls() {
    let far = Stand::new("retry = { max_attempts = 2, backoff = \"0s\", budget = 0.1, budget_floor = 0.2 }");
    let body = Script::new("F");
    // Two from the floor, and one for every ten calls, the running one included.
    far.calls(&body, 20).await;
    assert_eq!(body.starts() - 20, 4);
    far.at_ms(10_001).await;
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, words("server"));
    assert_eq!(body.starts(), 2, "what was ten seconds ago is forgotten");
}
