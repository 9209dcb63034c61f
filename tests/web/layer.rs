//! A guard as a tower layer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use resilience_runtime::tower::{GuardLayer, GuardService};
use resilience_runtime::{Failure, FailureKind, Outcome, Reason, Runtime, State, breaker, bulkhead, fallback, testing};
use tower_layer::Layer;
use tower_service::Service;

use crate::kit::{Clock, FarError, Script, ms, parse, poll_once, secs, settle, together};

/// A far side that is called with the number of the run it is to give, and may be not ready.
#[derive(Clone)]
struct Far {
    script: Script,
    ready: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    /// Whether this very value was found ready, which `call` relies on.
    found: bool,
}

impl Far {
    fn new(script: &str) -> Self {
        Self {
            script: Script::new(script),
            ready: Arc::new(AtomicBool::new(true)),
            asked: Arc::default(),
            found: false,
        }
    }
}

impl Service<&'static str> for Far {
    type Response = usize;
    type Error = FarError;
    type Future = Pin<Box<dyn Future<Output = Result<usize, FarError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FarError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.found = self.ready.load(Ordering::Relaxed);
        if self.found { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, _: &'static str) -> Self::Future {
        assert!(std::mem::take(&mut self.found), "called without having been ready");
        Box::pin(self.script.run())
    }
}

const PAYRAIL: &str = r#"
version = 1
[dependency.payrail]
fail = "closed"
timeout = "1s"
breaker.window = "4 calls"
breaker.cooldown = "30s"
breaker.cooldown_jitter = 0.0
bulkhead.max_concurrent = 2
bulkhead.retry_after = "5s"
retry.max_attempts = 3
retry.backoff = "100ms"
retry.jitter = "none"
"#;

fn payrail() -> Runtime {
    Runtime::new(parse(PAYRAIL))
}

fn guarded(
    runtime: &Runtime,
    far: &Far,
) -> GuardService<Far, resilience_runtime::tower::ByError, resilience_runtime::tower::Once> {
    GuardLayer::new(runtime.guard("payrail").unwrap()).layer(far.clone())
}

fn word(answer: &Result<usize, Failure<FarError>>) -> &'static str {
    crate::kit::seen(answer)
}

