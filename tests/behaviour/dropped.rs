//! A call that is dropped, wherever it stands, gives everything back and counts as nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::kit::{Gate, Script, settle};
use crate::stand::{Stand, words};

const STEP: u64 = 10;

/// Polls a call so many times, ten milliseconds apart, and drops it. Whether it had ended by then, and how many
/// attempts were cut off by the drop.
async fn polled(far: &Stand, body: &Script, polls: u64) -> (bool, usize) {
    let begun = u64::try_from(far.now_ms()).unwrap();
    let mut call: Pin<Box<dyn Future<Output = _>>> = Box::pin(far.guard.call(|| body.run()));
    for poll in 0..polls {
        if let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            assert_eq!(crate::kit::seen(&result), "ok");
            return (true, 0);
        }
        far.at_ms(begun + (poll + 1) * STEP).await;
    }
    (false, body.running())
}

/// Drops calls after no poll, one, two … until one ends by itself; looks after each.
async fn at_every_point(lines: &str, script: &str, held_for: u64, least: u64) {
    for polls in 0.. {
        let far = Stand::new(lines);
        let body = Script::new(script);
        let holder = Script::new(&format!("S/{held_for}ms"));
        let holding = match held_for {
            0 => None,
            _ => Some(far.begin_script(&holder).await),
        };
        let (ended, cut_off) = polled(&far, &body, polls).await;
        settle().await;
        assert_eq!(body.running(), 0, "after {polls} polls");
        if let Some(holding) = holding {
            assert_eq!(far.slots().1, 0, "after {polls} polls");
            holding.await.unwrap();
        }
        settle().await;
        assert_eq!(far.slots(), (0, 0), "after {polls} polls");
        assert_eq!(body.starts(), body.ends());
        // The breaker knows of every attempt that ended, and of none that was cut off.
        let counted = body.starts() - cut_off + holder.starts();
        assert_eq!(far.window() as usize, counted, "after {polls} polls");
        assert_eq!(far.each("S S").await, words("2*ok"));
        if ended {
            assert!(polls >= least, "ended after {polls} polls");
            return;
        }
    }
}

const LINES: &str = r#"
timeout = "25ms"
deadline = "10s"
bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = "5s" }
retry = { max_attempts = 3, backoff = "30ms", jitter = "none" }
breaker = { window = "100 calls" }
"#;

#[tokio::test(start_paused = true)]
async fn while_it_waits_runs_pauses_and_runs_again() {
    // Wait 35 ms, run 20 ms, pause 30 ms, run 20 ms.
    at_every_point(LINES, "F/20ms S/20ms", 35, 10).await;
}

#[tokio::test(start_paused = true)]
async fn while_an_attempt_is_about_to_be_cut_and_after_it_was() {
    at_every_point(LINES, "H S/20ms", 0, 7).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_line_or_a_breaker() {
    at_every_point(
        r#"
            timeout = "1s"
            retry = { max_attempts = 2, backoff = "20ms", jitter = "none" }
            breaker = { window = "9 calls" }
            "#,
        "F/10ms S/10ms",
        0,
        4,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_dropped_anywhere_leaves_room_for_the_next() {
    for polls in 0..6 {
        let far = Stand::new(
            r#"
            timeout = "10s"
            bulkhead = { max_concurrent = 1 }
            breaker = { window = "9 calls", cooldown = "1s", cooldown_jitter = 0.0, probes = 1 }
            "#,
        );
        far.trip().await;
        far.at_ms(1_000).await;
        let (ended, _) = polled(&far, &Script::new("S/40ms"), polls).await;
        assert_eq!(ended, polls > 4);
        assert_eq!(far.state(), if ended { "closed" } else { "half_open" });
        assert_eq!(far.slots(), (0, 0));
        assert_eq!(far.one("S").await, "ok");
        assert_eq!(far.state(), "closed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_of_the_ramp_loses_nothing_by_a_dropped_call() {
    let far = Stand::new(
        r#"
        timeout = "10s"
        breaker = { window = "9 calls", cooldown = "1s", cooldown_jitter = 0.0, ramp = [0.5] }
        "#,
    );
    far.trip().await;
    far.at_ms(1_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert!(!polled(&far, &Script::new("S/40ms"), 2).await.0);
    assert_eq!(far.state(), "half_open");
    assert_eq!(far.each("S S").await, words("probes_busy ok"));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_polled_takes_nothing() {
    let far = Stand::new(LINES);
    let body = Script::new("S");
    let call = far.guard.call(|| body.run());
    assert_eq!((far.slots(), body.starts()), ((0, 0), 0));
    drop(call);
    assert_eq!((far.slots(), far.read().in_flight), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_dropped_in_the_moment_it_gets_its_slot_hands_it_on() {
    let far = Stand::new("bulkhead = { max_concurrent = 1, max_waiting = 2, max_wait = \"1h\" }");
    let gate = Gate::new("S");
    let holder = far.begin(&gate, 1).await.pop().unwrap();
    let mut second = far.begin(&gate, 2).await;
    let third = second.pop().unwrap();
    gate.open(1);
    // The holder ends, which grants the slot to the second; that one is dropped before it looks.
    assert_eq!(holder.await.unwrap(), "ok");
    second.pop().unwrap().abort();
    settle().await;
    assert_eq!((gate.running(), far.slots()), (1, (1, 0)));
    gate.open(1);
    assert_eq!(third.await.unwrap(), "ok");
    assert_eq!(far.slots(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_counts_its_in_flight_down_again() {
    let far = Stand::new(
        "timeout = \"10s\"\nbreaker = { window = \"9 calls\", failure_rate = false, in_flight = 3, cooldown = \"1s\" }",
    );
    for _ in 0..5 {
        assert!(!polled(&far, &Script::new("H"), 1).await.0);
    }
    let gate = Gate::new("S");
    let two = far.begin(&gate, 2).await;
    assert_eq!(far.state(), "closed");
    gate.open(2);
    for task in two {
        assert_eq!(task.await.unwrap(), "ok");
    }
}
