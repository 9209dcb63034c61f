//! Half-open: few at a time, a step at a time, and longer each time it fails.

use std::collections::BTreeSet;

use resilience_runtime::{Failure, Runtime, available, testing};

use crate::kit::{
    Clock, FarError, Gate, Script, call, calls, guard, ms, policy, poll_once, secs, seen, slots, spawn_all, state,
    tally,
};

const TEN_SECONDS: &str = "timeout = \"3s\"\nbreaker.cooldown = \"10s\"\nbreaker.cooldown_jitter = 0.0\n";

async fn trip(runtime: &Runtime) {
    runtime.scope(async { testing::trip("far") }).await;
}

#[tokio::test(start_paused = true)]
async fn gm_r04_a_dropped_trial_counts_neither_way_and_gives_its_place_back() {
    let (runtime, guard) = guard(TEN_SECONDS);
    trip(&runtime).await;
    tokio::time::sleep(secs(10)).await;
    let (hangs, well) = (Script::new("H"), Script::new("S"));
    for _ in 0..5 {
        let mut trial = Box::pin(call(&guard, &hangs));
        assert!(poll_once(trial.as_mut()).is_pending());
        assert_eq!(call(&guard, &well).await, "probes_busy");
        drop(trial);
        assert_eq!((state(&runtime), slots(&runtime).0), ("half_open", 0));
    }
    // So it is with a result that does not count.
    for uncounted in ["I", "Q", "Q5s"] {
        assert_ne!(call(&guard, &Script::new(uncounted)).await, "probes_busy");
        assert_eq!(state(&runtime), "half_open");
    }
    assert_eq!((call(&guard, &well).await, state(&runtime)), ("ok", "closed"));
}

#[tokio::test(start_paused = true)]
async fn gm_r09_five_hundred_at_once_meet_a_trickle() {
    let (runtime, guard) = guard(&format!("{TEN_SECONDS}breaker.probes = 3\nbreaker.probe_successes = 5"));
    trip(&runtime).await;
    tokio::time::sleep(secs(10)).await;
    let gate = Gate::new("S");
    let tasks = spawn_all((0..500).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { seen(&guard.call(|| gate.run()).await) }
    }))
    .await;
    assert_eq!(
        (gate.running(), tasks.iter().filter(|task| task.is_finished()).count()),
        (3, 497)
    );
    gate.open(3);
    let mut words = Vec::new();
    for task in tasks {
        words.push(task.await.unwrap());
    }
    assert_eq!(
        tally(&words).into_iter().collect::<Vec<_>>(),
        [("ok", 3), ("probes_busy", 497)]
    );
    // Two more successes are needed, so two are admitted although three might run.
    let gate = Gate::new("S");
    let tasks = spawn_all((0..500).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { guard.call(|| gate.run()).await }
    }))
    .await;
    assert_eq!((gate.running(), state(&runtime)), (2, "half_open"));
    gate.open(2);
    for task in tasks {
        drop(task.await);
    }
    assert_eq!(state(&runtime), "closed");
}

#[tokio::test(start_paused = true)]
async fn gm_r10_of_three_successes_needed_two_and_a_failure_reopen() {
    let (runtime, guard) = guard(&format!(
        "{TEN_SECONDS}breaker.probes = 1\nbreaker.probe_successes = 3\nbreaker.cooldown_factor = 1.0"
    ));
    trip(&runtime).await;
    let script = Script::new("S S F S B S");
    tokio::time::sleep(secs(10)).await;
    assert_eq!(calls(&guard, &script, 3).await, ["ok", "ok", "server"]);
    assert_eq!(state(&runtime), "open");
    tokio::time::sleep(secs(10)).await;
    assert_eq!(calls(&guard, &script, 2).await, ["ok", "business"]);
    assert_eq!(state(&runtime), "half_open", "the two of before are forgotten");
    assert_eq!((call(&guard, &script).await, state(&runtime)), ("ok", "closed"));
}

/// So many calls at once, whose bodies wait at a gate: how many were admitted, and what the others were told.
async fn arrive(guard: &resilience_runtime::Guard, count: usize, gate: &Gate) -> usize {
    let before = gate.running();
    let tasks = spawn_all((0..count).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { guard.call(|| gate.run()).await }
    }))
    .await;
    for task in tasks.into_iter().filter(tokio::task::JoinHandle::is_finished) {
        let Err(Failure::Rejected(rejection)) = task.await.unwrap() else {
            panic!("not refused")
        };
        assert_eq!(
            (rejection.reason().as_str(), rejection.retry_after()),
            ("probes_busy", Some(secs(1)))
        );
    }
    gate.running() - before
}

#[tokio::test(start_paused = true)]
async fn gm_r11_the_ramp_admits_a_twentieth_then_a_quarter_then_all() {
    let (runtime, guard) = guard(&format!("{TEN_SECONDS}breaker.ramp = [0.05, 0.25]"));
    trip(&runtime).await;
    tokio::time::sleep(secs(10)).await;
    assert_eq!(
        (call(&guard, &Script::new("S")).await, state(&runtime)),
        ("ok", "half_open")
    );
    let mut admitted = Vec::new();
    for _ in 0..2 {
        let gate = Gate::new("S");
        admitted.push(arrive(&guard, 1_000, &gate).await);
        gate.open(1);
        crate::kit::settle().await;
    }
    assert_eq!(admitted, [50, 250]);
    assert_eq!(state(&runtime), "closed");
    let gate = Gate::new("S");
    assert_eq!(arrive(&guard, 1_000, &gate).await, 1_000);
}

