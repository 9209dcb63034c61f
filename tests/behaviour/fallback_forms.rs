//! The forms of a fallback, and what happens from one to the next.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::{
    Classify, Failure, FailureKind, Freshness, Mode, Outcome, Override, Rejection, Runtime, Served, breaker, bulkhead,
    degraded, fallback, retry, testing, timeout,
};

use crate::fallbacks::{map, open};
use crate::kit::{Clock, FarError, Script, parse, poll_once, secs};

#[breaker("seatmap")]
#[fallback(stale(key = show))]
#[fallback(value = Served::fresh(0))]
async fn price(body: &Script, show: u32) -> Result<Served<usize>, FarError> {
    body.run().await.map(Served::fresh)
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_comes_before_a_made_up_one_and_says_so() {
    let runtime = open("timeout = \"1s\"\nbreaker = { window = \"9 calls\" }\nfallback.max_stale = \"5m\"");
    runtime
        .scope(async {
            let clock = Clock::start();
            assert_eq!(
                price(&Script::new("F"), 1).await.unwrap().freshness,
                Freshness::Fallback
            );
            assert_eq!(price(&Script::new("S"), 1).await, Ok(Served::fresh(1)));
            clock.at(secs(60)).await;
            let stale = Served {
                value: 1,
                freshness: Freshness::Stale { age: secs(60) },
            };
            assert_eq!(price(&Script::new("F"), 1).await, Ok(stale));
            // Another key has none.
            assert_eq!(
                price(&Script::new("F"), 2).await.unwrap().freshness,
                Freshness::Fallback
            );
            clock.at(secs(301)).await;
            let (last, noted) = degraded::collect(price(&Script::new("F"), 1)).await;
            assert_eq!(last.unwrap().freshness, Freshness::Fallback);
            assert_eq!(
                (noted.len(), noted[0].kind(), noted[0].reason()),
                (1, "value", "server")
            );
        })
        .await;
}

#[breaker("payrail")]
#[bulkhead]
#[fallback(refuse = later)]
async fn charge(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[allow(clippy::needless_pass_by_value)] // `refuse` hands the rejection over
fn later(rejection: Rejection) -> FarError {
    assert!(rejection.retry_after().is_some());
    FarError::Throttled(rejection.retry_after())
}

#[tokio::test(start_paused = true)]
async fn what_fails_closed_is_refused_and_a_failed_call_keeps_its_own_error() {
    let runtime = Runtime::new(parse(
        r#"
            version = 1
            [dependency.payrail]
            fail = "closed"
            timeout = "1s"
            breaker = { cooldown = "30s", cooldown_jitter = 0.0 }
            "#,
    ));
    runtime
        .scope(async {
            assert_eq!(
                charge(&Script::new("F")).await,
                Err(FarError::Failed(FailureKind::Server))
            );
            testing::trip("payrail");
            let body = Script::new("S");
            assert_eq!(charge(&body).await, Err(FarError::Throttled(Some(secs(30)))));
            assert_eq!(body.starts(), 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_operators_closed_is_obeyed_at_once() {
    let runtime = open("timeout = \"1s\"");
    assert_eq!(runtime.scope(map(&Script::new("F"))).await, "main 7 without: server");
    let closed = parse("version = 1\n[dependency.seatmap]\nfail = \"closed\"\ntimeout = \"1s\"\n");
    runtime.reload(closed).unwrap();
    assert_eq!(runtime.scope(map(&Script::new("F"))).await, "server");
}

/// Zero is no answer.
fn more_than_zero(answer: &Result<usize, FarError>) -> Outcome {
    match answer {
        Ok(0) => Outcome::Failure(FailureKind::Other),
        Ok(_) => Outcome::Success,
        Err(error) => error.classify(),
    }
}

#[breaker("seatmap", classify = more_than_zero)]
#[bulkhead]
#[retry]
#[fallback(none = "the last answer is as good as any")]
async fn count(runs: &AtomicUsize, good: usize) -> Result<usize, FarError> {
    Ok(if runs.fetch_add(1, Ordering::Relaxed) + 1 == good {
        good
    } else {
        0
    })
}

#[tokio::test(start_paused = true)]
async fn rty_12_a_value_that_is_judged_a_failure_is_repeated_and_returned_at_last() {
    let runtime = open("retry = { max_attempts = 3, backoff = \"0s\" }");
    for (good, answer, starts) in [(1, 1, 1), (2, 2, 2), (3, 3, 3), (9, 0, 3)] {
        let runs = AtomicUsize::new(0);
        assert_eq!(runtime.scope(count(&runs, good)).await, Ok(answer));
        assert_eq!(runs.into_inner(), starts, "{good}");
    }
}

#[allow(clippy::unused_async)] // a fallback is async
async fn panicking(_: &Script) -> Result<usize, FarError> {
    panic!("the fallback panics")
}

#[timeout("seatmap")]
#[fallback(panicking)]
#[fallback(value = 42)]
async fn chained(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn a_form_that_panics_declines_and_the_next_one_answers() {
    let runtime = open("timeout = \"1s\"");
    assert_eq!(runtime.scope(chained(&Script::new("F"))).await, Ok(42));
    let fallbacks = runtime.snapshot().dependency("seatmap").unwrap().fallbacks.clone();
    assert_eq!((fallbacks["path"], fallbacks["value"]), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn every_call_of_the_last_minute_is_in_the_degraded_ratio_however_it_ended() {
    let runtime = open("timeout = \"1s\"");
    for step in ["S", "B", "F", "F"] {
        let _ = runtime.scope(chained(&Script::new(step))).await;
    }
    let panicked = tokio::spawn(runtime.scope(async { chained(&Script::new("P")).await }));
    assert!(panicked.await.is_err());
    let hung = Script::new("H");
    let mut dropped = Box::pin(runtime.scope(chained(&hung)));
    assert!(poll_once(dropped.as_mut()).is_pending());
    drop(dropped);
    let read = || runtime.snapshot().dependency("seatmap").unwrap().clone();
    assert!(
        (read().degraded_ratio - 2.0 / 6.0).abs() < 1e-9,
        "{}",
        read().degraded_ratio
    );
    assert_eq!(read().in_flight, 0);
    tokio::time::sleep(secs(62)).await;
    assert!(read().degraded_ratio.abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_runs_no_fallback() {
    let runtime = open("timeout = \"1s\"");
    let call = tokio::spawn(runtime.scope(async { chained(&Script::new("P")).await }));
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(
        runtime
            .snapshot()
            .dependency("seatmap")
            .unwrap()
            .fallbacks
            .values()
            .sum::<u64>(),
        0
    );
}

/// What an operator chose to say.
#[allow(clippy::unused_async)] // a fallback is async
async fn as_told(_: &Script, why: Failure<FarError>) -> Result<String, FarError> {
    let answer = why.rejection().and_then(Rejection::answer).map(str::to_owned);
    answer.ok_or(FarError::Ignored)
}

#[breaker("seatmap")]
#[fallback(with = as_told)]
#[fallback(value = "nothing was said".to_owned())]
async fn said(body: &Script) -> Result<String, FarError> {
    body.run().await.map(|_| "ok".to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_word_of_an_operators_hand_reaches_the_fallback() {
    let runtime = open("timeout = \"1s\"");
    let mut hand = Override::new(Mode::Isolate, "ops", "maintenance", secs(60));
    hand.answer = Some("delayed".to_owned());
    runtime.set_mode("seatmap", hand).unwrap();
    let body = Script::new("S F");
    assert_eq!(runtime.scope(said(&body)).await.as_deref(), Ok("delayed"));
    runtime.clear_mode("seatmap").unwrap();
    assert_eq!(runtime.scope(said(&body)).await.as_deref(), Ok("ok"));
    assert_eq!(runtime.scope(said(&body)).await.as_deref(), Ok("nothing was said"));
    assert_eq!(body.starts(), 2);
}

thread_local! {
    static GIVEN_BACK: Cell<usize> = const { Cell::new(0) };
}

/// Counts when it goes.
struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        GIVEN_BACK.with(|given| given.set(given.get() + 1));
    }
}

#[breaker("seatmap")]
#[fallback(value = GIVEN_BACK.get())]
async fn one_form(body: &Script, held: Held) -> Result<usize, FarError> {
    let _held = held;
    body.run().await
}

#[breaker("seatmap")]
#[fallback(stale(shared))]
#[fallback(value = GIVEN_BACK.get())]
async fn two_forms(body: &Script, held: Held) -> Result<usize, FarError> {
    let _held = held;
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn what_a_call_took_is_given_back_before_its_fallback_speaks_however_it_ended() {
    let runtime = open("timeout = \"1s\"\nbreaker.window = \"9 calls\"");
    let given_back = || GIVEN_BACK.replace(0);
    runtime
        .scope(async {
            for end in ["F", "H"] {
                assert_eq!(one_form(&Script::new(end), Held).await, Ok(1), "{end}");
                assert_eq!(given_back(), 1);
                assert_eq!(two_forms(&Script::new(end), Held).await, Ok(1), "{end}");
                assert_eq!(given_back(), 1);
            }
            testing::trip("seatmap");
            assert_eq!(one_form(&Script::new("S"), Held).await, Ok(1), "refused");
            assert_eq!(given_back(), 1);
            assert_eq!(two_forms(&Script::new("S"), Held).await, Ok(1), "refused");
        })
        .await;
}
