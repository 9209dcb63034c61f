//! A call that is over in its first poll goes a way of its own. It has to end as every other call does.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use resilience_runtime::deadline::within;
use resilience_runtime::testing::{self, record};
use resilience_runtime::{Runtime, State, breaker, bulkhead, fallback, retry, timeout};

use crate::kit::{self, FarError, Gate, Script, ms, seen, settle};
use crate::listener::Log;
use crate::stand::{Stand, rejections, words};

// Outside of a scope: these are calls of the numbers compiled in, where `replica` has a breaker and slots, and no
// deadline, under which a call is no plain one.

#[breaker("replica")]
#[fallback(none = "the test looks at the error itself")]
async fn without_slots(slots: &Cell<usize>) -> Result<(), FarError> {
    slots.set(testing::in_flight("replica"));
    std::future::ready(Ok(())).await
}

#[bulkhead("replica")]
#[fallback(none = "the test looks at the error itself")]
async fn without_breaker(slots: &Cell<usize>) -> Result<(), FarError> {
    slots.set(testing::in_flight("replica"));
    std::future::ready(Ok(())).await
}

#[timeout("replica")]
#[fallback(none = "the test looks at the error itself")]
async fn with_neither(slots: &Cell<usize>) -> Result<(), FarError> {
    slots.set(testing::in_flight("replica"));
    std::future::ready(Ok(())).await
}

#[breaker("replica")]
#[fallback(stale(shared))]
#[fallback(value = 0)]
async fn kept(answer: usize) -> Result<usize, FarError> {
    std::future::ready(Ok(answer)).await
}

#[tokio::test(start_paused = true)]
async fn a_function_has_the_layers_of_its_attributes_whatever_tables_there_are_and_keeps_its_answers() {
    let slots = Cell::new(9);
    without_slots(&slots).await.unwrap();
    assert_eq!(slots.get(), 0, "`#[breaker]` takes no slot");
    without_breaker(&slots).await.unwrap();
    assert_eq!(slots.get(), 1, "`#[bulkhead]` takes one");
    testing::trip("replica");
    assert!(without_slots(&slots).await.is_err());
    without_breaker(&slots).await.unwrap();
    with_neither(&slots).await.unwrap();
    assert_eq!((slots.get(), testing::state("replica")), (0, State::Open));
    testing::reset("replica");
    assert_eq!(testing::in_flight("replica"), 0);
    let runtime = Runtime::current();
    let read = runtime.snapshot().dependency("replica").unwrap().clone();
    assert_eq!((read.outcomes["success"], read.outcomes["rejected"]), (4, 1));
    assert_eq!(kept(7).await, Ok(7));
    testing::trip("replica");
    assert_eq!(
        kept(8).await,
        Ok(7),
        "the last good answer, and not the value behind it"
    );
    testing::reset("replica");
}

#[tokio::test(start_paused = true)]
async fn one_attempt_under_a_deadline_that_has_passed_does_not_begin() {
    let far = Stand::new("timeout = \"1s\"\nbreaker = {}\nbulkhead.max_concurrent = 1");
    let body = Script::new("S");
    let (result, events) = record(within(ms(10), async {
        tokio::time::sleep(ms(9)).await;
        let first = seen(&far.guard.call_once(body.run()).await);
        tokio::time::advance(ms(1)).await;
        (first, seen(&far.guard.call_once(body.run()).await))
    }))
    .await;
    assert_eq!((result, body.starts()), (("ok", "deadline_exceeded"), 1));
    assert_eq!(rejections(&events), words("deadline_exceeded"));
}

