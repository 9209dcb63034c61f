//! Fallbacks: when they run, what they get, and what their caller gets.

use resilience_runtime::testing::{self, record};
use resilience_runtime::{Failure, FailureKind, Runtime, breaker, bulkhead, fallback, retry, timeout};

use crate::kit::{Clock, FarError, Gate, Script, parse, settle, together};

/// A runtime where `seatmap` may be answered by a fallback and has these lines.
pub(crate) fn open(lines: &str) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\n{lines}\n"
    )))
}

/// A map, with one attempt or more, as the scope's policy says.
#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[fallback(with = lesser)]
async fn seats(body: &Script, show: u32, hall: String) -> Result<String, FarError> {
    body.run().await.map(|run| format!("{hall} {show} run {run}"))
}

#[allow(clippy::unused_async)] // a fallback is async
/// What `seats` gives without its dependency: its arguments, and why.
async fn lesser(_: &Script, show: u32, hall: String, why: Failure<FarError>) -> Result<String, FarError> {
    let why = match &why {
        Failure::Rejected(rejection) => rejection.reason().as_str(),
        Failure::Error(error) => error.word(),
    };
    Ok(format!("{hall} {show} without: {why}"))
}

pub(crate) async fn map(body: &Script) -> String {
    match seats(body, 7, "main".to_owned()).await {
        Ok(answer) => answer,
        Err(error) => error.word().to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn fbk_01_after_the_last_attempt() {
    for attempts in [2, 3] {
        let runtime = open(&format!("retry = {{ max_attempts = {attempts}, backoff = \"0s\" }}"));
        let body = Script::new("F");
        assert_eq!(runtime.scope(map(&body)).await, "main 7 without: server");
        assert_eq!(body.starts(), attempts);
        assert_eq!(runtime.snapshot().dependency("seatmap").unwrap().fallbacks["with"], 1);
    }
}

#[tokio::test(start_paused = true)]
async fn fbk_02_03_and_04_it_gets_the_arguments_and_the_last_error() {
    let runtime = open("timeout = \"9s\"");
    let body = Script::new("F C/5ms S/5ms");
    let answers = runtime
        .scope(async { [map(&body).await, map(&body).await, map(&body).await] })
        .await;
    assert_eq!(
        answers,
        ["main 7 without: server", "main 7 without: connect", "main 7 run 3"]
    );
    assert_eq!(body.starts(), 3);
}

#[tokio::test(start_paused = true)]
async fn fbk_05_and_15_it_sees_failures_and_never_a_business_answer() {
    let runtime = open("timeout = \"9s\"\nfailures = [\"connect\"]");
    for (step, answer) in [
        ("B", "business"),
        ("S", "main 7 run 1"),
        ("F", "main 7 without: server"),
        ("C", "main 7 without: connect"),
        ("Q", "main 7 without: throttled"),
        ("I", "main 7 without: ignored"),
    ] {
        let body = Script::new(step);
        assert_eq!(runtime.scope(map(&body)).await, answer, "{step}");
        assert_eq!(body.starts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn fbk_06_our_own_rejections_reach_it() {
    let runtime = open(
        r#"
            timeout = "100ms"
            bulkhead.max_concurrent = 1
            breaker = { window = "20 calls" }
            retry = { max_attempts = 2, backoff = "0s" }
            "#,
    );
    runtime
        .scope(async {
            assert_eq!(map(&Script::new("H")).await, "main 7 without: timed_out");
            assert_eq!(map(&Script::new("F")).await, "main 7 without: server");
            let (hung, good) = (Script::new("H"), Script::new("S"));
            let (first, second) = tokio::join!(map(&hung), map(&good));
            assert_eq!(
                (first.as_str(), second.as_str()),
                ("main 7 without: timed_out", "main 7 without: bulkhead_full")
            );
            testing::trip("seatmap");
            let body = Script::new("S");
            assert_eq!(map(&body).await, "main 7 without: open");
            assert_eq!(body.starts(), 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn fbk_14_and_met_06_a_good_later_attempt_needs_none() {
    let runtime = open("retry = { max_attempts = 10, backoff = \"0s\" }");
    let body = Script::new("F F F S");
    assert_eq!(runtime.scope(map(&body)).await, "main 7 run 4");
    let counts = || runtime.snapshot().dependency("seatmap").unwrap().fallbacks.clone();
    assert_eq!(counts().values().sum::<u64>(), 0);
    runtime.scope(map(&Script::new("C"))).await;
    runtime.scope(map(&Script::new("B"))).await;
    assert_eq!((counts()["with"], counts().values().sum::<u64>()), (1, 1));
}

#[allow(clippy::unused_async)] // a fallback is async
/// Fails in its own way.
async fn failing(_: &Script) -> Result<usize, FarError> {
    Err(FarError::Failed(FailureKind::Protocol))
}

#[timeout("seatmap")]
#[fallback(failing)]
async fn ends_badly(body: &Script) -> Result<usize, FarError> {
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn fbk_10_the_error_of_the_last_fallback_is_what_its_caller_gets() {
    let runtime = open("timeout = \"1s\"");
    let (result, events) = record(runtime.scope(ends_badly(&Script::new("F")))).await;
    assert_eq!(result, Err(FarError::Failed(FailureKind::Protocol)));
    let failed = events.iter().find(|event| event.name() == "fallback.failed").unwrap();
    assert_eq!(
        (failed.field("kind"), failed.field("first")),
        (Some("path"), Some("server"))
    );
}

#[bulkhead("replica")]
#[fallback(none = "there is nothing behind it")]
async fn guarded_second(_: &Script, gate: &Gate) -> Result<usize, FarError> {
    gate.run().await
}

#[timeout("seatmap")]
#[fallback(guarded_second)]
async fn first(body: &Script, gate: &Gate) -> Result<usize, FarError> {
    assert!(gate.running() < 2);
    body.run().await
}

#[tokio::test(start_paused = true)]
async fn fbk_11_a_fallback_has_its_own_slots() {
    let runtime = Runtime::new(parse(
        r#"
        version = 1
        [dependency.seatmap]
        fail = "open"
        timeout = "9s"
        [dependency.replica]
        fail = "open"
        bulkhead.max_concurrent = 1
        "#,
    ));
    let (body, gate) = (Script::new("F"), Gate::new("S"));
    let both = runtime.scope(together([first(&body, &gate), first(&body, &gate)]));
    let opener = async {
        settle().await;
        assert_eq!(gate.running(), 1);
        gate.open(1);
    };
    let (results, ()) = tokio::join!(both, opener);
    assert_eq!(results, [Ok(1), Err(FarError::Rejected("bulkhead_full"))]);
}

/// Takes longer than the call's timeout allows an attempt.
async fn slow_map(_: &Script) -> Result<&'static str, FarError> {
    tokio::time::sleep(crate::kit::ms(700)).await;
    Ok("fallback")
}

#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[fallback(slow_map)]
#[fallback(none = "an error is shown")]
async fn with_slow_map(body: &Script) -> Result<&'static str, FarError> {
    body.run().await.map(|_| "ok")
}

#[tokio::test(start_paused = true)]
async fn tmo_05_the_fallback_has_its_own_time() {
    for (attempts, starts, at) in [(1, 1, 1_200), (2, 2, 1_700)] {
        let runtime = open(&format!(
            r#"
                timeout = "500ms"
                retry = {{ max_attempts = {attempts}, backoff = "0s" }}
                fallback.timeout = "800ms"
                "#
        ));
        let (clock, body) = (Clock::start(), Script::new("H"));
        assert_eq!(runtime.scope(with_slow_map(&body)).await, Ok("fallback"));
        assert_eq!((body.starts(), clock.now().as_millis()), (starts, at));
    }
    let runtime = open("timeout = \"500ms\"\nfallback.timeout = \"600ms\"");
    let clock = Clock::start();
    assert_eq!(
        runtime.scope(with_slow_map(&Script::new("H"))).await,
        Err(FarError::Rejected("timed_out"))
    );
    assert_eq!(clock.now().as_millis(), 1_100);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_runs_outside_of_the_slot_and_within_what_is_left() {
    let runtime = open("timeout = \"500ms\"\nbulkhead.max_concurrent = 1\nfallback.timeout = \"800ms\"");
    runtime
        .scope(async {
            let mut call = Box::pin(with_slow_map_of("F"));
            assert!(crate::kit::poll_once(call.as_mut()).is_pending());
            assert_eq!(testing::in_flight("seatmap"), 0);
            assert_eq!(call.await, Ok("fallback"));
            let clock = Clock::start();
            let bounded = resilience_runtime::deadline::within(crate::kit::ms(300), with_slow_map_of("F"));
            assert_eq!(bounded.await, Err(FarError::Failed(FailureKind::Server)));
            assert_eq!(clock.now().as_millis(), 300);
        })
        .await;
}

async fn with_slow_map_of(step: &str) -> Result<&'static str, FarError> {
    with_slow_map(&Script::new(step)).await
}

#[tokio::test(start_paused = true)]
async fn dropped_at_every_point_of_a_fallback_everything_is_back() {
    let lines = r#"
        timeout = "500ms"
        bulkhead.max_concurrent = 1
        fallback = { max_concurrent = 1, timeout = "800ms" }
        retry = { max_attempts = 2, backoff = "20ms", jitter = "none" }
        "#;
    for polls in 0..90 {
        let runtime = open(lines);
        let body = Script::new("F/50ms");
        let clock = Clock::start();
        let ended = runtime
            .scope(async {
                let mut call = Box::pin(with_slow_map(&body));
                for poll in 0..polls {
                    if crate::kit::poll_once(call.as_mut()).is_ready() {
                        return true;
                    }
                    clock.at(crate::kit::ms((poll + 1) * 10)).await;
                }
                false
            })
            .await;
        assert_eq!(ended, polls > 82, "after {polls} polls");
        let read = runtime.snapshot().dependency("seatmap").unwrap().clone();
        assert_eq!((read.in_flight, body.running()), (0, 0), "after {polls} polls");
        assert_eq!(read.fallbacks["path"], u64::from(ended));
        // The fallback's only slot is free again.
        assert_eq!(runtime.scope(with_slow_map_of("B")).await, Err(FarError::Business));
        assert_eq!(runtime.scope(with_slow_map_of("I")).await, Ok("fallback"));
    }
}
