//! Annotated functions: the call path allocates nothing with any form of fallback that answers by itself.

use std::future::{Future, pending, ready};
use std::pin::pin;
use std::task::{Context, Waker};

use allocation_counter::measure;
use resilience_runtime::{Runtime, breaker, bulkhead, fallback, retry, testing, timeout};

use crate::hand::Hand;
use crate::kit::{FarError, parse};

/// What the body is to do.
#[derive(Debug, Clone, Copy)]
enum Body {
    Answers(Result<u8, FarError>),
    Hangs,
}

async fn run(body: Body) -> Result<u8, FarError> {
    match body {
        Body::Answers(answer) => ready(answer).await,
        Body::Hangs => pending().await,
    }
}

#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[timeout]
#[fallback(none = "the caller sees the error")]
async fn none(body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[breaker("seatmap")]
#[bulkhead]
#[fallback(none = "the caller sees the error")]
async fn none_once(body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[breaker("seatmap")]
#[bulkhead]
#[timeout]
#[fallback(refuse = FarError::from)]
async fn refuse(body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[fallback(value = 0)]
async fn value(body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[breaker("seatmap")]
#[fallback(stale(key = show))]
#[fallback(value = 0)]
async fn stale(show: u32, body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[bulkhead("farms", key = farm)]
#[fallback(none = "the farmer sees the error")]
async fn keyed(farm: u32, body: Body) -> Result<u8, FarError> {
    run(body).await
}

#[breaker("replica")]
#[fallback(lesser)]
async fn path(body: Body) -> Result<u8, FarError> {
    run(body).await
}

async fn lesser(_: Body) -> Result<u8, FarError> {
    ready(Ok(0)).await
}

/// A runtime of its own in which nothing trips by itself.
fn runtime() -> Runtime {
    let table = |name: &str| {
        format!(
            "[dependency.{name}]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {{ failure_rate = false, cooldown = \"24h\", cooldown_max = \"24h\" }}\n\
             bulkhead = {{ max_concurrent = 2, per_key = 1 }}\nretry = {{ backoff = \"10ms\" }}\n"
        )
    };
    Runtime::new(parse(&format!(
        "version = 1\n{}{}{}",
        table("seatmap"),
        table("farms"),
        table("replica")
    )))
}

const FAILED: FarError = FarError::Failed(resilience_runtime::FailureKind::Server);

/// Allocations of a hundred calls of `function` in a runtime of its own, by what its body does.
fn count<F: Future>(hand: &Hand, runtime: &Runtime, body: Body, function: impl Fn(Body) -> F) -> u64 {
    hand.count(|| {
        hand.run(runtime.scope(function(body)));
    })
}

const BODIES: [Body; 4] = [
    Body::Answers(Ok(1)),
    Body::Answers(Err(FAILED)),
    Body::Answers(Err(FarError::Business)),
    Body::Hangs,
];

#[test]
fn accepted_calls_allocate_nothing() {
    let hand = Hand::new();
    for body in BODIES {
        let runtime = runtime();
        let counts = [
            count(&hand, &runtime, body, none),
            count(&hand, &runtime, body, none_once),
            count(&hand, &runtime, body, refuse),
            count(&hand, &runtime, body, value),
        ];
        assert_eq!(counts, [0; 4], "{body:?}");
    }
    // Nothing bounds the time of this one.
    let runtime = runtime();
    for body in &BODIES[..3] {
        assert_eq!(count(&hand, &runtime, *body, |body| keyed(7, body)), 0, "{body:?}");
    }
}

#[test]
fn refused_calls_allocate_nothing() {
    let hand = Hand::new();
    let runtime = runtime();
    hand.run(runtime.scope(async { testing::trip("seatmap") }));
    let body = Body::Answers(Ok(1));
    let counts = [
        count(&hand, &runtime, body, none),
        count(&hand, &runtime, body, none_once),
        count(&hand, &runtime, body, refuse),
        count(&hand, &runtime, body, value),
        count(&hand, &runtime, body, |body| stale(7, body)),
    ];
    assert_eq!(counts, [0; 5]);
}

#[test]
fn a_stale_answer_that_is_not_there_allocates_nothing() {
    let hand = Hand::new();
    let runtime = runtime();
    assert_eq!(
        count(&hand, &runtime, Body::Answers(Err(FAILED)), |body| stale(7, body)),
        0
    );
}

#[test]
fn in_the_runtime_of_the_process_as_in_a_scope() {
    let hand = Hand::new();
    let counts = [
        none_here(&hand, Body::Answers(Ok(1))),
        none_here(&hand, Body::Answers(Err(FarError::Business))),
    ];
    assert_eq!(counts, [0; 2]);
}

fn none_here(hand: &Hand, body: Body) -> u64 {
    hand.count(|| {
        let _ = hand.run(none(body));
        let _ = hand.run(none_once(body));
        let _ = hand.run(refuse(body));
        let _ = hand.run(value(body));
    })
}

/// The future of a fallback function and the chain that waits for it are boxed, so that a call that needs none carries no
/// room for them: two allocations, and only of a call that falls.
#[test]
fn a_fallback_function_costs_two_boxes_and_only_the_call_that_needs_it() {
    let hand = Hand::new();
    let runtime = runtime();
    assert_eq!(count(&hand, &runtime, Body::Answers(Ok(1)), path), 0);
    assert_eq!(count(&hand, &runtime, Body::Answers(Err(FAILED)), path), 200);
    hand.run(runtime.scope(async { testing::trip("replica") }));
    assert_eq!(count(&hand, &runtime, Body::Answers(Ok(1)), path), 200);
}

#[retry("farms")]
#[fallback(none = "the caller sees the error")]
async fn asks(further: bool) -> Result<u8, FarError> {
    if further { asked(1).await } else { Ok(1) }
}

#[retry("farms")]
#[fallback(none = "the caller sees the error")]
async fn asked(answer: u8) -> Result<u8, FarError> {
    ready(Ok(answer)).await
}

#[breaker("replica")]
#[fallback(none = "the caller sees the error")]
async fn asks_once(further: bool) -> Result<u8, FarError> {
    if further { asked_once(1).await } else { Ok(1) }
}

#[breaker("replica")]
#[fallback(none = "the caller sees the error")]
async fn asked_once(answer: u8) -> Result<u8, FarError> {
    ready(Ok(answer)).await
}

fn is_over_at_once(call: impl Future) {
    let polled = pin!(call).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_ready());
}

/// With the numbers compiled in, as in a service, and on threads on which no call ever waited: what only such a call
/// needs would have to be made for the second of two that run at once.
#[test]
fn calls_that_are_over_in_their_first_poll_need_nothing_that_waiting_calls_need() {
    let count = |warm: fn(), nested: fn()| {
        // A second that begins in between makes a sum of its own, but not on every thread.
        let threads = (0..5).map(|_| {
            let thread = std::thread::spawn(move || {
                warm();
                measure(nested).count_total
            });
            thread.join().unwrap()
        });
        threads.min()
    };
    let often = count(
        || {
            is_over_at_once(asks(false));
            is_over_at_once(asked(1));
        },
        || is_over_at_once(asks(true)),
    );
    let once = count(
        || {
            is_over_at_once(asks_once(false));
            is_over_at_once(asked_once(1));
        },
        || is_over_at_once(asks_once(true)),
    );
    assert_eq!((often, once), (Some(0), Some(0)));
}
