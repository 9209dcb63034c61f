//! Stagedoor: retries inside the slot and outside the breaker, within a budget and a deadline.

use std::time::Duration;

use resilience_runtime::{Failure, deadline, testing};

use crate::kit::{
    Clock, FarError, LAST_TWENTY, Script, call, calls, guard, ms, secs, seen, slots, spawn_all, state, window,
};

/// Three attempts without a pause, and a budget that never ends.
const THREE_ATTEMPTS: &str = "retry.max_attempts = 3\nretry.backoff = \"0s\"\nretry.budget_floor = 10000.0\n";

#[tokio::test(start_paused = true)]
async fn sd_r26_one_slot_is_kept_over_two_attempts_that_the_breaker_counts_apart() {
    let lines =
        "bulkhead.max_concurrent = 1\nretry.max_attempts = 3\nretry.backoff = \"100ms\"\nretry.jitter = \"none\"";
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}{lines}"));
    let script = Script::new("F/10ms S/10ms");
    let clock = Clock::start();
    let tasks = spawn_all([{
        let (guard, script) = (guard.clone(), script.clone());
        async move { (call(&guard, &script).await, clock.now()) }
    }])
    .await;
    let mut seen_at = Vec::new();
    for moment in [5, 60, 115] {
        clock.at(ms(moment)).await;
        seen_at.push((slots(&runtime).0, script.running(), window(&runtime)));
    }
    assert_eq!(seen_at, [(1, 1, 0), (1, 0, 1), (1, 1, 1)], "slots, bodies, results");
    for task in tasks {
        assert_eq!(task.await.unwrap(), ("ok", ms(120)));
    }
    assert_eq!((slots(&runtime).0, script.starts(), window(&runtime)), (0, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn sd_r27_each_attempt_is_counted_so_the_seventh_call_opens() {
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}{THREE_ATTEMPTS}"));
    let script = Script::new("H");
    let clock = Clock::start();
    for number in 0..6 {
        clock.at(secs(10 * number)).await;
        assert_eq!(call(&guard, &script).await, "timed_out");
        assert_eq!(
            (window(&runtime), state(&runtime)),
            (3 * u32::try_from(number + 1).unwrap(), "closed")
        );
    }
    clock.at(secs(60)).await;
    assert_eq!(call(&guard, &script).await, "open");
    assert_eq!((clock.now(), state(&runtime), script.starts()), (secs(66), "open", 20));
}

#[tokio::test(start_paused = true)]
async fn sd_r28_an_open_breaker_ends_the_retries_at_once() {
    let lines = "timeout = \"3s\"\nbreaker.failure_rate = false\nbreaker.consecutive_failures = 1\nbreaker.cooldown = \"30s\"\n";
    let (_, guard) = guard(&format!("{lines}{THREE_ATTEMPTS}"));
    let script = Script::new("F");
    let clock = Clock::start();
    assert_eq!(call(&guard, &script).await, "open");
    assert_eq!((script.starts(), clock.now()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn sd_r33_retries_stay_within_a_tenth_of_the_calls() {
    let lines = "timeout = \"3s\"\nretry.max_attempts = 3\nretry.backoff = \"0s\"\nretry.budget = 0.1\nretry.budget_floor = 0.0";
    let (_, guard) = guard(lines);
    // Three calls in ten fail, and would fail again.
    let mut failed = 0;
    let script = Script::new("F");
    let well = Script::new("S");
    for number in 0..1_000 {
        let word = call(&guard, if number % 10 < 3 { &script } else { &well }).await;
        failed += usize::from(word == "server");
    }
    assert_eq!((failed, well.starts()), (300, 700));
    assert_eq!(script.starts() - failed, 100, "retries");
}

#[tokio::test(start_paused = true)]
async fn sd_r42_an_attempt_is_bounded_by_what_is_left_of_the_callers_deadline() {
    let (_, guard) = guard("timeout = \"3s\"");
    let script = Script::new("H");
    let clock = Clock::start();
    let ended = deadline::within(ms(800), call(&guard, &script)).await;
    assert_eq!((ended, clock.now()), ("deadline_exceeded", ms(800)));
    let clock = Clock::start();
    let ended = deadline::within(secs(4), call(&guard, &script)).await;
    assert_eq!((ended, clock.now()), ("timed_out", secs(3)));
}

#[tokio::test(start_paused = true)]
async fn to_r01_a_page_of_800_ms_gives_its_fourth_call_what_is_left() {
    let (_, guard) = guard("timeout = \"250ms\"");
    let script = Script::new("H");
    let clock = Clock::start();
    let page = deadline::within(ms(800), async {
        let mut parts = Vec::new();
        for _ in 0..5 {
            parts.push((call(&guard, &script).await, clock.now()));
        }
        parts
    })
    .await;
    assert_eq!(
        page,
        [
            ("timed_out", ms(250)),
            ("timed_out", ms(500)),
            ("timed_out", ms(750)),
            ("deadline_exceeded", ms(800)),
            ("deadline_exceeded", ms(800)),
        ]
    );
    assert_eq!(script.starts(), 4, "the last was refused before its body");
}

#[tokio::test(start_paused = true)]
async fn to_r01_of_two_deadlines_the_earlier_counts_whichever_stands_inside() {
    let (_, guard) = guard("timeout = \"3s\"\ndeadline = \"2s\"");
    let script = Script::new("H");
    for (outer, inner, cut) in [(500, 900, 500), (900, 500, 500), (5_000, 6_000, 2_000)] {
        let clock = Clock::start();
        let ended = deadline::within(ms(outer), deadline::within(ms(inner), call(&guard, &script))).await;
        assert_eq!((ended, clock.now()), ("deadline_exceeded", ms(cut)));
    }
    assert_eq!(deadline::remaining(), None);
}

#[tokio::test(start_paused = true)]
async fn to_r03_no_refusal_is_retried_whatever_its_reason() {
    let lines = "timeout = \"3s\"\nthrottle = \"dependency\"\nbreaker.window = \"20 calls\"\n";
    let (runtime, guard) = guard(&format!("{lines}{THREE_ATTEMPTS}"));
    let script = Script::new("S");
    runtime.scope(async { testing::trip("far") }).await;
    let (word, events) = testing::record(call(&guard, &script)).await;
    assert_eq!(
        (word, script.starts(), events.len()),
        ("open", 0, 1),
        "one refusal, said once"
    );
    // Nor one that a nested guard made: it says nothing about this dependency.
    let runs = std::cell::Cell::new(0);
    let (_, outer) = crate::kit::guard(THREE_ATTEMPTS);
    let result = outer
        .call(|| {
            runs.set(runs.get() + 1);
            guard.call(|| async { Ok::<(), FarError>(()) })
        })
        .await;
    assert!(matches!(result, Err(Failure::Error(Failure::Rejected(_)))));
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn to_r03_a_call_out_of_attempts_or_budget_gets_its_last_real_result() {
    let (_, guard) = guard(
        "timeout = \"3s\"\nretry.max_attempts = 3\nretry.backoff = \"0s\"\nretry.budget_floor = 0.1\nretry.budget = 0.0",
    );
    let script = Script::new("F C X O");
    assert_eq!(
        call(&guard, &script).await,
        "connect",
        "one retry in the budget, and it was refused a connection"
    );
    assert_eq!(call(&guard, &script).await, "protocol", "no budget left");
    assert_eq!(script.starts(), 3);
}

#[tokio::test(start_paused = true)]
async fn to_r03_a_pause_that_would_reach_the_deadline_is_not_begun() {
    let lines = "timeout = \"3s\"\ndeadline = \"500ms\"\nretry.max_attempts = 3\nretry.backoff = \"400ms\"\nretry.jitter = \"none\"";
    let (_, guard) = guard(lines);
    let script = Script::new("F/100ms");
    let clock = Clock::start();
    assert_eq!(
        (call(&guard, &script).await, clock.now(), script.starts()),
        ("server", ms(100), 1)
    );
    let script = Script::new("F/99ms S");
    let clock = Clock::start();
    assert_eq!(
        (call(&guard, &script).await, clock.now(), script.starts()),
        ("ok", ms(499), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn gm_r20_a_throttled_call_waits_as_it_was_told_and_moves_no_breaker() {
    let lines = "timeout = \"3s\"\nbreaker.window = \"20 calls\"\nretry.max_attempts = 2\nretry.backoff = \"1ms\"";
    let (runtime, guard) = guard(lines);
    let script = Script::new("Q30s S");
    let clock = Clock::start();
    assert_eq!((call(&guard, &script).await, clock.now()), ("ok", secs(30)));
    assert_eq!((script.starts(), window(&runtime)), (2, 1));
    // Others are not bound by it.
    let (asked, told) = (Script::new("Q30s"), Script::new("S"));
    let waits = spawn_all([{
        let (guard, asked) = (guard.clone(), asked.clone());
        async move { seen(&guard.call(|| asked.run()).await) }
    }])
    .await;
    let clock = Clock::start();
    assert_eq!(calls(&guard, &told, 5).await, ["ok"; 5]);
    assert_eq!(clock.now(), Duration::ZERO);
    for wait in waits {
        assert_eq!(wait.await.unwrap(), "throttled");
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r20_a_third_of_429_opens_nothing() {
    let (runtime, guard) =
        guard("timeout = \"3s\"\nbreaker.window = \"10s\"\nbreaker.minimum_calls = 20\nbreaker.failure_rate = 0.3");
    let script = Script::new(&"Q30s S S ".repeat(200));
    let ((), events) = testing::record(async {
        for _ in 0..600 {
            call(&guard, &script).await;
            tokio::time::sleep(ms(100)).await;
        }
    })
    .await;
    assert_eq!((events.len(), state(&runtime), script.starts()), (0, "closed", 600));
}

#[tokio::test(start_paused = true)]
async fn gm_r20_by_choice_a_throttling_answer_binds_everybody_without_opening() {
    let lines = "timeout = \"3s\"\nthrottle = \"dependency\"\nmax_hold = \"20s\"\nbreaker.window = \"20 calls\"";
    let (runtime, guard) = guard(lines);
    let script = Script::new("Q30s S");
    let clock = Clock::start();
    let (said, events) = resilience_runtime::testing::record(call(&guard, &script)).await;
    assert_eq!(said, "throttled");
    let cut: Vec<_> = events
        .iter()
        .map(|event| (event.name(), event.field("asked_ms"), event.field("obeyed_ms")))
        .collect();
    assert_eq!(
        cut,
        [("hold.cut", Some("30000"), Some("20000"))],
        "what is cut is reported"
    );
    clock.at(secs(5)).await;
    let Err(Failure::Rejected(rejection)) = guard.call(|| script.run()).await else {
        panic!("everybody is held")
    };
    assert_eq!(
        (rejection.reason().as_str(), rejection.retry_after()),
        ("held", Some(secs(15))),
        "cut to max_hold"
    );
    assert_eq!(state(&runtime), "closed");
    clock.at(secs(20)).await;
    assert_eq!((call(&guard, &script).await, script.starts()), ("ok", 2));
}
