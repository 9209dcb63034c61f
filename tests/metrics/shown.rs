//! What calls do is seen by the next scrape.

use metrics::set_default_local_recorder;
use resilience_runtime::{Classify, Override, Rejection, Runtime, breaker, fallback, testing};
use tokio::time::advance;

use crate::exposition::{Page, recorder};
use crate::kit::{self, Gate, Script, secs, settle};
use crate::names::EVERY_LAYER;

const FAR: (&str, &str) = ("dependency", "far");

#[tokio::test(start_paused = true)]
async fn each_call_shows_at_once_by_outcome_and_attempt_by_kind() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (_runtime, guard) = kit::guard("timeout = \"1s\"\nretry = { max_attempts = 2, backoff = \"1ms\" }");
    let script = Script::new("S B F C X O Q I H F S");
    let page = || Page::of(&recorder.handle());
    let mut calls = 0.0;
    for _ in 0..6 {
        kit::call(&guard, &script).await;
        calls += 1.0;
        assert!((page().sum("resilience_calls_total", &[FAR]) - calls).abs() < 1e-9);
    }
    let page = page();
    let attempts = |outcome, kind| page.get("resilience_attempts_total", &[("outcome", outcome), ("kind", kind)]);
    assert_eq!(
        (attempts("success", ""), attempts("business", "")),
        (Some(1.0), Some(1.0))
    );
    for kind in ["connect", "protocol", "other"] {
        assert_eq!(attempts("failure", kind), Some(1.0), "{kind}");
    }
    let ended = page.sum("resilience_attempts_total", &[]);
    assert!(
        (ended - f64::from(u32::try_from(script.starts()).unwrap())).abs() < 1e-9,
        "every start is an attempt"
    );
    assert!((page.measured("far") - ended).abs() < 1e-9, "and is measured");
}

#[tokio::test(start_paused = true)]
async fn met_07_and_08_slots_and_waiters_are_seen_while_they_last() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (_runtime, guard) = kit::guard("bulkhead = { max_concurrent = 2, max_waiting = 2, max_wait = \"9s\" }");
    let gate = Gate::new("S");
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let (guard, gate) = (guard.clone(), gate.clone());
            tokio::spawn(async move { kit::seen(&guard.call(|| gate.run()).await) })
        })
        .collect();
    settle().await;
    let gauges = || {
        let page = Page::of(&recorder.handle());
        ["in_flight", "waiting"].map(|gauge| page.get(&format!("resilience_bulkhead_{gauge}"), &[FAR]))
    };
    assert_eq!(gauges(), [Some(2.0), Some(2.0)]);
    let page = Page::of(&recorder.handle());
    assert_eq!(
        page.get("resilience_rejections_total", &[("reason", "bulkhead_full")]),
        Some(1.0)
    );
    assert!(page.measured("far").abs() < 1e-9, "nothing ended");
    tasks[2].abort();
    settle().await;
    gate.open(5);
    settle().await;
    assert_eq!(gauges(), [Some(0.0), Some(0.0)]);
    let page = Page::of(&recorder.handle());
    assert_eq!(
        page.get("resilience_calls_total", &[("outcome", "cancelled")]),
        Some(1.0)
    );
    assert!(
        (page.measured("far") - 3.0).abs() < 1e-9,
        "neither the rejected nor the one that left"
    );
}

