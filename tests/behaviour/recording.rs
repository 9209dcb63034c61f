//! Single calls as they are recorded: each attempt and each refusal once, with its times, and nobody waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use resilience_runtime::{Mode, Override, RecordedCall, Recording, Runtime};

use crate::kit::{self, Gate, Script, settle};
use crate::stand::Stand;

/// `outcome:kind`, attempt, latency in milliseconds.
fn lines(recording: &Recording) -> Vec<(String, u32, u128)> {
    recording.take().map(|call| line(&call)).collect()
}

fn line(call: &RecordedCall) -> (String, u32, u128) {
    let kind = call.kind().map(|kind| format!(":{kind}"));
    let outcome = format!("{}{}", call.outcome(), kind.unwrap_or_default());
    (outcome, call.attempt(), call.latency().as_millis())
}

fn told(expected: &[(&str, u32, u128)]) -> Vec<(String, u32, u128)> {
    expected
        .iter()
        .map(|(word, attempt, ms)| ((*word).to_owned(), *attempt, *ms))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_ending_is_recorded_with_its_word_and_its_time() {
    let far = Stand::new("timeout = \"1s\"\nbreaker = { window = \"100 calls\" }");
    let recording = far.runtime.record(&["far"]).unwrap();
    far.each("S B/20ms F/30ms C T X O Q I H").await;
    let mut dropped = Box::pin(far.guard.call(|| Script::new("H").run().into_future()));
    assert!(kit::poll_once(dropped.as_mut()).is_pending());
    tokio::time::advance(Duration::from_millis(70)).await;
    drop(dropped);
    let panics = tokio::spawn({
        let guard = far.guard.clone();
        async move { guard.call(|| Script::new("P").run()).await }
    });
    assert!(panics.await.unwrap_err().is_panic());
    assert_eq!(
        lines(&recording),
        told(&[
            ("success", 1, 0),
            ("business", 1, 20),
            ("failure:server", 1, 30),
            ("failure:connect", 1, 0),
            ("failure:timeout", 1, 0),
            ("failure:protocol", 1, 0),
            ("failure:other", 1, 0),
            ("throttled", 1, 0),
            ("ignored", 1, 0),
            ("timed_out", 1, 1_000),
            ("cancelled", 1, 70),
            ("panicked:other", 1, 0),
        ])
    );
    assert_eq!(recording.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_recorded_with_what_they_waited_and_callers_who_left_the_line_too() {
    let far = Stand::new(
        "timeout = \"9s\"\nbreaker = { window = \"100 calls\" }\n\
         bulkhead = { max_concurrent = 1, max_waiting = 2, max_wait = \"300ms\" }",
    );
    let recording = far.runtime.record(&[]).unwrap();
    let gate = Gate::new("S");
    let running = far.begin(&gate, 1).await;
    let waiting = far.begin(&gate, 2).await;
    assert_eq!(far.one("S").await, "bulkhead_full");
    far.at_ms(100).await;
    waiting[0].abort();
    settle().await;
    far.at_ms(300).await;
    far.trip().await;
    assert_eq!(far.one("S").await, "open");
    gate.open(1);
    for task in running {
        task.await.unwrap();
    }
    assert_eq!(
        lines(&recording),
        told(&[
            ("rejected:bulkhead_full", 1, 0),
            ("left", 1, 100),
            ("rejected:wait_timed_out", 1, 300),
            ("rejected:open", 1, 0),
            ("success", 1, 300),
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_call_is_recorded_with_its_number_and_none_of_its_pauses() {
    let far = Stand::new(
        "timeout = \"1s\"\nretry = { max_attempts = 4, backoff = \"50ms\", jitter = \"none\", budget_floor = 9.0 }\n\
         breaker = { window = \"3 calls\", minimum_calls = 3, failure_rate = 0.6, cooldown_jitter = 0.0 }",
    );
    let recording = far.runtime.record(&[]).unwrap();
    far.calls(&Script::new("F/10ms S/20ms F/30ms"), 2).await;
    assert_eq!(
        lines(&recording),
        told(&[
            ("failure:server", 1, 10),
            ("success", 2, 20),
            ("failure:server", 1, 30),
            // It opened: after its pause the second call was refused at once.
            ("rejected:open", 2, 0),
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn the_records_are_the_counts_of_the_snapshot() {
    let far = Stand::new(
        "timeout = \"50ms\"\nretry = { max_attempts = 2, backoff = \"0s\", budget_floor = 9.0 }\n\
         breaker = { window = \"10 calls\", minimum_calls = 10, cooldown = \"1s\" }\n\
         bulkhead = { max_concurrent = 4 }",
    );
    let recording = far.runtime.record(&[]).unwrap();
    let body = Script::new("9*S/5ms F B Q I 4*S/80ms 3*C T 30*S/5ms O X 9*F");
    for _ in 0..30 {
        let calls = (0..6).map(|_| kit::call(&far.guard, &body));
        kit::together(calls).await;
        tokio::time::advance(Duration::from_millis(200)).await;
    }
    let (mut attempts, mut rejections, mut calls) = (BTreeMap::new(), BTreeMap::new(), 0);
    for call in recording.take() {
        calls += u64::from(call.attempt() == 1);
        if call.is_attempt() {
            let word = match (call.outcome(), call.kind()) {
                ("failure", Some(kind)) => kind,
                ("timed_out", _) => "timeout",
                (word, _) => word,
            };
            *attempts.entry(word).or_insert(0) += 1;
        } else if let Some(reason) = call.reason() {
            *rejections.entry(reason.as_str()).or_insert(0) += 1;
        }
    }
    let read = far.read();
    let counted = |counts: &BTreeMap<&'static str, u64>| -> BTreeMap<&'static str, u64> {
        counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(word, count)| (*word, *count))
            .collect()
    };
    assert_eq!(attempts, counted(&read.attempts));
    // A cut is a rejection only where it was the last word.
    let mut refused = counted(&read.rejections);
    assert!(refused.remove("timed_out").is_some());
    assert_eq!(rejections, refused);
    assert!(
        rejections.len() >= 2 && attempts.len() >= 7,
        "{attempts:?} {rejections:?}"
    );
    assert_eq!(calls, read.outcomes.values().sum::<u64>());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_reader_and_what_is_not_taken_is_counted_as_lost() {
    let far = Stand::new("timeout = \"1s\"");
    let recording = far.runtime.record(&[]).unwrap();
    let body = Script::new("S");
    let before = far.now_ms();
    far.calls(&body, 65_536 + 500).await;
    assert_eq!((far.now_ms(), recording.lost()), (before, 500));
    assert_eq!(recording.take().count(), 65_536);
    far.calls(&body, 1).await;
    assert_eq!((recording.take().count(), recording.lost()), (1, 500));
}

#[tokio::test(start_paused = true)]
async fn only_what_is_named_is_recorded_with_its_operations_and_until_the_end() {
    let text = "version = 1\n[dependency.pay]\nfail = \"closed\"\n[dependency.pay.operation.refund]\n\
                [dependency.payrail]\nfail = \"closed\"\n";
    let runtime = Runtime::new(kit::parse(text));
    assert_eq!(runtime.record(&["pya"]).unwrap_err().nearest(), Some("pay"));
    let (one, all) = (runtime.record(&["pay"]).unwrap(), runtime.record(&[]).unwrap());
    let call = async |name: &str| kit::call(&runtime.guard(name).unwrap(), &Script::new("S")).await;
    let names =
        |recording: &Recording| -> Vec<String> { recording.take().map(|call| call.dependency().to_owned()).collect() };
    for name in ["pay", "pay.refund", "payrail"] {
        call(name).await;
    }
    assert_eq!(names(&one), ["pay", "pay.refund"]);
    assert_eq!(names(&all), ["pay", "pay.refund", "payrail"]);
    all.stop();
    call("pay").await;
    assert_eq!((names(&one).len(), names(&all).len()), (1, 0));
    drop(one);
    // Somebody else begins while nobody's call runs: nothing of before is in it.
    let later = runtime.record(&[]).unwrap();
    call("pay").await;
    assert_eq!(names(&later).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_began_before_the_recording_is_not_in_it() {
    let far = Stand::new("timeout = \"9s\"");
    let (gate, first) = (Gate::new("S"), far.runtime.record(&[]).unwrap());
    let tasks = far.begin(&gate, 1).await;
    far.at_ms(10).await;
    let second = far.runtime.record(&[]).unwrap();
    gate.open(1);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((first.take().count(), second.take().count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn names_that_a_reload_brings_are_recorded_and_a_mode_by_hand_is_no_hindrance() {
    let far = Stand::new("timeout = \"1s\"");
    let recording = far.runtime.record(&[]).unwrap();
    let more =
        "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.near]\nfail = \"open\"\n";
    far.runtime.reload(kit::parse(more)).unwrap();
    let near = far.runtime.guard("near").unwrap();
    kit::call(&near, &Script::new("S")).await;
    let hand = |mode| Override::new(mode, "ann", "a test", Duration::from_secs(60));
    far.runtime.set_mode("far", hand(Mode::Off)).unwrap();
    far.one("F/40ms").await;
    far.runtime.set_mode("far", hand(Mode::Isolate)).unwrap();
    far.one("S").await;
    far.runtime.set_mode("far", hand(Mode::Observe)).unwrap();
    far.one("S/2s").await;
    assert_eq!(
        lines(&recording),
        told(&[
            ("success", 1, 0),
            ("failure:server", 1, 40),
            ("rejected:isolated", 1, 0),
            ("success", 1, 2_000),
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn a_record_is_a_line_of_a_trace() {
    let far = Stand::new("timeout = \"1s\"\nbulkhead = { max_concurrent = 9, per_key = 2 }");
    let recording = far.runtime.record(&[]).unwrap();
    far.each("S/150ms C").await;
    let written: Vec<serde_json::Value> = recording
        .take()
        .map(|call| serde_json::to_value(&call).unwrap())
        .collect();
    let wall = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let time = |at: usize| written[at]["time"].as_f64().unwrap();
    assert!((time(0) - wall.as_secs_f64()).abs() < 600.0);
    assert!(
        (time(1) - time(0) - 0.15).abs() < 1e-3,
        "each has the moment at which it began"
    );
    assert_eq!(written[0]["latency"], 0.15);
    assert_eq!(written[1]["outcome"], "failure");
    assert_eq!(written[1]["kind"], "connect");
    assert_eq!(written[1]["dependency"], "far");
    assert_eq!(written[1]["attempt"], 1);
    assert_eq!(written[1]["instance"], far.runtime.snapshot().instance.as_str());
    for absent in ["key", "function"] {
        assert!(written[0].get(absent).is_none(), "{absent}");
    }
}