#[tokio::test(start_paused = true)]
async fn gm_r11_a_failure_or_a_slow_answer_at_any_step_reopens() {
    let lines = format!(
        "{TEN_SECONDS}breaker.ramp = [0.05, 0.25]\nbreaker.slow_after = \"200ms\"\nbreaker.slow_rate = 1.0\nbreaker.cooldown_factor = 1.0"
    );
    for (script, cause) in [
        ("S F", "probe_failed"),
        ("S S F", "probe_failed"),
        ("S S/201ms", "probe_slow"),
        ("S S H", "probe_timed_out"),
    ] {
        let (runtime, guard) = guard(&lines);
        trip(&runtime).await;
        tokio::time::sleep(secs(10)).await;
        let steps = script.split(' ').count();
        calls(&guard, &Script::new(script), steps).await;
        let far = runtime.snapshot().dependencies["far"].clone();
        assert_eq!((far.state, far.cause), (Some("open"), Some(cause)), "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r12_each_failed_trial_doubles_the_wait_up_to_its_cap_and_closing_forgets_it() {
    let (runtime, guard) = guard(&format!(
        "{TEN_SECONDS}breaker.cooldown_max = \"60s\"\nbreaker.consecutive_failures = 1"
    ));
    let script = Script::new("6*F S F");
    let told = async || match guard.call(|| async { Ok::<(), FarError>(()) }).await {
        Err(Failure::Rejected(rejection)) => rejection.retry_after().unwrap(),
        other => panic!("not open: {other:?}"),
    };
    let mut waits = Vec::new();
    for _ in 0..6 {
        assert_eq!(call(&guard, &script).await, "server");
        waits.push(told().await.as_secs());
        tokio::time::sleep(told().await).await;
    }
    assert_eq!(waits, [10, 20, 40, 60, 60, 60]);
    assert_eq!((call(&guard, &script).await, state(&runtime)), ("ok", "closed"));
    assert_eq!(call(&guard, &script).await, "server");
    assert_eq!(told().await, secs(10));
}

#[tokio::test(start_paused = true)]
async fn gm_r13_the_spread_is_drawn_once_per_opening_so_that_what_is_told_stays_true() {
    let jittered = policy("timeout = \"3s\"\nbreaker.cooldown = \"10s\"\nbreaker.cooldown_jitter = 0.5");
    let clock = Clock::start();
    let mut ends = BTreeSet::new();
    for _ in 0..80 {
        let runtime = Runtime::new(jittered.clone());
        trip(&runtime).await;
        let guard = runtime.guard("far").unwrap();
        let left = || runtime.snapshot().dependencies["far"].retry_after.unwrap();
        let first = left();
        assert!((5.0..=15.0).contains(&first), "{first}");
        let Err(Failure::Rejected(rejection)) = guard.call(|| async { Ok::<(), FarError>(()) }).await else {
            panic!("open")
        };
        assert!(
            (rejection.retry_after().unwrap().as_secs_f64() - first).abs() < 1e-9,
            "drawn again"
        );
        ends.insert(rejection.retry_after().unwrap());
    }
    assert!(ends.len() >= 75, "{} different ends of eighty", ends.len());
    // At most so many trials in any second.
    let most = ends
        .iter()
        .map(|end| ends.range(*end..*end + secs(1)).count())
        .max()
        .unwrap();
    assert!(most <= 35, "{most}");
    assert_eq!(clock.now(), ms(0));
    let runtime = Runtime::new(jittered);
    trip(&runtime).await;
    let left = runtime.snapshot().dependencies["far"].retry_after.unwrap();
    tokio::time::sleep(secs(4)).await;
    let later = runtime.snapshot().dependencies["far"].retry_after.unwrap();
    assert!((left - later - 4.0).abs() < 0.002, "{left} and then {later}");
    assert!(!runtime.scope(async { available("far") }).await);
}

#[tokio::test(start_paused = true)]
async fn gm_r28_what_queued_up_is_drained_at_the_pace_of_the_slots() {
    let lines = "bulkhead.max_concurrent = 5\nbulkhead.max_waiting = 50\nbulkhead.max_wait = \"10s\"";
    let (runtime, guard) = guard(&format!("{TEN_SECONDS}{lines}"));
    trip(&runtime).await;
    tokio::time::sleep(secs(10)).await;
    assert_eq!(
        (call(&guard, &Script::new("S")).await, state(&runtime)),
        ("ok", "closed")
    );
    let script = Script::new("S/100ms");
    let clock = Clock::start();
    let tasks = spawn_all((0..55).map(|_| {
        let (guard, script) = (guard.clone(), script.clone());
        async move { call(&guard, &script).await }
    }))
    .await;
    assert_eq!((script.running(), slots(&runtime)), (5, (5, 50)));
    for rounds in 1..=10_usize {
        clock.at(ms(100 * u64::try_from(rounds).unwrap() - 1)).await;
        assert_eq!(script.starts(), 5 * rounds);
    }
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
    assert_eq!((script.starts(), script.peak(), slots(&runtime)), (55, 5, (0, 0)));
}
