//! The block of numbers of a recommendations client: each can be written down, and does what it says.

use resilience_runtime::{Freshness, Guard, Runtime, Served, bulkhead, fallback, timeout};

use crate::kit::{Clock, FarError, Gate, Script, call, calls, guard, ms, parse, secs, seen, settle, slots, spawn_all};
use crate::kit::{policy, state, tally, window};

const BLOCK: &str = r#"
timeout = "250ms"
breaker.window = "30s"
breaker.minimum_calls = 40
breaker.failure_rate = 0.5
breaker.cooldown = "10s"
breaker.cooldown_jitter = 0.0
breaker.probes = 5
breaker.probe_successes = 5
bulkhead.max_concurrent = 30
bulkhead.max_waiting = 20
bulkhead.max_wait = "50ms"
"#;

/// The block with more lines.
fn block(lines: &str) -> (Runtime, Guard) {
    guard(&format!("{BLOCK}{lines}"))
}

#[tokio::test(start_paused = true)]
async fn rc_r01_a_call_is_cut_at_250_ms() {
    let (_runtime, guard) = block("");
    let clock = Clock::start();
    assert_eq!(call(&guard, &Script::new("H")).await, "timed_out");
    assert_eq!(clock.now(), ms(250));
}

#[tokio::test(start_paused = true)]
async fn rc_r02_a_result_leaves_the_window_of_30_s_within_one_slice() {
    let (runtime, guard) = block("");
    let clock = Clock::start();
    calls(&guard, &Script::new("F"), 39).await;
    clock.at(ms(26_900)).await;
    assert_eq!((window(&runtime), state(&runtime)), (39, "closed"));
    clock.at(secs(30)).await;
    assert_eq!(window(&runtime), 0);
}

#[tokio::test(start_paused = true)]
async fn rc_r03_39_failures_stay_closed_and_the_40th_opens() {
    let (runtime, guard) = block("");
    let script = Script::new("F");
    calls(&guard, &script, 39).await;
    assert_eq!(state(&runtime), "closed");
    call(&guard, &script).await;
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn rc_r04_20_of_40_are_half_and_half_is_enough() {
    let (runtime, guard) = block("");
    let script = Script::new("20*S F");
    calls(&guard, &script, 39).await;
    assert_eq!(state(&runtime), "closed");
    call(&guard, &script).await;
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn rc_r05_201_ms_is_slow_and_200_ms_is_not() {
    for (takes, expected) in [("S/200ms", "closed"), ("S/201ms", "open")] {
        let (runtime, guard) = block("breaker.slow_after = \"200ms\"\nbreaker.slow_rate = 1.0");
        calls(&guard, &Script::new(takes), 40).await;
        assert_eq!(state(&runtime), expected, "{takes}");
    }
}

#[tokio::test(start_paused = true)]
async fn rc_r06_failed_and_slow_ones_add_up_where_that_is_asked_for() {
    for (rate, expected) in [("bad_rate", "open"), ("slow_rate", "closed")] {
        let (runtime, guard) = block(&format!("breaker.slow_after = \"200ms\"\nbreaker.{rate} = 0.5"));
        calls(&guard, &Script::new("20*S 10*F 10*S/201ms"), 40).await;
        assert_eq!(state(&runtime), expected, "{rate}");
    }
}

#[tokio::test(start_paused = true)]
async fn rc_r07_it_stays_open_for_10_s_to_the_millisecond() {
    let (_runtime, guard) = block("");
    let script = Script::new("40*F S");
    calls(&guard, &script, 40).await;
    let clock = Clock::start();
    clock.at(ms(9_999)).await;
    assert_eq!(call(&guard, &script).await, "open");
    clock.at(secs(10)).await;
    assert_eq!(call(&guard, &script).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn rc_r08_five_trials_at_once_and_five_good_ones_close() {
    let (runtime, guard) = block("");
    calls(&guard, &Script::new("F"), 40).await;
    tokio::time::advance(secs(10)).await;
    let gate = Gate::new("S");
    let tasks = spawn_all((0..8).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { seen(&guard.call(|| gate.run()).await) }
    }))
    .await;
    assert_eq!((gate.running(), state(&runtime)), (5, "half_open"));
    gate.open(5);
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    assert_eq!(tally(&ended), [("ok", 5), ("probes_busy", 3)].into());
    assert_eq!(state(&runtime), "closed");
}

#[tokio::test(start_paused = true)]
async fn rc_r09_rc_r10_rc_r11_30_run_20_wait_50_ms_and_the_51st_is_refused_at_once() {
    let (runtime, guard) = block("");
    let gate = Gate::new("S");
    let clock = Clock::start();
    let tasks = spawn_all((0..51).map(|_| {
        let (guard, gate) = (guard.clone(), gate.clone());
        async move { (seen(&guard.call(|| gate.run()).await), clock.now()) }
    }))
    .await;
    assert_eq!((slots(&runtime), gate.running()), ((30, 20), 30));
    assert!(tasks[50].is_finished());
    clock.at(ms(60)).await;
    gate.open(30);
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    assert_eq!(ended[..30], [("ok", ms(60)); 30]);
    assert_eq!(ended[30..50], [("wait_timed_out", ms(50)); 20]);
    assert_eq!(ended[50], ("bulkhead_full", ms(0)));
    assert_eq!(gate.peak(), 30);
}

/// The block without the lines that begin so.
fn without(prefix: &str) -> String {
    let kept = BLOCK.lines().filter(|line| !line.starts_with(prefix));
    kept.collect::<Vec<_>>().join("\n")
}

/// The list that suits everybody.
const BEST_SELLERS: usize = 0;

#[timeout("seatmap")]
#[bulkhead]
#[fallback(stale(shared))]
#[fallback(value = Served::fresh(BEST_SELLERS))]
async fn recommended(script: &Script) -> Result<Served<usize>, FarError> {
    script.run().await.map(Served::fresh)
}

fn recommendations(block: &str) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\n{block}\nfallback.max_stale = \"300s\"\n"
    )))
}

