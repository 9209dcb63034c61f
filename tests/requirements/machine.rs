//! The state machine: its moves, its window, what is late and what is slow.

use resilience_runtime::{Policy, testing};

use crate::kit::{
    Clock, Gate, LAST_TWENTY, Script, call, calls, guard, ms, parse, poll_once, secs, seen, settle, spawn_all, state,
    window,
};

#[tokio::test(start_paused = true)]
async fn gm_r01_whatever_happens_only_the_four_moves_are_made() {
    let lines = "timeout = \"500ms\"\nbreaker.window = \"5 calls\"\nbreaker.minimum_calls = 3\nbreaker.consecutive_failures = 4\n\
                 breaker.cooldown = \"1s\"\nbreaker.probes = 2\nbreaker.probe_successes = 3\nbulkhead.max_concurrent = 4";
    for seed in 0..40 {
        let (runtime, guard) = guard(lines);
        let mut random = fastrand::Rng::with_seed(seed);
        let (good, bad, odd) = (Script::new("S"), Script::new("F"), Script::new("I Q B"));
        let hangs = Script::new("H");
        let ((), events) = testing::record(async {
            let mut held = Vec::new();
            for _ in 0..400 {
                match random.u8(0..10) {
                    0..=2 => drop(call(&guard, &good).await),
                    3..=5 => drop(call(&guard, &bad).await),
                    6 => drop(call(&guard, &odd).await),
                    7 => {
                        let mut running = Box::pin(call(&guard, &hangs));
                        if poll_once(running.as_mut()).is_pending() {
                            held.push(running);
                        }
                    }
                    8 => held.truncate(random.usize(0..=held.len())),
                    _ => tokio::time::sleep(ms(random.u64(0..900))).await,
                }
            }
            // The last of the calls are left in the middle.
            held.clear();
        })
        .await;
        let moves: Vec<_> = events
            .iter()
            .filter(|event| event.name() == "breaker.transition")
            .map(|event| (event.field("from").unwrap(), event.field("to").unwrap()))
            .collect();
        let mut at = "closed";
        for (from, to) in &moves {
            assert_eq!(*from, at, "seed {seed}");
            assert!(
                [
                    ("closed", "open"),
                    ("open", "half_open"),
                    ("half_open", "open"),
                    ("half_open", "closed")
                ]
                .contains(&(from, to)),
                "seed {seed}: {from} to {to}",
            );
            at = to;
        }
        assert!(moves.len() > 4, "seed {seed} is too quiet: {moves:?}");
        assert_eq!(runtime.snapshot().dependencies["far"].in_flight, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r03_a_business_answer_is_in_the_denominator() {
    for (script, expected) in [
        ("10*F 10*B", "open"),
        ("10*B 10*F", "open"),
        ("9*F 11*B", "closed"),
        ("11*B 9*F", "closed"),
    ] {
        let (runtime, guard) = guard(LAST_TWENTY);
        let body = Script::new(script);
        calls(&guard, &body, 20).await;
        assert_eq!((state(&runtime), body.starts()), (expected, 20), "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r03_throttled_and_ignored_are_in_no_denominator() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let body = Script::new("19*F 50*I 50*Q F");
    calls(&guard, &body, 119).await;
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 19));
    calls(&guard, &body, 1).await;
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn gm_r05_results_of_calls_admitted_before_the_opening_decide_nothing() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let (early, late) = (Gate::new("S"), Gate::new("F"));
    let mut running = Vec::new();
    for gate in [&early, &late] {
        running.push(
            spawn_all((0..20).map(|_| {
                let (guard, gate) = (guard.clone(), gate.clone());
                async move { seen(&guard.call(|| gate.run()).await) }
            }))
            .await,
        );
    }
    let (dead, well) = (Script::new("F"), Script::new("S"));
    let clock = Clock::start();
    calls(&guard, &dead, 20).await;
    assert_eq!(state(&runtime), "open");
    early.open(20);
    settle().await;
    assert_eq!(
        (early.running(), state(&runtime)),
        (0, "open"),
        "twenty good answers too late"
    );
    // The timeout of 3 s lies before the end of the cooldown: the others fail into the open state.
    clock.at(secs(30)).await;
    assert_eq!((late.running(), state(&runtime)), (0, "half_open"));
    assert_eq!(call(&guard, &well).await, "ok");
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 0));
}

#[tokio::test(start_paused = true)]
async fn gm_r05_failures_admitted_before_the_closing_do_not_count_after_it() {
    let (runtime, guard) = guard(&LAST_TWENTY.replace("\"3s\"", "\"60s\""));
    let late = Gate::new("F");
    let running = spawn_all((0..30).map(|_| {
        let (guard, late) = (guard.clone(), late.clone());
        async move { guard.call(|| late.run()).await }
    }))
    .await;
    let script = Script::new("20*F S");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(secs(30)).await;
    assert_eq!((call(&guard, &script).await, state(&runtime)), ("ok", "closed"));
    late.open(30);
    for task in running {
        assert!(task.await.unwrap().is_err());
    }
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 0));
}

