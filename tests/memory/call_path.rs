//! The guard by name: nothing is allocated, whether a call is accepted, refused, waits, or is cut.

use std::future::{pending, ready};
use std::time::Duration;

use resilience_runtime::testing;

use crate::hand::Hand;
use crate::kit::{FarError, guard, poll_once, seen};

const FAILED: FarError = FarError::Failed(resilience_runtime::FailureKind::Server);

const BREAKER: &str = "timeout = \"3s\"\nbreaker = { window = \"20 calls\", failure_rate = false, slow_after = \"1s\", slow_rate = 1.0 }\n";
const FAST: &str = "timeout = \"3s\"\nbreaker = { failure_rate = false, cooldown = \"24h\", cooldown_max = \"24h\" }\n";
const ROOM: &str = "bulkhead = { max_concurrent = 1 }\n";
const LINE: &str = "bulkhead = { max_concurrent = 1, max_waiting = 9, max_wait = \"500ms\" }\n";
const RETRY: &str = "retry = { max_attempts = 3, backoff = \"10ms\", budget = 10.0 }\n";
const DEADLINE: &str = "deadline = \"5s\"\n";

/// A body that is pending once, so that its timer is armed.
async fn turn(answer: Result<u8, FarError>) -> Result<u8, FarError> {
    let mut pends = true;
    std::future::poll_fn(|_| {
        if std::mem::take(&mut pends) {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    answer
}

#[test]
fn an_accepted_call_allocates_nothing_whatever_its_layers_and_its_answer() {
    let hand = Hand::new();
    let policies = [
        "timeout = \"3s\"".to_owned(),
        BREAKER.to_owned(),
        format!("{BREAKER}{ROOM}"),
        format!("{BREAKER}{LINE}{DEADLINE}"),
        format!("{BREAKER}{ROOM}{RETRY}{DEADLINE}"),
        "timeout = \"3s\"\nbreaker = { window = \"10s\", minimum_calls = 20, failure_rate = false, in_flight = 9 }"
            .to_owned(),
    ];
    for policy in policies {
        let (_runtime, guard) = guard(&policy);
        for answer in [
            Ok(1),
            Err(FarError::Business),
            Err(FAILED),
            Err(FarError::Ignored),
            Err(FarError::Throttled(None)),
        ] {
            let count = hand.count(|| {
                let _ = hand.run(guard.call_once(ready(answer)));
                let _ = hand.run(guard.call(|| ready(answer)));
                let _ = hand.run(guard.call_once(turn(answer)));
                let _ = hand.run(guard.call(|| turn(answer)));
            });
            assert_eq!(count, 0, "{answer:?} under {policy}");
        }
    }
}

#[test]
fn a_call_that_is_recorded_allocates_nothing_and_neither_does_one_for_which_there_is_no_room() {
    let hand = Hand::new();
    let (runtime, guard) = guard(&format!("{BREAKER}{ROOM}"));
    let recording = runtime.record(&[]).unwrap();
    let mut all = || {
        let _ = hand.run(guard.call_once(ready(Ok::<_, FarError>(1))));
        let _ = hand.run(guard.call(|| turn(Err(FAILED))));
    };
    assert_eq!(hand.count(&mut all), 0);
    while recording.lost() == 0 {
        all();
    }
    assert_eq!(hand.count(&mut all), 0);
}

#[test]
fn a_call_that_is_refused_allocates_nothing_and_neither_does_its_message_to_nobody() {
    let hand = Hand::new();
    let (runtime, guard) = guard(FAST);
    hand.run(runtime.scope(async { testing::trip("far") }));
    let count = hand.count(|| {
        assert_eq!(seen(&hand.run(guard.call_once(ready(Ok::<_, FarError>(1))))), "open");
        assert_eq!(seen(&hand.run(guard.call(|| ready(Ok::<_, FarError>(1))))), "open");
    });
    assert_eq!(count, 0);
}

#[test]
fn a_full_bulkhead_allocates_nothing() {
    let hand = Hand::new();
    let (_runtime, guard) = guard(&format!("{BREAKER}{ROOM}"));
    let count = hand.count(|| {
        hand.inside(|| {
            let mut running = std::pin::pin!(guard.call_once(pending::<Result<u8, FarError>>()));
            assert!(poll_once(running.as_mut()).is_pending());
            assert_eq!(seen(&hand.run(guard.call_once(turn(Ok(1))))), "bulkhead_full");
            assert_eq!(seen(&hand.run(guard.call(|| turn(Ok(1))))), "bulkhead_full");
        });
    });
    assert_eq!(count, 0);
}

#[test]
fn waiting_for_a_slot_allocates_nothing_whether_it_is_given_times_out_or_is_left() {
    let hand = Hand::new();
    let (_runtime, guard) = guard(&format!("{BREAKER}{LINE}"));
    let count = hand.count(|| {
        hand.inside(|| {
            let mut late = std::pin::pin!(guard.call(|| turn(Ok(1))));
            let mut given = std::pin::pin!(guard.call_once(turn(Ok(1))));
            {
                // Dropped in this block's end, after the slot was given to it: it hands it on.
                let mut left = std::pin::pin!(guard.call_once(turn(Ok(1))));
                let mut running = std::pin::pin!(guard.call_once(pending::<Result<u8, FarError>>()));
                assert!(poll_once(running.as_mut()).is_pending());
                assert!(poll_once(late.as_mut()).is_pending());
                hand.pass(Duration::from_millis(600));
                assert!(poll_once(left.as_mut()).is_pending());
                assert!(poll_once(given.as_mut()).is_pending());
                assert!(matches!(poll_once(late.as_mut()), std::task::Poll::Ready(ended) if seen(&ended) == "wait_timed_out"));
            }
            assert!(poll_once(given.as_mut()).is_pending(), "it has its slot, and the body is pending");
            assert_eq!(seen(&hand.run(given)), "ok");
        });
    });
    assert_eq!(count, 0);
}

#[test]
fn a_call_that_is_cut_allocates_nothing() {
    let hand = Hand::new();
    let (_runtime, guard) = guard(&format!("{FAST}{ROOM}{RETRY}{DEADLINE}"));
    let count = hand.count(|| {
        let never = || pending::<Result<u8, FarError>>();
        assert_eq!(seen(&hand.run(guard.call_once(never()))), "timed_out");
        assert_eq!(seen(&hand.run(guard.call(never))), "deadline_exceeded");
    });
    assert_eq!(count, 0);
}

#[test]
fn opening_probing_and_closing_again_allocate_nothing() {
    let hand = Hand::new();
    let (_runtime, guard) = guard(
        r#"
        timeout = "3s"
        breaker = { window = "2 calls", minimum_calls = 2, cooldown = "1s", cooldown_jitter = 0.0, cooldown_factor = 1.0, probes = 2, ramp = [0.5] }
        "#,
    );
    let count = hand.count(|| {
        let call = |answer| seen(&hand.run(guard.call_once(ready(answer))));
        assert_eq!(
            [call(Err(FAILED)), call(Err(FAILED)), call(Ok(1))],
            ["server", "server", "open"]
        );
        hand.pass(Duration::from_secs(1));
        assert_eq!([(); 5].map(|()| call(Ok(1))), ["ok", "ok", "ok", "probes_busy", "ok"]);
    });
    assert_eq!(count, 0);
}

#[test]
fn a_deadline_from_outside_allocates_nothing() {
    let hand = Hand::new();
    let (_runtime, guard) = guard(&format!("{BREAKER}{ROOM}"));
    let count = hand.count(|| {
        let call = resilience_runtime::deadline::within(
            Duration::from_secs(2),
            guard.call_once(pending::<Result<u8, FarError>>()),
        );
        assert_eq!(seen(&hand.run(call)), "deadline_exceeded");
    });
    assert_eq!(count, 0);
}