/// The same dependency, by attribute.
#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "the order stays pending")]
async fn charge(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn a_layer_and_an_annotated_function_share_breaker_and_slots() {
    let runtime = payrail();
    runtime
        .scope(async {
            let far = Far::new("F");
            let mut client = guarded(&runtime, &far);
            let script = Script::new("F");
            for _ in 0..2 {
                assert_eq!(word(&client.call("charge").await), "server");
                assert_eq!(charge(&script).await, Err(FarError::Failed(FailureKind::Server)));
            }
            assert_eq!(testing::state("payrail"), State::Open);
            let refused = client.call("charge").await.unwrap_err();
            assert_eq!(
                refused
                    .rejection()
                    .map(|refused| (refused.reason(), refused.retry_after())),
                Some((Reason::Open, Some(secs(30))))
            );
            assert_eq!(charge(&script).await, Err(FarError::Rejected("open")));
            assert_eq!((far.script.starts(), script.starts()), (2, 2));

            testing::reset("payrail");
            let (slow, body) = (Far::new("S/100ms"), Script::new("S/100ms"));
            let mut by_layer = Box::pin(guarded(&runtime, &slow).call("charge"));
            let mut by_attribute = Box::pin(charge(&body));
            assert!(poll_once(by_layer.as_mut()).is_pending() && poll_once(by_attribute.as_mut()).is_pending());
            assert_eq!(testing::in_flight("payrail"), 2);
            assert_eq!(word(&client.call("charge").await), "bulkhead_full");
            assert_eq!(charge(&body).await, Err(FarError::Rejected("bulkhead_full")));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_service_share_its_guard() {
    let runtime = payrail();
    let far = Far::new("S/100ms");
    let mut client = guarded(&runtime, &far);
    let mut clone = client.clone();
    let answers = together([client.call("a"), clone.call("b"), client.call("c")]).await;
    assert_eq!(
        answers.iter().map(word).collect::<Vec<_>>(),
        ["ok", "ok", "bulkhead_full"]
    );
    assert_eq!((far.script.starts(), far.script.peak()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_inner_service_is_the_dependencys_time_and_ends_with_the_timeout() {
    let runtime = payrail();
    let far = Far::new("S");
    far.ready.store(false, Ordering::Relaxed);
    let mut client = guarded(&runtime, &far);
    let clock = Clock::start();
    for _ in 0..4 {
        assert_eq!(word(&client.call("charge").await), "timed_out");
    }
    assert_eq!(clock.now(), secs(4));
    // Who is to be refused does not wait for what is down, and does not ask it.
    let asked = far.asked.load(Ordering::Relaxed);
    assert_eq!(word(&client.call("charge").await), "open");
    assert_eq!((clock.now(), far.asked.load(Ordering::Relaxed)), (secs(4), asked));
    assert_eq!(far.script.starts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_slot_back_and_counts_neither_way() {
    let runtime = payrail();
    let far = Far::new("H");
    let mut client = guarded(&runtime, &far);
    let mut calls: Vec<_> = (0..2).map(|_| Box::pin(client.call("charge"))).collect();
    for call in &mut calls {
        assert!(poll_once(call.as_mut()).is_pending());
    }
    assert_eq!(runtime.snapshot().dependency("payrail").unwrap().in_flight, 2);
    drop(calls);
    let snapshot = runtime.snapshot();
    let payrail = snapshot.dependency("payrail").unwrap();
    assert_eq!((payrail.in_flight, payrail.calls, far.script.running()), (0, 0, 0));
    // One that was never polled has not begun.
    drop(client.call("charge"));
    assert_eq!(far.script.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_way_to_copy_the_request_there_is_one_attempt() {
    let runtime = payrail();
    let far = Far::new("F S");
    assert_eq!(word(&guarded(&runtime, &far).call("charge").await), "server");
    let layer = GuardLayer::new(runtime.guard("payrail").unwrap()).retry(|_: &&'static str| None);
    let far = Far::new("F S");
    assert_eq!(word(&layer.layer(far.clone()).call("charge").await), "server");
    assert_eq!(far.script.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_can_be_copied_is_sent_again_as_the_policy_says() {
    let runtime = payrail();
    let copies = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&copies);
    let layer = GuardLayer::new(runtime.guard("payrail").unwrap()).retry(move |request: &&'static str| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(*request)
    });
    let (far, clock) = (Far::new("F F S"), Clock::start());
    assert_eq!(layer.layer(far.clone()).call("charge").await.unwrap(), 3);
    assert_eq!((far.script.starts(), clock.now()), (3, ms(300)));
    // One before the first attempt, one before the second; the third takes what was kept.
    assert_eq!(copies.load(Ordering::Relaxed), 2);

    testing_reset(&runtime).await;
    let far = Far::new("F");
    assert_eq!(word(&layer.layer(far.clone()).call("charge").await), "server");
    assert_eq!(far.script.starts(), 3);
    // The breaker counted each attempt: a fourth failure opens it, and the open breaker ends the loop.
    let far = Far::new("F");
    assert_eq!(word(&layer.layer(far.clone()).call("charge").await), "open");
    assert_eq!(far.script.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_request_is_copied_where_the_policy_repeats_nothing() {
    for (lines, answer) in [
        ("retry = false", "server"),
        ("retry.max_attempts = 1", "server"),
        ("mode = \"observe\"\nretry.max_attempts = 3", "server"),
        ("mode = \"off\"\nretry.max_attempts = 3", "server"),
        ("mode = \"isolate\"\nretry.max_attempts = 3", "isolated"),
    ] {
        let (_runtime, guard) = crate::kit::guard(lines);
        let copies = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&copies);
        let layer = GuardLayer::new(guard).retry(move |request: &&'static str| {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(*request)
        });
        assert_eq!(
            word(&layer.layer(Far::new("F S")).call("charge").await),
            answer,
            "{lines}"
        );
        assert_eq!(copies.load(Ordering::Relaxed), 0, "{lines}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_a_second_time_ends_with_its_last_real_answer() {
    let runtime = payrail();
    let copies = Arc::new(AtomicUsize::new(0));
    let layer = GuardLayer::new(runtime.guard("payrail").unwrap())
        .retry(move |request: &&'static str| (copies.fetch_add(1, Ordering::Relaxed) == 0).then_some(*request));
    let far = Far::new("F C S");
    assert_eq!(word(&layer.layer(far.clone()).call("charge").await), "connect");
    assert_eq!(far.script.starts(), 2);
}

async fn testing_reset(runtime: &Runtime) {
    runtime.scope(async { testing::reset("payrail") }).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_count_as_a_failure_and_is_still_what_the_caller_gets() {
    let runtime = payrail();
    let odd_is_bad = |answer: &Result<usize, FarError>| match answer {
        Ok(number) if number % 2 == 1 => Outcome::Failure(FailureKind::Server),
        _ => Outcome::Success,
    };
    let mut client = GuardLayer::new(runtime.guard("payrail").unwrap())
        .classify(odd_is_bad)
        .layer(Far::new("S"));
    for number in 1..=4 {
        assert_eq!(client.call("charge").await.unwrap(), number);
    }
    assert_eq!(word(&client.call("charge").await), "open");
}

#[tokio::test(start_paused = true)]
async fn an_http_status_counts_by_the_http_classes() {
    #[derive(Clone)]
    struct Http(u16);
    impl Service<()> for Http {
        type Response = http::Response<()>;
        type Error = FarError;
        type Future = std::future::Ready<Result<http::Response<()>, FarError>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FarError>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, (): ()) -> Self::Future {
            std::future::ready(Ok(http::Response::builder().status(self.0).body(()).unwrap()))
        }
    }
    for (status, opens) in [
        (200, false),
        (404, false),
        (422, false),
        (429, false),
        (500, true),
        (503, true),
    ] {
        let runtime = payrail();
        let mut client = GuardLayer::new(runtime.guard("payrail").unwrap())
            .classify(resilience_runtime::classify::http::result)
            .layer(Http(status));
        for _ in 0..4 {
            assert_eq!(client.call(()).await.unwrap().status().as_u16(), status);
        }
        assert_eq!(client.call(()).await.is_err(), opens, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_guarded_future_can_be_spawned_and_outlives_its_service() {
    let runtime = payrail();
    let call = guarded(&runtime, &Far::new("S/10ms")).call("charge");
    settle().await;
    assert_eq!(tokio::spawn(call).await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_operators_hand_reaches_a_layer() {
    let runtime = payrail();
    let far = Far::new("S");
    let mut client = guarded(&runtime, &far);
    let isolate = resilience_runtime::Override::new(resilience_runtime::Mode::Isolate, "ops", "drill", secs(60));
    runtime.set_mode("payrail", isolate).unwrap();
    assert_eq!(word(&client.call("charge").await), "isolated");
    runtime.clear_mode("payrail").unwrap();
    assert_eq!(client.call("charge").await.unwrap(), 1);
}