#[tokio::test(start_paused = true)]
async fn rc_r12_a_list_of_300_s_is_served_and_one_of_301_s_is_not() {
    for (age, expected) in [
        (300, (1, Freshness::Stale { age: secs(300) })),
        (301, (0, Freshness::Fallback)),
    ] {
        recommendations(BLOCK)
            .scope(async move {
                let script = Script::new("S F");
                let fresh = recommended(&script).await.unwrap();
                assert_eq!((fresh.value, fresh.freshness), (1, Freshness::Fresh));
                tokio::time::advance(secs(age)).await;
                let served = recommended(&script).await.unwrap();
                assert_eq!((served.value, served.freshness), expected, "{age} s");
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn rc_r13_callers_over_the_limits_get_the_list_at_once() {
    let runtime = recommendations(&without("bulkhead.max_wait"));
    let script = Script::new("S/200ms");
    let tasks = spawn_all((0..31).map(|_| {
        let script = script.clone();
        runtime.scope(async move {
            let clock = Clock::start();
            let served = recommended(&script).await.unwrap();
            (served.freshness, clock.now())
        })
    }))
    .await;
    settle().await;
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    assert_eq!(ended[..30], [(Freshness::Fresh, ms(200)); 30]);
    assert_eq!(ended[30], (Freshness::Fallback, ms(0)));
}

#[tokio::test(start_paused = true)]
async fn rc_r15_the_breaker_is_taken_away_and_given_back_without_code_and_the_timeout_stays() {
    let (runtime, guard) = block("");
    runtime.reload(policy(&without("breaker."))).unwrap();
    let script = Script::new("50*F H");
    calls(&guard, &script, 50).await;
    assert_eq!(script.starts(), 50, "nothing opens");
    let clock = Clock::start();
    assert_eq!(call(&guard, &script).await, "timed_out");
    assert_eq!(clock.now(), ms(250));
    runtime.reload(policy(BLOCK)).unwrap();
    calls(&guard, &Script::new("F"), 40).await;
    assert_eq!(state(&runtime), "open");
}
