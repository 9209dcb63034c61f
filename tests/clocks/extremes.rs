//! Durations as short and as long as they can be.

use std::future::pending;
use std::time::Duration;

use resilience_runtime::{FailureKind, deadline};

use crate::kit::{FarError, Script, call, guard, ms, poll_once, secs, seen, state};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test(start_paused = true)]
async fn a_deadline_that_never_comes_bounds_nothing() {
    let (_runtime, guard) = guard("timeout = \"1s\"");
    let seen_inside = deadline::within(Duration::MAX, async {
        assert_eq!(deadline::remaining(), None);
        // An earlier one inside stands, and the later one outside does not.
        let left = deadline::within(secs(2), async { deadline::remaining() }).await;
        assert_eq!(left, Some(secs(2)));
        call(&guard, &Script::new("H")).await
    });
    assert_eq!(seen_inside.await, "timed_out");
    let nearly = Duration::from_nanos(u64::MAX - 1);
    assert_eq!(deadline::within(nearly, call(&guard, &Script::new("S"))).await, "ok");
    // 300 years are further than any timer reaches, and still a deadline.
    let centuries = DAY * 365 * 300;
    let (left, ended) = deadline::within(centuries, async {
        (deadline::remaining(), call(&guard, &Script::new("H")).await)
    })
    .await;
    assert_eq!((left, ended), (Some(centuries), "timed_out"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_nothing_refuses_before_the_body() {
    let (_runtime, guard) = guard("timeout = \"1s\"\nretry = {}");
    let script = Script::new("S");
    let ended = deadline::within(Duration::ZERO, call(&guard, &script)).await;
    assert_eq!((ended, script.starts()), ("deadline_exceeded", 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_timeout_under_a_deadline_of_centuries_waits_and_is_dropped() {
    let (_runtime, guard) = guard("bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"24h\" }");
    for within in [Duration::MAX, Duration::from_nanos(u64::MAX - 1), DAY * 365 * 300] {
        let mut running = Box::pin(deadline::within(
            within,
            guard.call_once(pending::<Result<(), FarError>>()),
        ));
        assert!(poll_once(running.as_mut()).is_pending());
        let mut waits = Box::pin(deadline::within(
            within,
            guard.call_once(async { Ok::<_, FarError>(()) }),
        ));
        assert!(poll_once(waits.as_mut()).is_pending());
        tokio::time::advance(secs(86_399)).await;
        assert!(poll_once(running.as_mut()).is_pending() && poll_once(waits.as_mut()).is_pending());
        tokio::time::advance(secs(1)).await;
        assert_eq!(seen(&waits.await), "wait_timed_out");
        assert!(poll_once(running.as_mut()).is_pending());
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_is_kept_to_the_millisecond_at_every_layer() {
    let (runtime, guard) = guard(
        r#"
        timeout = "24h"
        breaker = { window = "1 calls", minimum_calls = 1, cooldown = "24h", cooldown_max = "24h", cooldown_factor = 10.0, cooldown_jitter = 0.0 }
        "#,
    );
    let begun = tokio::time::Instant::now();
    assert_eq!(call(&guard, &Script::new("H")).await, "timed_out");
    assert_eq!(begun.elapsed(), DAY);
    // Openings in a row grow by ten each, and never beyond a day.
    for _ in 0..5 {
        assert_eq!(state(&runtime), "open");
        tokio::time::advance(ms(86_399_999)).await;
        let refused = guard.call(|| async { Ok::<(), FarError>(()) }).await;
        assert_eq!(refused.unwrap_err().rejection().unwrap().retry_after(), Some(ms(1)));
        tokio::time::advance(ms(1)).await;
        let failed = FarError::Failed(FailureKind::Server);
        assert_eq!(seen(&guard.call(|| async { Err::<(), _>(failed) }).await), "server");
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttling_answer_beyond_all_time_is_cut_at_max_hold() {
    let (_runtime, guard) = guard(
        "timeout = \"1s\"\nthrottle = \"dependency\"\nmax_hold = \"24h\"\nretry = { max_attempts = 2, budget = 10.0 }",
    );
    let mut answers = [Err(FarError::Throttled(Some(Duration::MAX))), Ok(())].into_iter();
    let begun = tokio::time::Instant::now();
    let mut running = Box::pin(guard.call(|| std::future::ready(answers.next().unwrap())));
    assert!(poll_once(running.as_mut()).is_pending());
    let held = guard.call_once(async { Ok::<_, FarError>(()) }).await;
    assert_eq!(held.unwrap_err().rejection().unwrap().retry_after(), Some(DAY));
    assert_eq!((seen(&running.await), begun.elapsed()), ("ok", DAY));
}

#[tokio::test(start_paused = true)]
async fn a_microsecond_is_a_bound_too() {
    let (_runtime, guard) = guard("timeout = \"1us\"");
    assert_eq!(call(&guard, &Script::new("H")).await, "timed_out");
    assert_eq!(
        call(&guard, &Script::new("S")).await,
        "ok",
        "it was done at its first poll"
    );
}
