//! Bulkheads in general, and shares of one per key.

use std::future::Future;

use resilience_runtime::{Failure, FailureKind, Runtime, bulkhead, deadline, fallback};

use crate::kit::{Clock, FarError, Gate, Script, call, guard, ms, parse, seen, settle, slots, spawn_all, tally};

#[tokio::test(start_paused = true)]
async fn bh_r01_by_default_one_above_the_limit_is_refused_at_once() {
    let (runtime, guard) = guard("bulkhead.max_concurrent = 5");
    let gate = Gate::new("S");
    let clock = Clock::start();
    let tasks = spawn_all((0..6).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { (seen(&guard.call(|| gate.run()).await), clock.now()) }
    }))
    .await;
    assert_eq!((slots(&runtime), gate.running()), ((5, 0), 5));
    assert!(tasks[5].is_finished());
    clock.at(ms(10)).await;
    gate.open(5);
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    assert_eq!(ended[..5], [("ok", ms(10)); 5]);
    assert_eq!(ended[5], ("bulkhead_full", ms(0)));
}

#[tokio::test(start_paused = true)]
async fn bh_r01_a_line_is_opt_in_bounded_in_length_and_time_and_first_come_first_served() {
    let (runtime, guard) = guard("bulkhead.max_concurrent = 1\nbulkhead.max_waiting = 2\nbulkhead.max_wait = \"50ms\"");
    let script = Script::new("S/30ms");
    let clock = Clock::start();
    let tasks = spawn_all((0..4).map(|_| {
        let (guard, script) = (guard.clone(), script.clone());
        async move { (seen(&guard.call(|| script.run()).await), clock.now()) }
    }))
    .await;
    assert_eq!(slots(&runtime), (1, 2));
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    assert_eq!(
        ended,
        [
            ("ok", ms(30)),
            ("ok", ms(60)),
            ("wait_timed_out", ms(50)),
            ("bulkhead_full", ms(0))
        ]
    );
    assert_eq!((script.starts(), slots(&runtime)), (2, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn bh_r05_three_named_compartments_load_and_do_not_meet() {
    let sizes = [("payments", 60), ("search", 30), ("recommendations", 20)];
    let tables = sizes.map(|(name, size)| {
        format!("[dependency.{name}]\nfail = \"open\"\n[dependency.{name}.bulkhead]\nmax_concurrent = {size}\n")
    });
    let runtime = Runtime::new(parse(&format!("version = 1\n{}", tables.concat())));
    for (name, size) in sizes {
        let (guard, gate) = (runtime.guard(name).unwrap(), Gate::new("S"));
        let tasks = spawn_all((0..100).map(|_| {
            let (guard, gate) = (guard.clone(), gate.clone());
            async move { guard.call(|| gate.run()).await }
        }))
        .await;
        assert_eq!(
            (gate.running(), tasks.iter().filter(|task| task.is_finished()).count()),
            (size, 100 - size)
        );
    }
    let taken: Vec<_> = sizes
        .map(|(name, _)| runtime.snapshot().dependencies[name].in_flight)
        .into();
    assert_eq!(taken, [60, 30, 20]);
}

#[tokio::test(start_paused = true)]
async fn bh_r08_the_length_of_the_line_is_read_at_any_time() {
    let (runtime, guard) = guard("bulkhead.max_concurrent = 1\nbulkhead.max_waiting = 9\nbulkhead.max_wait = \"1s\"");
    let gate = Gate::new("S");
    let tasks = spawn_all((0..8).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { guard.call(|| gate.run()).await }
    }))
    .await;
    let far = runtime.snapshot().dependencies["far"].clone();
    assert_eq!(
        (far.in_flight, far.limit, far.waiting, far.max_waiting),
        (1, Some(1), 7, Some(9))
    );
    gate.open(3);
    settle().await;
    assert_eq!(slots(&runtime), (1, 4));
    for task in tasks {
        task.abort();
    }
    settle().await;
    assert_eq!(
        slots(&runtime),
        (0, 0),
        "whoever leaves the line leaves no place behind"
    );
}

#[tokio::test(start_paused = true)]
async fn bh_r09_twenty_of_two_hundred_and_the_other_slots_untouched() {
    let text = "version = 1\n[dependency.recs]\nfail = \"open\"\nbulkhead.max_concurrent = 20\n\
                [dependency.rest]\nfail = \"closed\"\nbulkhead.max_concurrent = 180\n";
    let runtime = Runtime::new(parse(text));
    let (recs, rest) = (runtime.guard("recs").unwrap(), runtime.guard("rest").unwrap());
    let (slow, quick) = (Gate::new("S"), Script::new("S/100ms"));
    let tasks = spawn_all((0..21).map(|_| {
        let (recs, slow) = (recs.clone(), slow.clone());
        async move { seen(&recs.call(|| slow.run()).await) }
    }))
    .await;
    assert_eq!((slow.running(), tasks[20].is_finished()), (20, true));
    assert_eq!(runtime.snapshot().dependencies["rest"].in_flight, 0);
    for _ in 0..100 {
        let clock = Clock::start();
        assert_eq!((call(&rest, &quick).await, clock.now()), ("ok", ms(100)));
    }
}

#[tokio::test(start_paused = true)]
async fn bh_r10_waiting_never_outlives_the_deadline_and_a_slot_in_time_is_taken() {
    let (runtime, guard) = guard("bulkhead.max_concurrent = 1\nbulkhead.max_waiting = 9\nbulkhead.max_wait = \"1s\"");
    let script = Script::new("S/400ms");
    let clock = Clock::start();
    let held = spawn_all([{
        let (guard, script) = (guard.clone(), script.clone());
        async move { call(&guard, &script).await }
    }])
    .await;
    let in_time = deadline::within(ms(900), call(&guard, &script)).await;
    assert_eq!((in_time, clock.now()), ("ok", ms(800)));
    let (other, gate) = (guard.clone(), Gate::new("S"));
    let holder = gate.clone();
    let stuck = tokio::spawn(async move { other.call(|| holder.run()).await });
    settle().await;
    let late = deadline::within(ms(300), guard.call(|| script.run())).await;
    let Err(Failure::Rejected(rejection)) = late else {
        panic!("the slot is taken")
    };
    assert_eq!(
        (rejection.reason().as_str(), rejection.retry_after()),
        ("deadline_exceeded", None)
    );
    assert_eq!((clock.now(), slots(&runtime), script.starts()), (ms(1_100), (1, 0), 2));
    stuck.abort();
    drop(held);
}

/// What a farm's writer does; each farm has its own share of the slots.
#[bulkhead("farms", key = farm)]
#[fallback(none = "the writer comes back to the farm later")]
async fn write<F: Future<Output = Result<usize, FarError>>>(farm: u32, body: F) -> Result<usize, FarError> {
    body.await
}

fn farms(lines: &str) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[dependency.farms]\nfail = \"open\"\n{lines}\n"
    )))
}

