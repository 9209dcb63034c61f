//! A body that panics is a failure, gives everything back, and goes on unwinding.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::FailureKind;

use crate::kit::{FarError, Gate, Script, ms, seen, settle};
use crate::stand::{Stand, words};

const LINES: &str = r#"
timeout = "10s"
failures = ["connect"]
bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = "1h" }
retry = { max_attempts = 3, backoff = "0s" }
breaker.window = "9 calls"
breaker.minimum_calls = 1
breaker.failure_rate = false
"#;

async fn panics(far: &Stand, script: &str) {
    let body = Script::new(script);
    assert!(far.begin_script(&body).await.await.unwrap_err().is_panic(), "{script}");
    assert_eq!((body.running(), far.slots()), (0, (0, 0)), "{script}");
}

#[tokio::test(start_paused = true)]
async fn at_the_first_poll_and_after_it_always_counted_and_never_repeated() {
    for script in ["P", "P/10ms"] {
        let far = Stand::new(LINES);
        panics(&far, script).await;
        // Kind `other` is not listed, and it counts all the same.
        assert_eq!((far.window(), far.failed_and_slow().0), (1, 1), "{script}");
        assert_eq!(far.one("S").await, "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_body_said_is_what_its_caller_catches() {
    let far = Stand::new(LINES);
    let panic = far
        .begin_script(&Script::new("P"))
        .await
        .await
        .unwrap_err()
        .into_panic();
    assert_eq!(
        panic.downcast_ref::<&str>(),
        Some(&"the body panics as the script says")
    );
}

#[tokio::test(start_paused = true)]
async fn in_a_repeat() {
    let far = Stand::new(LINES);
    panics(&far, "C P S").await;
    assert_eq!(far.failed_and_slow().0, 2);
}

/// A body whose second attempt is good, and which panics in its poll number `at`, those of both attempts counted.
async fn panics_at(at: usize, polls: &AtomicUsize, first: bool) -> Result<(), FarError> {
    let look = || assert_ne!(polls.fetch_add(1, Ordering::Relaxed), at, "the body panics");
    look();
    tokio::time::sleep(ms(1)).await;
    look();
    tokio::task::yield_now().await;
    look();
    tokio::time::sleep(ms(1)).await;
    look();
    if first {
        Err(FarError::Failed(FailureKind::Connect))
    } else {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn at_every_poll_of_every_attempt() {
    // The second policy has a limit that no attempt reaches in every place where one may stand.
    for more in [
        "",
        "deadline = \"1h\"\nbreaker.slow_after = \"1h\"\nbreaker.slow_rate = 1.0",
    ] {
        for at in 0..=8 {
            let far = Stand::new(&format!("{LINES}{more}"));
            let (guard, polls) = (far.guard.clone(), Arc::new(AtomicUsize::new(0)));
            let call = tokio::spawn(async move {
                let mut attempts = 0;
                let body = || {
                    attempts += 1;
                    let (polls, first) = (Arc::clone(&polls), attempts == 1);
                    async move { panics_at(at, &polls, first).await }
                };
                seen(&guard.call(body).await)
            });
            // Who waits for the only slot meanwhile gets it, whatever becomes of the one before.
            let waits = far.begin_script(&Script::new("S")).await;
            let ended = call.await.map_err(|error| error.is_panic());
            assert_eq!(waits.await.unwrap(), "ok", "{more} {at}");
            settle().await;
            let expected = if at < 8 { Err(true) } else { Ok("ok") };
            assert_eq!((ended, far.slots()), (expected, (0, 0)), "{more} {at}");
            // The attempts that began and the waiter's own; the one that panicked is a failure and not repeated.
            let (attempts, failed) = [(1, 1), (2, 2), (2, 1)][at / 4];
            assert_eq!(
                (far.window(), far.failed_and_slow()),
                (attempts + 1, (failed, 0)),
                "{more} {at}"
            );
            let read = far.read();
            let outcomes = (read.outcomes["panicked"], read.outcomes["success"]);
            assert_eq!(outcomes, if at < 8 { (1, 1) } else { (0, 2) }, "{more} {at}");
            assert_eq!(read.attempts["panicked"], u64::from(at < 8));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn in_the_closure_that_makes_the_body() {
    let far = Stand::new(LINES);
    let guard = far.guard.clone();
    let call = tokio::spawn(async move {
        let mut first = true;
        guard
            .call(|| {
                assert!(!std::mem::take(&mut first), "the closure panics");
                async { Ok::<_, FarError>(()) }
            })
            .await
    });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!((far.slots(), far.failed_and_slow().0), ((0, 0), 1));
}

#[tokio::test(start_paused = true)]
async fn the_next_in_line_gets_the_slot() {
    let far = Stand::new(LINES);
    let first = far.begin_script(&Script::new("P/10ms")).await;
    let gate = Gate::new("S");
    let second = far.begin(&gate, 1).await.pop().unwrap();
    assert_eq!(far.slots(), (1, 1));
    assert!(first.await.unwrap_err().is_panic());
    settle().await;
    assert_eq!((far.slots(), gate.running()), ((1, 0), 1));
    gate.open(1);
    assert_eq!(second.await.unwrap(), "ok");
}

#[tokio::test(start_paused = true)]
async fn it_opens_the_breaker_like_any_failure() {
    let far = Stand::new("timeout = \"10s\"\nbreaker = { window = \"9 calls\", consecutive_failures = 3 }");
    for _ in 0..3 {
        assert_eq!(far.state(), "closed");
        assert!(far.begin_script(&Script::new("P")).await.await.unwrap_err().is_panic());
    }
    assert_eq!(far.each("S").await, words("open"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_off_or_observed_is_only_passed_on() {
    for mode in ["off", "observe"] {
        let far = Stand::new(&format!("mode = \"{mode}\"\n{LINES}"));
        panics(&far, "P/5ms").await;
        assert_eq!(far.one("S").await, "ok", "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_while_it_is_dropped_at_its_limit_leaves_no_slot_behind() {
    struct Bad;

    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("the body's destructor panics");
        }
    }

    let far = Stand::new("timeout = \"10ms\"\nbulkhead.max_concurrent = 1\nbreaker = { window = \"9 calls\" }");
    let guard = far.guard.clone();
    let call = tokio::spawn(
        AssertUnwindSafe(async move {
            guard
                .call_once(async {
                    let _bad = Bad;
                    std::future::pending::<Result<(), FarError>>().await
                })
                .await
        })
        .0,
    );
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(far.slots(), (0, 0));
    assert_eq!(far.one("S").await, "ok");
}