#[tokio::test(start_paused = true)]
async fn gm_r06_the_window_is_empty_after_closing() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F S F");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(secs(30)).await;
    assert_eq!(calls(&guard, &script, 2).await, ["ok", "server"]);
    assert_eq!(
        (state(&runtime), window(&runtime)),
        ("closed", 1),
        "one of one, and no minimum"
    );
    calls(&guard, &script, 18).await;
    assert_eq!(state(&runtime), "closed");
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "open");
}

#[test]
fn gm_r08_gm_r19_a_minimum_above_the_window_and_a_breaker_without_timeout_are_refused() {
    for (lines, key) in [
        (
            "timeout = \"1s\"\nbreaker.window = \"10 calls\"\nbreaker.minimum_calls = 11",
            "dependency.far.breaker.minimum_calls",
        ),
        ("breaker.window = \"10 calls\"", "dependency.far.timeout"),
        (
            "timeout = \"1s\"\nbreaker.probes = 3\nbreaker.probe_successes = 2",
            "dependency.far.breaker.probes",
        ),
        (
            "timeout = \"1s\"\nbreaker.slow_after = \"100ms\"",
            "dependency.far.breaker.slow_after",
        ),
        (
            "timeout = \"1s\"\nbreaker.slow_rate = 0.5",
            "dependency.far.breaker.slow_after",
        ),
    ] {
        let error =
            Policy::from_toml(&format!("version = 1\n[dependency.far]\nfail = \"closed\"\n{lines}\n")).unwrap_err();
        let keys: Vec<_> = error.faults().iter().map(resilience_runtime::Fault::key).collect();
        assert_eq!(keys, [key], "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r14_slower_than_the_mark_counts_although_it_succeeded_and_as_slow_as_the_mark_does_not() {
    let lines = "timeout = \"3s\"\nbreaker.window = \"20 calls\"\nbreaker.minimum_calls = 20\nbreaker.slow_after = \"400ms\"\n\
                 breaker.slow_rate = 0.5";
    for (body, expected) in [
        ("10*S/401ms 10*S/400ms", "open"),
        ("9*S/401ms 11*S/400ms", "closed"),
        ("10*B/401ms 10*S", "open"),
    ] {
        let (runtime, guard) = guard(lines);
        let script = Script::new(body);
        let (_, events) = testing::record(calls(&guard, &script, 20)).await;
        assert_eq!(state(&runtime), expected, "{body}");
        let causes: Vec<_> = events.iter().filter_map(|event| event.field("cause")).collect();
        assert_eq!(causes, if expected == "open" { vec!["slow_rate"] } else { vec![] });
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r14_an_attempt_that_was_cut_is_slow_and_failed_and_the_union_has_a_rate_of_its_own() {
    let lines =
        "timeout = \"1s\"\nbreaker.window = \"40 calls\"\nbreaker.minimum_calls = 40\nbreaker.slow_after = \"200ms\"\n";
    // Ten failed and ten slow of forty: half are bad, a quarter each.
    for (rates, expected) in [
        ("breaker.bad_rate = 0.5", "open"),
        ("breaker.slow_rate = 0.5", "closed"),
    ] {
        let (runtime, guard) = guard(&format!("{lines}{rates}"));
        calls(&guard, &Script::new("10*F 10*S/201ms 20*S"), 40).await;
        assert_eq!(state(&runtime), expected, "{rates}");
    }
    let (runtime, guard) = guard(&format!(
        "{lines}breaker.failure_rate = false\nbreaker.slow_rate = 0.25"
    ));
    calls(&guard, &Script::new("10*H 30*S"), 40).await;
    let far = runtime.snapshot().dependencies["far"].clone();
    assert_eq!((far.state, far.cause, far.calls), (Some("open"), Some("slow_rate"), 40));
}

#[tokio::test(start_paused = true)]
async fn gm_r14_a_failure_is_slow_by_the_same_mark() {
    let lines = "timeout = \"3s\"\nbreaker.window = \"20 calls\"\nbreaker.slow_after = \"400ms\"\nbreaker.slow_rate = 0.5\n\
                 breaker.failure_rate = false";
    for (body, expected) in [("20*F/400ms", "closed"), ("10*F/401ms 10*F", "open")] {
        let (runtime, guard) = guard(lines);
        calls(&guard, &Script::new(body), 20).await;
        assert_eq!((state(&runtime), window(&runtime)), (expected, 20), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn gm_r16_gm_r29_a_dead_charge_opens_its_own_breaker_and_no_lookup_is_refused() {
    let runtime = resilience_runtime::Runtime::new(parse(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\n[dependency.payrail.breaker]\nwindow = \"20 calls\"\n\
         [dependency.payrail.operation.charge.breaker]\n[dependency.payrail.operation.status]\ntimeout = \"1s\"\n",
    ));
    let (charge, status) = (
        runtime.guard("payrail.charge").unwrap(),
        runtime.guard("payrail.status").unwrap(),
    );
    let (dead, well) = (Script::new("F"), Script::new("S"));
    let mut opened = None;
    for order in 0..500 {
        let charged = call(&charge, &dead).await;
        if charged == "open" && opened.is_none() {
            opened = Some(order);
        }
        assert_eq!(calls(&status, &well, 12).await, ["ok"; 12]);
        tokio::time::sleep(ms(100)).await;
    }
    assert_eq!(
        opened,
        Some(20),
        "the charges that decided it were twenty, not two hundred and sixty"
    );
    let shared: Vec<_> = ["payrail", "payrail.status"]
        .map(|name| runtime.snapshot().dependencies[name].state.unwrap())
        .into();
    assert_eq!(
        (shared, well.starts()),
        (vec!["closed"; 2], 6_000),
        "the lookups share the dependency's breaker"
    );
}

#[tokio::test(start_paused = true)]
async fn gm_r16_with_one_breaker_for_the_host_a_dead_charge_hides_among_the_lookups() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let (dead, well) = (Script::new("F"), Script::new("S"));
    for _ in 0..500 {
        call(&guard, &dead).await;
        calls(&guard, &well, 12).await;
    }
    assert_eq!((state(&runtime), dead.starts()), ("closed", 500));
}

#[test]
fn gm_r17_a_breaker_for_everything_has_no_name() {
    let error =
        Policy::from_toml("version = 1\n[dependency.\"*\"]\nfail = \"closed\"\ntimeout = \"1s\"\n").unwrap_err();
    assert_eq!(error.faults()[0].line(), Some(2), "{error}");
}

#[tokio::test(start_paused = true)]
async fn gm_r24_a_thousand_doomed_calls_in_flight_become_none() {
    let lines = LAST_TWENTY.replace("timeout = \"3s\"", "timeout = \"2s\"");
    let (runtime, guard) = guard(&lines);
    let script = Script::new("H");
    let clock = Clock::start();
    let mut buyers = Vec::new();
    for number in 0..2_500 {
        clock.at(ms(2 * number)).await;
        let (guard, script) = (guard.clone(), script.clone());
        buyers.push(tokio::spawn(async move { call(&guard, &script).await }));
    }
    settle().await;
    assert!((1_000..=1_020).contains(&script.peak()), "{}", script.peak());
    assert_eq!((script.running(), state(&runtime)), (0, "open"));
    assert!(script.starts() <= 1_020, "{}", script.starts());
    for buyer in buyers {
        assert!(matches!(buyer.await.unwrap(), "timed_out" | "open"));
    }
}
