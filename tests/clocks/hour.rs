//! An hour passes in one step, as when a machine slept: each layer ends where its clock says, once, and works on.

use std::future::pending;
use std::time::Duration;

use resilience_runtime::testing;

use crate::kit::{
    Clock, FarError, Gate, Script, call, calls, guard, poll_once, secs, seen, settle, slots, state, window,
};

const HOUR: Duration = Duration::from_secs(3_600);

const BREAKER: &str = "timeout = \"3s\"\nbreaker = { window = \"2 calls\", minimum_calls = 2, cooldown = \"30s\", cooldown_jitter = 0.0, probes = 1 }\n";

async fn sleep_an_hour() {
    tokio::time::advance(HOUR).await;
    settle().await;
}

/// The transitions that `act` made, as `from>to`.
async fn transitions(act: impl Future<Output = ()>) -> Vec<String> {
    let ((), events) = testing::record(act).await;
    let made = events.iter().filter(|event| event.name() == "breaker.transition");
    made.map(|event| format!("{}>{}", event.field("from").unwrap(), event.field("to").unwrap()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_is_half_open_and_its_first_call_is_the_probe() {
    let (runtime, guard) = guard(BREAKER);
    let made = transitions(async {
        assert_eq!(calls(&guard, &Script::new("F F"), 2).await, ["server", "server"]);
        sleep_an_hour().await;
        assert_eq!(call(&guard, &Script::new("S")).await, "ok");
    });
    assert_eq!(made.await, ["closed>open", "open>half_open", "half_open>closed"]);
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 0));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_slept_is_cut_reopens_once_and_the_cooldown_runs_from_the_end_of_its_time() {
    let (runtime, guard) = guard(BREAKER);
    let made = transitions(async {
        calls(&guard, &Script::new("F F"), 2).await;
        tokio::time::advance(secs(30)).await;
        let mut probe = Box::pin(guard.call_once(pending::<Result<(), FarError>>()));
        assert!(poll_once(probe.as_mut()).is_pending());
        sleep_an_hour().await;
        // A reader came before the probe was polled again: the clock alone has reopened it, and ended that cooldown too.
        assert_eq!(state(&runtime), "half_open");
        assert_eq!(seen(&probe.await), "timed_out");
        assert_eq!(state(&runtime), "half_open", "its result is late");
        assert_eq!(call(&guard, &Script::new("S")).await, "ok");
    });
    assert_eq!(
        made.await,
        [
            "closed>open",
            "open>half_open",
            "half_open>open",
            "open>half_open",
            "half_open>closed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_window_of_time_is_empty() {
    let (runtime, guard) =
        guard("timeout = \"3s\"\nbreaker = { window = \"30s\", minimum_calls = 2, failure_rate = 1.0 }");
    assert_eq!(call(&guard, &Script::new("F")).await, "server");
    sleep_an_hour().await;
    assert_eq!(window(&runtime), 0);
    assert_eq!(call(&guard, &Script::new("F")).await, "server");
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 1));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_and_its_deadline_are_cut_and_a_body_that_is_done_has_succeeded() {
    let (_runtime, guard) = guard("timeout = \"3s\"\ndeadline = \"5s\"");
    let mut cut = Box::pin(guard.call_once(pending::<Result<(), FarError>>()));
    let gate = Gate::new("S");
    let mut done = Box::pin(guard.call_once(gate.run()));
    assert!(poll_once(cut.as_mut()).is_pending() && poll_once(done.as_mut()).is_pending());
    gate.open(1);
    sleep_an_hour().await;
    assert_eq!(seen(&cut.await), "timed_out");
    assert_eq!(seen(&done.await), "ok", "the body is asked before the clock");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_slept_is_told_so_and_its_slot_is_not_lost() {
    let (runtime, guard) =
        guard("timeout = \"24h\"\nbulkhead = { max_concurrent = 1, max_waiting = 2, max_wait = \"1s\" }");
    let mut running = Box::pin(guard.call_once(pending::<Result<(), FarError>>()));
    let mut late = Box::pin(guard.call_once(async { Ok::<_, FarError>(()) }));
    let mut granted = Box::pin(guard.call_once(async { Ok::<_, FarError>(()) }));
    assert!(poll_once(running.as_mut()).is_pending() && poll_once(late.as_mut()).is_pending());
    assert!(poll_once(granted.as_mut()).is_pending());
    sleep_an_hour().await;
    assert_eq!(seen(&late.await), "wait_timed_out");
    drop(running);
    assert_eq!(seen(&granted.await), "ok", "a slot that is there is taken");
    assert_eq!(slots(&runtime), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_over_and_the_next_attempt_runs_within_its_deadline_only() {
    let retry = "timeout = \"3s\"\nretry = { max_attempts = 2, backoff = \"1s\", jitter = \"none\" }\n";
    for (deadline, ended, starts) in [("", "ok", 2), ("deadline = \"10s\"", "deadline_exceeded", 1)] {
        let (_runtime, guard) = guard(&format!("{retry}{deadline}"));
        let script = Script::new("F S");
        let mut running = Box::pin(call(&guard, &script));
        assert!(poll_once(running.as_mut()).is_pending());
        sleep_an_hour().await;
        assert_eq!((running.await, script.starts()), (ended, starts), "{deadline:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_over_and_so_is_an_override() {
    let (runtime, guard) = guard("timeout = \"3s\"\nthrottle = \"dependency\"\nmax_hold = \"60s\"");
    assert_eq!(call(&guard, &Script::new("Q30s")).await, "throttled");
    assert_eq!(call(&guard, &Script::new("S")).await, "held");
    let hand = resilience_runtime::Override::new(resilience_runtime::Mode::Isolate, "ada", "drill", secs(600));
    runtime.set_mode("far", hand).unwrap();
    assert_eq!(call(&guard, &Script::new("S")).await, "isolated");
    sleep_an_hour().await;
    assert_eq!(call(&guard, &Script::new("S")).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn the_retry_budget_has_forgotten_and_fills_from_the_new_calls() {
    let (_runtime, guard) =
        guard("timeout = \"3s\"\nretry = { max_attempts = 2, backoff = \"0s\", budget = 0.0, budget_floor = 0.1 }");
    for _ in 0..2 {
        let clock = Clock::start();
        let script = Script::new("F");
        assert_eq!(calls(&guard, &script, 3).await, ["server"; 3]);
        assert_eq!(script.starts(), 4, "one retry in ten seconds");
        sleep_an_hour().await;
        assert!(clock.now() >= HOUR);
    }
}