#[tokio::test(start_paused = true)]
async fn one_attempt_that_panics_at_once_is_counted_and_gives_everything_back() {
    let far = Stand::new("timeout = \"1s\"\nbreaker.window = \"4 calls\"\nbulkhead.max_concurrent = 1\nfailures = []");
    let guard = far.guard.clone();
    let panics = tokio::spawn(async move {
        let body = Script::new("P");
        guard.call_once(body.run()).await
    });
    assert!(panics.await.unwrap_err().is_panic());
    assert_eq!((far.slots(), far.window()), ((0, 0), 1));
    let read = far.read();
    assert_eq!((read.outcomes["panicked"], read.attempts["panicked"]), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn who_would_have_to_wait_and_may_not_is_told_that_there_is_no_slot() {
    for line in [
        "max_concurrent = 1, max_waiting = 1, max_wait = \"0s\"",
        "max_concurrent = 1, max_waiting = 0, max_wait = \"1s\"",
    ] {
        let far = Stand::new(&format!("timeout = \"9s\"\nbreaker = {{}}\nbulkhead = {{ {line} }}"));
        let gate = Gate::new("S");
        let holder = far.begin(&gate, 1).await.pop().unwrap();
        assert_eq!(far.one("S").await, "bulkhead_full", "{line}");
        far.trip().await;
        assert_eq!(far.one("S").await, "bulkhead_full", "{line}, while open");
        gate.open(1);
        assert_eq!(holder.await.unwrap(), "ok");
        settle().await;
        assert_eq!(far.slots(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_as_long_as_the_timeout_is_not_the_shorter_one() {
    for (deadline, result) in [(49, "deadline_exceeded"), (50, "timed_out"), (51, "timed_out")] {
        let far = Stand::new(&format!("timeout = \"50ms\"\ndeadline = \"{deadline}ms\""));
        assert_eq!(far.one("H").await, result, "{deadline}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_just_the_longest_hold_is_not_reported_as_cut() {
    for (asked, cut) in [("Q10s", 0), ("Q11s", 1)] {
        let far = Stand::new("timeout = \"1s\"\nthrottle = \"dependency\"\nmax_hold = \"10s\"");
        let (_, events) = record(far.each(asked)).await;
        let reported = events.iter().filter(|event| event.name() == "hold.cut").count();
        assert_eq!(reported, cut, "{asked}");
    }
}

/// One attempt is not the last one.
#[retry("seatmap")]
#[fallback(none = "the test looks at the error itself")]
async fn repeated(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn what_is_over_at_once_is_repeated_all_the_same() {
    assert_eq!(repeated(&Script::new("F S")).await, Ok(2));
}

/// Holds its thread for longer than it may take, as no body should, after it waited or at once.
async fn holds_its_thread(waits: bool) -> Result<(), FarError> {
    if waits {
        tokio::task::yield_now().await;
    }
    let begun = std::time::Instant::now();
    while begun.elapsed() < ms(5) {
        std::hint::spin_loop();
    }
    Ok(())
}

#[tokio::test]
async fn a_body_that_holds_its_thread_is_slow_and_what_it_answers_counts() {
    let lines = r#"
        timeout = "2ms"
        breaker = { window = "4 calls", minimum_calls = 1, failure_rate = false, slow_after = "1ms", slow_rate = 1.0 }
    "#;
    for (once, waits) in [(true, false), (false, false), (true, true), (false, true)] {
        let far = Stand::new(lines);
        let (result, events) = record(async {
            if once {
                seen(&far.guard.call_once(holds_its_thread(waits)).await)
            } else {
                seen(&far.guard.call(|| holds_its_thread(waits)).await)
            }
        })
        .await;
        assert_eq!((result, far.read().cause), ("ok", Some("slow_rate")), "{once} {waits}");
        assert!(rejections(&events).is_empty(), "nothing was cut");
    }
}

/// Over in one poll, in which the clock moves on by `time`.
fn takes(time: Duration) -> impl Future<Output = Result<(), FarError>> {
    std::future::poll_fn(move |context| {
        // It moves the clock when it is first polled, and then waits for nothing that matters here.
        let _ = pin!(tokio::time::advance(time)).poll(context);
        Poll::Ready(Ok(()))
    })
}

#[tokio::test(start_paused = true)]
async fn ho_09_exactly_slow_after_is_not_slow_within_one_poll_either() {
    // One for each clock of the short way: the exact one, and from 50 ms on that of the ticks.
    for slow_after in [ms(1), ms(60)] {
        let lines =
            format!("window = \"4 calls\", minimum_calls = 1, slow_after = \"{slow_after:?}\", slow_rate = 1.0");
        for (took, state) in [(slow_after, "closed"), (slow_after + Duration::from_nanos(1), "open")] {
            for once in [true, false] {
                let far = Stand::new(&format!("timeout = \"9s\"\nbreaker = {{ {lines} }}"));
                if once {
                    far.guard.call_once(takes(took)).await.unwrap();
                } else {
                    far.guard.call(|| takes(took)).await.unwrap();
                }
                assert_eq!(far.state(), state, "{slow_after:?} {took:?} {once}");
            }
        }
    }
}

#[test]
fn outside_of_tokio_a_call_that_waits_is_bounded_by_nothing_and_that_is_logged() {
    let log = Log::default();
    let _listens = log.listen();
    let (_runtime, far) = kit::guard("timeout = \"1s\"\nbulkhead.max_concurrent = 1");
    let mut context = Context::from_waker(Waker::noop());
    let mut waits = pin!(far.call_once(std::future::pending::<Result<(), FarError>>()));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    let mut done = pin!(far.call_once(std::future::ready(Ok::<_, FarError>(7))));
    let Poll::Ready(result) = done.as_mut().poll(&mut context) else {
        panic!("it has nothing to wait for")
    };
    assert_eq!(seen(&result), "bulkhead_full");
    assert!(
        log.text().contains("a guarded call runs outside a tokio runtime"),
        "{}",
        log.text()
    );
}

#[tokio::test(start_paused = true)]
async fn who_polls_a_call_again_that_is_over_gets_nothing_and_it_is_counted_once() {
    let mut context = Context::from_waker(Waker::noop());
    let far = Stand::new("timeout = \"1s\"\nbreaker.window = \"4 calls\"\nbulkhead.max_concurrent = 1");
    let mut good = pin!(far.guard.call_once(std::future::ready(Ok::<_, FarError>(7))));
    assert!(good.as_mut().poll(&mut context).is_ready());
    assert!(good.as_mut().poll(&mut context).is_pending());
    far.trip().await;
    let mut refused = pin!(far.guard.call_once(std::future::ready(Ok::<_, FarError>(7))));
    assert!(refused.as_mut().poll(&mut context).is_ready());
    assert!(refused.as_mut().poll(&mut context).is_pending());
    let read = far.read();
    assert_eq!((read.outcomes["success"], read.outcomes["rejected"]), (1, 1));
    assert_eq!((read.attempts["success"], far.slots()), (1, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_reported_under_the_functions_name_wherever_it_was_refused() {
    let names = |events: &[testing::Event]| -> Vec<String> {
        events
            .iter()
            .filter_map(|event| event.field("function").map(ToOwned::to_owned))
            .collect()
    };
    let text = |lines: &str| {
        let numbers = format!("timeout = \"1s\"\nbreaker = {{}}\n{lines}");
        kit::parse(&format!(
            "version = 1\n[dependency.replica]\nfail = \"open\"\n{numbers}\n"
        ))
    };
    for lines in ["", "deadline = \"1s\""] {
        let runtime = Runtime::new(text(lines));
        let refused = async {
            testing::trip("replica");
            assert!(without_slots(&Cell::new(0)).await.is_err());
        };
        let ((), events) = record(runtime.scope(refused)).await;
        assert_eq!(names(&events), ["without_slots"], "{lines}");
    }
}
