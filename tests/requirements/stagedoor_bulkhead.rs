//! Stagedoor: twenty slots for Payrail, and nobody else behind them.

use std::time::Duration;

use resilience_runtime::{Failure, Runtime, deadline};

use crate::kit::{
    Clock, Gate, LAST_TWENTY, Script, call, calls, guard, ms, parse, secs, seen, settle, slots, spawn_all, state, tally,
};

/// Twenty slots with a second to wait for one, and five told to those who get none.
const TWENTY_SLOTS: &str = r#"
bulkhead.max_concurrent = 20
bulkhead.max_waiting = 10000
bulkhead.max_wait = "1s"
bulkhead.retry_after = "5s"
"#;

#[tokio::test(start_paused = true)]
async fn sd_r22_never_more_than_twenty_run_at_once_also_before_the_breaker_knows() {
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}{TWENTY_SLOTS}"));
    let script = Script::new("H");
    let clock = Clock::start();
    let mut buyers = Vec::new();
    // 1,500 a second for four seconds, in steps of 2 ms.
    for step in 0..2_000 {
        clock.at(ms(2 * step)).await;
        for _ in 0..3 {
            let (guard, script) = (guard.clone(), script.clone());
            buyers.push(tokio::spawn(async move { (call(&guard, &script).await, clock.now()) }));
        }
    }
    let mut words = Vec::new();
    for buyer in buyers {
        words.push(buyer.await.unwrap());
    }
    assert_eq!(script.peak(), 20);
    let first_refused = words
        .iter()
        .filter(|(word, _)| *word != "timed_out")
        .map(|(_, at)| *at)
        .min()
        .unwrap();
    assert_eq!(
        words.iter().find(|(_, at)| *at == first_refused).unwrap().0,
        "wait_timed_out"
    );
    assert!((secs(1)..=ms(1_014)).contains(&first_refused), "{first_refused:?}");
    // The twenty that ran to their timeout are what opened it; those still waiting then ran into it.
    let longest = words
        .iter()
        .filter(|(word, _)| *word == "open")
        .map(|(_, at)| *at)
        .min()
        .unwrap();
    assert!((secs(3)..=ms(3_016)).contains(&longest), "{longest:?}");
    assert_eq!((state(&runtime), slots(&runtime)), ("open", (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn sd_r23_other_paths_never_wait_behind_a_slow_payrail() {
    let text = "version = 1\n[dependency.payrail]\nfail = \"closed\"\nbulkhead.max_concurrent = 20\n\
                [dependency.redis]\nfail = \"open\"\nbulkhead.max_concurrent = 10\n";
    let runtime = Runtime::new(parse(text));
    let (payrail, redis) = (runtime.guard("payrail").unwrap(), runtime.guard("redis").unwrap());
    let (stuck, quick) = (Gate::new("S"), Script::new("S/2ms"));
    let held = spawn_all((0..20).map(|_| {
        let (payrail, stuck) = (payrail.clone(), stuck.clone());
        async move { seen(&payrail.call(|| stuck.run()).await) }
    }))
    .await;
    assert_eq!(stuck.running(), 20);
    for _ in 0..2_600 {
        let began = Clock::start();
        assert_eq!((call(&redis, &quick).await, began.now()), ("ok", ms(2)));
    }
    stuck.open(20);
    for held in held {
        assert_eq!(held.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn sd_r24_waiting_for_a_slot_ends_with_max_wait_or_with_the_deadline_if_that_is_shorter() {
    let (runtime, guard) = guard(TWENTY_SLOTS);
    let stuck = Gate::new("S");
    let held = spawn_all((0..20).map(|_| {
        let (guard, stuck) = (guard.clone(), stuck.clone());
        async move { guard.call(|| stuck.run()).await }
    }))
    .await;
    let script = Script::new("S");
    let clock = Clock::start();
    assert_eq!((call(&guard, &script).await, clock.now()), ("wait_timed_out", secs(1)));
    let clock = Clock::start();
    let ended = deadline::within(ms(300), call(&guard, &script)).await;
    assert_eq!((ended, clock.now()), ("deadline_exceeded", ms(300)));
    // As long as each other: it is the line's own bound that is named.
    let clock = Clock::start();
    let ended = deadline::within(secs(1), call(&guard, &script)).await;
    assert_eq!((ended, clock.now()), ("wait_timed_out", secs(1)));
    assert_eq!((script.starts(), slots(&runtime)), (0, (20, 0)));
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn sd_r25_without_a_slot_the_caller_is_told_the_policys_seconds() {
    for (lines, reason) in [
        (
            "bulkhead.max_concurrent = 1\nbulkhead.retry_after = \"5s\"",
            "bulkhead_full",
        ),
        (
            "bulkhead.max_concurrent = 1\nbulkhead.retry_after = \"5s\"\nbulkhead.max_waiting = 1\nbulkhead.max_wait = \"1s\"",
            "wait_timed_out",
        ),
    ] {
        let (_, guard) = guard(lines);
        let stuck = Gate::new("S");
        let holder = guard.clone();
        let body = stuck.clone();
        let held = tokio::spawn(async move { holder.call(|| body.run()).await });
        settle().await;
        let Err(Failure::Rejected(rejection)) = guard.call(|| stuck.run()).await else {
            panic!("one slot is one slot")
        };
        assert_eq!(
            (rejection.reason().as_str(), rejection.retry_after()),
            (reason, Some(secs(5)))
        );
        held.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn sd_r29_the_slot_comes_back_on_every_way_out() {
    let (runtime, guard) = guard("timeout = \"1s\"\nbulkhead.max_concurrent = 1");
    for (body, ended) in [
        ("S", "ok"),
        ("F", "server"),
        ("B", "business"),
        ("I", "ignored"),
        ("H", "timed_out"),
    ] {
        assert_eq!(call(&guard, &Script::new(body)).await, ended);
        assert_eq!(slots(&runtime), (0, 0), "{body}");
    }
    let (panics, held) = (guard.clone(), Script::new("P"));
    let panicked = tokio::spawn(async move { call(&panics, &held).await }).await;
    assert!(panicked.unwrap_err().is_panic());
    assert_eq!(slots(&runtime), (0, 0));
    let script = Script::new("H");
    {
        let mut dropped = Box::pin(call(&guard, &script));
        assert!(crate::kit::poll_once(dropped.as_mut()).is_pending());
        assert_eq!((slots(&runtime), script.running()), ((1, 0), 1));
    }
    assert_eq!((slots(&runtime), script.running()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn sd_r31_limits_of_two_dependencies_do_not_meet() {
    let text = "version = 1\n[dependency.payrail]\nfail = \"closed\"\nbulkhead.max_concurrent = 20\n\
                [dependency.redis]\nfail = \"open\"\nbulkhead.max_concurrent = 10\n";
    let runtime = Runtime::new(parse(text));
    let gate = Gate::new("S");
    let mut all = Vec::new();
    for name in ["payrail", "redis"] {
        let guard = runtime.guard(name).unwrap();
        all.push(
            spawn_all((0..50).map(|_| {
                let (guard, gate) = (guard.clone(), gate.clone());
                async move { seen(&guard.call(|| gate.run()).await) }
            }))
            .await,
        );
    }
    assert_eq!(gate.running(), 30);
    gate.open(30);
    let mut ended = Vec::new();
    for tasks in all {
        let mut words = Vec::new();
        for task in tasks {
            words.push(task.await.unwrap());
        }
        ended.push(tally(&words).into_iter().collect::<Vec<_>>());
    }
    assert_eq!(
        ended,
        [[("bulkhead_full", 30), ("ok", 20)], [("bulkhead_full", 40), ("ok", 10)]]
    );
}

#[tokio::test(start_paused = true)]
async fn sd_r32_a_resource_is_declared_once_and_what_draws_on_it_must_name_one_that_is() {
    let text = |uses: &str| {
        format!(
            "version = 1\n[resource.pool]\ncapacity = 20\n[dependency.far]\nfail = \"closed\"\nuses = [\"{uses}\"]\n"
        )
    };
    parse(&text("pool"));
    let error = resilience_runtime::Policy::from_toml(&text("pol")).unwrap_err();
    let fault = &error.faults()[0];
    let bare = |text: Option<&str>| text.map(|text| text.trim_matches('"').to_owned());
    assert_eq!(fault.key(), "dependency.far.uses");
    assert_eq!(
        (bare(fault.value()).as_deref(), bare(fault.suggestion()).as_deref()),
        (Some("pol"), Some("pool"))
    );
}

#[tokio::test(start_paused = true)]
async fn sf_r11_refused_calls_leave_no_slot_no_place_and_no_body() {
    let (runtime, guard) = guard("bulkhead.max_concurrent = 1");
    let stuck = Gate::new("S");
    let (holder, body) = (guard.clone(), stuck.clone());
    let held = tokio::spawn(async move { seen(&holder.call(|| body.run()).await) });
    settle().await;
    let script = Script::new("S");
    let clock = Clock::start();
    let words = calls(&guard, &script, 10_000).await;
    assert!(words.iter().all(|word| *word == "bulkhead_full"));
    assert_eq!(
        (script.starts(), slots(&runtime), clock.now()),
        (0, (1, 0), Duration::ZERO)
    );
    stuck.open(1);
    assert_eq!(held.await.unwrap(), "ok");
    assert_eq!(slots(&runtime), (0, 0));
}