#[tokio::test(start_paused = true)]
async fn an_opening_shows_and_its_time_outlives_half_open() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (runtime, guard) = kit::guard(&EVERY_LAYER.replace("max_attempts = 2", "max_attempts = 1"));
    kit::calls(&guard, &Script::new("F"), 4).await;
    let page = || Page::of(&recorder.handle());
    let state = |page: &Page| {
        ["closed", "open", "half_open"].map(|state| page.get("resilience_breaker_state", &[("state", state)]))
    };
    assert_eq!(state(&page()), [0.0, 1.0, 0.0].map(Some));
    for round in 1..=3_u32 {
        advance(secs(10)).await;
        kit::calls(&guard, &Script::new("F"), 1).await;
        runtime.refresh_metrics();
        let open = page().get("resilience_breaker_open_seconds", &[]).unwrap();
        assert!((open - f64::from(round) * 10.0).abs() < 1e-6, "{open}");
    }
    let moves = |from, to, cause| {
        page().get(
            "resilience_breaker_transitions_total",
            &[("from", from), ("to", to), ("cause", cause)],
        )
    };
    assert_eq!(moves("closed", "open", "failure_rate"), Some(1.0));
    assert_eq!(moves("open", "half_open", "cooldown_over"), Some(3.0));
    assert_eq!(moves("half_open", "open", "probe_failed"), Some(3.0));
    assert_eq!(
        page().get("resilience_probes_total", &[("outcome", "failure")]),
        Some(3.0)
    );
    // The clock alone moves it to half-open; a refresh sees that.
    advance(secs(10)).await;
    runtime.refresh_metrics();
    assert_eq!(state(&page()), [0.0, 0.0, 1.0].map(Some));
    kit::calls(&guard, &Script::new("S"), 1).await;
    assert_eq!(state(&page()), [1.0, 0.0, 0.0].map(Some));
    assert_eq!(page().get("resilience_breaker_open_seconds", &[]), Some(0.0));
    runtime.scope(async { testing::trip("far") }).await;
    assert_eq!(state(&page()), [0.0, 1.0, 0.0].map(Some));
}

#[derive(Debug, Clone, Classify)]
enum Down {
    #[classify(server)]
    Server,
    #[classify(ignored)]
    Refused,
}

impl From<Rejection> for Down {
    fn from(_: Rejection) -> Self {
        Self::Refused
    }
}

#[breaker("seatmap")]
#[fallback(with = instead)]
#[fallback(value = 0)]
async fn seats(answer: Result<u32, Down>, second: bool) -> Result<u32, Down> {
    let _ = second;
    answer
}

async fn instead(_: Result<u32, Down>, second: bool, _: resilience_runtime::Failure<Down>) -> Result<u32, Down> {
    std::future::ready(()).await;
    if second { Err(Down::Server) } else { Ok(1) }
}

#[tokio::test(start_paused = true)]
async fn met_06_and_tw_r03_fallbacks_show_by_kind_and_reason_and_one_that_never_ran_stands_at_zero() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let text = "version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n";
    let runtime = Runtime::new(kit::parse(text));
    let page = || Page::of(&recorder.handle());
    let used = |kind, reason| page().get("resilience_fallbacks_total", &[("kind", kind), ("reason", reason)]);
    assert_eq!((used("with", "server"), used("value", "open")), (Some(0.0), Some(0.0)));
    assert_eq!(used("path", "open"), None, "no function of it has one");
    runtime
        .scope(async {
            seats(Ok(7), false).await.unwrap();
            seats(Err(Down::Server), false).await.unwrap();
            assert_eq!(
                (used("with", "server"), used("value", "server")),
                (Some(1.0), Some(0.0))
            );
            seats(Err(Down::Server), true).await.unwrap();
            testing::trip("seatmap");
            seats(Ok(7), false).await.unwrap();
        })
        .await;
    assert_eq!(
        (used("with", "server"), used("value", "server"), used("with", "open")),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    let served = |served| page().sum("resilience_calls_total", &[("served", served)]);
    assert_eq!(
        [served("primary"), served("fallback")].map(f64::to_bits),
        [1.0_f64, 3.0].map(f64::to_bits)
    );
    let ratio = page().get("resilience_degraded_ratio", &[]).unwrap();
    assert!((ratio - 0.75).abs() < 1e-9, "{ratio}");
}

#[tokio::test(start_paused = true)]
async fn a_hand_shows_with_what_is_left_of_it() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (runtime, _guard) = kit::guard("timeout = \"1s\"");
    let hand = Override::new(resilience_runtime::Mode::Isolate, "ops", "drill", secs(100));
    runtime.set_mode("far", hand).unwrap();
    advance(secs(40)).await;
    runtime.refresh_metrics();
    let page = || Page::of(&recorder.handle());
    assert_eq!(page().get("resilience_mode", &[("mode", "isolate")]), Some(1.0));
    let left = page().get("resilience_override_left_seconds", &[]).unwrap();
    assert!((left - 60.0).abs() < 1e-3, "{left}");
    runtime.clear_mode("far").unwrap();
    assert_eq!(page().get("resilience_mode", &[("mode", "enforce")]), Some(1.0));
    assert_eq!(page().get("resilience_override_left_seconds", &[]), Some(0.0));
}