fn word(result: Result<usize, FarError>) -> &'static str {
    result.map_or_else(FarError::word, |_| "ok")
}

#[tokio::test(start_paused = true)]
async fn gw_r01_nineteen_farms_with_a_share_each_and_a_full_one_refuses_only_itself() {
    let runtime = farms("bulkhead.max_concurrent = 100\nbulkhead.per_key = 5");
    let gate = Gate::new("S");
    let tasks = spawn_all((0..19 * 6_u32).map(|number| {
        let gate = gate.clone();
        runtime.scope(async move { (number % 19, word(write(number % 19, gate.run()).await)) })
    }))
    .await;
    assert_eq!(gate.running(), 19 * 5);
    gate.open(19 * 5);
    let mut refused = Vec::new();
    let mut words = Vec::new();
    for task in tasks {
        let (farm, word) = task.await.unwrap();
        words.push(word);
        if word != "ok" {
            refused.push(farm);
        }
    }
    refused.sort_unstable();
    assert_eq!(refused, (0..19).collect::<Vec<_>>(), "each farm's sixth");
    assert_eq!(
        tally(&words).into_iter().collect::<Vec<_>>(),
        [("bulkhead_full", 19), ("ok", 95)]
    );
}

#[tokio::test(start_paused = true)]
async fn gw_r02_with_one_pool_for_all_a_farm_that_stalls_makes_every_farm_late() {
    let runtime = farms("bulkhead.max_concurrent = 20");
    let stalled = Gate::new("S");
    let held = spawn_all((0..20).map(|_| {
        let stalled = stalled.clone();
        runtime.scope(async move { write(0, stalled.run()).await })
    }))
    .await;
    let script = Script::new("S");
    for farm in 1..19 {
        assert_eq!(
            runtime.scope(async { word(write(farm, script.run()).await) }).await,
            "bulkhead_full"
        );
    }
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn gw_r04_with_a_share_per_farm_a_stall_is_one_farms_own() {
    let runtime = farms(
        "bulkhead.max_concurrent = 20\nbulkhead.per_key = 5\nbulkhead.max_waiting = 100\nbulkhead.max_wait = \"1s\"",
    );
    let stalled = Gate::new("S");
    let held = spawn_all((0..20).map(|_| {
        let stalled = stalled.clone();
        runtime.scope(async move { word(write(0, stalled.run()).await) })
    }))
    .await;
    assert_eq!(stalled.running(), 5);
    assert_eq!(runtime.snapshot().dependencies["farms"].waiting, 15);
    // Fifteen wait in front, and hold up nobody.
    let script = Script::new("S");
    for farm in 1..4 {
        let clock = Clock::start();
        let ended = runtime.scope(async { word(write(farm, script.run()).await) }).await;
        assert_eq!((ended, clock.now()), ("ok", ms(0)));
    }
    let mut words = Vec::new();
    tokio::time::sleep(ms(1_001)).await;
    for task in held.into_iter().filter(tokio::task::JoinHandle::is_finished) {
        words.push(task.await.unwrap());
    }
    assert_eq!(words, ["wait_timed_out"; 15]);
}

#[tokio::test(start_paused = true)]
async fn sc_r04_one_tenant_cannot_take_every_slot_of_a_failing_dependency() {
    let runtime = farms("bulkhead.max_concurrent = 4\nbulkhead.per_key = 3");
    let gate = Gate::new("F");
    let held = spawn_all((0..4).map(|_| {
        let gate = gate.clone();
        runtime.scope(async move { write(7, gate.run()).await })
    }))
    .await;
    let script = Script::new("S");
    assert_eq!(runtime.scope(async { word(write(8, script.run()).await) }).await, "ok");
    gate.open(3);
    let mut ended = Vec::new();
    for task in held {
        ended.push(task.await.unwrap());
    }
    assert_eq!(ended[3], Err(FarError::Rejected("bulkhead_full")));
    assert_eq!(ended[..3], [Err(FarError::Failed(FailureKind::Server)); 3]);
}

#[tokio::test(start_paused = true)]
async fn gw_r05_idle_keys_are_forgotten_so_any_number_may_pass() {
    let runtime = farms("bulkhead.max_concurrent = 20\nbulkhead.per_key = 1\nbulkhead.max_keys = 100");
    let script = Script::new("S");
    runtime
        .scope(async {
            for farm in 0..20_000 {
                assert_eq!(word(write(farm, script.run()).await), "ok");
            }
        })
        .await;
    assert_eq!(
        (script.starts(), runtime.snapshot().dependencies["farms"].in_flight),
        (20_000, 0)
    );
}
