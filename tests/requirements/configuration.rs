//! The file decides: every number in it, faults by place, reload without restart.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::{Failure, Policy, Runtime, State, breaker, bulkhead, fallback, retry, testing, timeout};

use crate::kit::{
    Clock, FarError, Gate, Script, call, calls, guard, ms, parse, policy, secs, seen, settle, slots, spawn_all, state,
    window,
};

#[test]
fn cf_r01_sd_r34_one_block_holds_every_number_of_a_dependency() {
    let policy = policy(
        r#"
        timeout = "3s"
        deadline = "8s"
        throttle = "dependency"
        max_hold = "60s"
        failures = ["timeout", "connect"]
        breaker = { window = "30s", minimum_calls = 40, failure_rate = 0.5, slow_after = "200ms", slow_rate = 0.6, bad_rate = 0.7, consecutive_failures = 5, in_flight = 100, cooldown = "10s", cooldown_max = "5m", cooldown_factor = 2.0, cooldown_jitter = 0.1, probes = 5, probe_successes = 5, ramp = [0.05, 0.25], sample_every = "10s" }
        bulkhead = { max_concurrent = 30, max_waiting = 20, max_wait = "50ms", per_key = 5, max_keys = 10_000, retry_after = "5s" }
        retry = { max_attempts = 3, backoff = "100ms", backoff_max = "2s", jitter = "full", budget = 0.1, budget_floor = 1.0 }
        fallback = { max_stale = "5m", max_entries = 10_000, max_concurrent = 10, timeout = "200ms" }
        traffic = { calls_per_second = 500.0, instances = 2, latency = "150ms", latency_p99 = "400ms", capacity = 500 }
        chaos = { failure = 0.01, latency = "200ms", latency_share = 0.05 }
        "#,
    );
    let snapshot = Runtime::new(policy).snapshot();
    let far = &snapshot.dependencies["far"];
    assert_eq!(
        (far.limit, far.max_waiting, far.state, far.retry_budget),
        (Some(30), Some(20), Some("closed"), Some(10.0))
    );
}

#[test]
fn cf_r02_a_misspelt_key_fails_with_its_line_and_the_nearest_name() {
    let text = "version = 1\n\n[dependency.far]\nfail = \"closed\"\ntimeout = \"3s\"\n\n[dependency.far.breaker]\nfailure_rte = 0.5\n";
    let error = Policy::from_toml(text).unwrap_err();
    let fault = &error.faults()[0];
    assert_eq!(
        (error.faults().len(), fault.line(), fault.column()),
        (1, Some(8), Some(1))
    );
    assert_eq!(
        (fault.key(), fault.suggestion()),
        ("dependency.far.breaker.failure_rte", Some("failure_rate"))
    );
    let said = error.to_string();
    assert!(
        said.contains(":8:1") && said.contains("failure_rte") && said.contains("failure_rate"),
        "{said}"
    );
}

static CHARGES: AtomicUsize = AtomicUsize::new(0);

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "the buyer asks again")]
async fn charge() -> Result<usize, FarError> {
    CHARGES.fetch_add(1, Ordering::Relaxed);
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn cf_r03_the_same_code_obeys_the_policy_that_it_runs_under() {
    for (timeout, minimum) in [("3s", 2), ("700ms", 5)] {
        let runtime = Runtime::new(parse(&format!(
            "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"{timeout}\"\nbreaker.minimum_calls = {minimum}\n\
             breaker.window = \"100 calls\"\nbulkhead.max_concurrent = 1\n"
        )));
        let before = CHARGES.load(Ordering::Relaxed);
        let clock = Clock::start();
        let mut words = Vec::new();
        runtime
            .scope(async {
                for _ in 0..6 {
                    words.push(charge().await.unwrap_err().word());
                }
            })
            .await;
        let length = if timeout == "3s" { ms(3_000) } else { ms(700) };
        assert_eq!(clock.now(), length * minimum);
        assert_eq!(CHARGES.load(Ordering::Relaxed) - before, minimum as usize);
        let expected: Vec<_> = (0..6)
            .map(|number| if number < minimum { "timed_out" } else { "open" })
            .collect();
        assert_eq!(words, expected);
    }
}

/// The same function under each order of its attributes.
macro_rules! orders {
    ($($name:ident: $(#[$attribute:meta])+;)+) => {
        $($(#[$attribute])+
        async fn $name(script: &Script) -> Result<usize, FarError> {
            script.run().await
        })+
    };
}

orders! {
    in_order: #[bulkhead("seatmap")] #[retry] #[breaker] #[timeout] #[fallback(none = "as is")];
    reversed: #[fallback(none = "as is")] #[timeout] #[breaker] #[retry] #[bulkhead("seatmap")];
    breaker_outside: #[breaker("seatmap")] #[bulkhead] #[fallback(none = "as is")] #[retry] #[timeout];
    retry_outside: #[retry] #[fallback(none = "as is")] #[timeout("seatmap")] #[bulkhead] #[breaker];
    timeout_outside: #[timeout("seatmap")] #[retry] #[bulkhead] #[fallback(none = "as is")] #[breaker];
    named_twice: #[timeout("seatmap")] #[retry("seatmap")] #[breaker("seatmap")] #[bulkhead("seatmap")] #[fallback(none = "as is")];
}

const SEATMAP: &str = "version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker.window = \"20 calls\"\n\
    bulkhead.max_concurrent = 1\nretry.max_attempts = 2\nretry.backoff = \"100ms\"\nretry.jitter = \"none\"\n";

#[tokio::test(start_paused = true)]
async fn cf_r04_the_layers_nest_the_same_whatever_order_the_attributes_are_written_in() {
    macro_rules! traces {
        ($($name:ident)+) => { [$((stringify!($name), trace(|script| Box::pin(async move { $name(&script).await })).await)),+] };
    }
    for (name, trace) in traces!(in_order reversed breaker_outside retry_outside timeout_outside named_twice) {
        assert_eq!(
            trace,
            (Ok(2), ms(1_120), vec![(1, 1, 0), (1, 0, 1), (1, 1, 1)], (0, 2)),
            "{name}"
        );
    }
}

type Calling = std::pin::Pin<Box<dyn Future<Output = Result<usize, FarError>> + Send>>;
type Trace = (
    Result<usize, FarError>,
    std::time::Duration,
    Vec<(u64, usize, u32)>,
    (u64, u32),
);

/// One call that is cut, pauses and succeeds: slots, bodies and results at three moments of it, and at its end.
async fn trace(function: impl FnOnce(Script) -> Calling) -> Trace {
    let runtime = Runtime::new(parse(SEATMAP));
    let script = Script::new("H S/20ms");
    let clock = Clock::start();
    let running = tokio::spawn(runtime.scope(function(script.clone())));
    settle().await;
    let look = || {
        let seatmap = runtime.snapshot().dependencies["seatmap"].clone();
        (seatmap.in_flight, seatmap.calls)
    };
    let mut seen = Vec::new();
    for moment in [500, 1_050, 1_110] {
        clock.at(ms(moment)).await;
        let (in_flight, calls) = look();
        seen.push((in_flight, script.running(), calls));
    }
    let ended = running.await.unwrap();
    (ended, clock.now(), seen, look())
}

#[test]
fn cf_r08_a_missing_block_is_refused_at_the_start_by_name() {
    let runtime = Runtime::new(parse(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n",
    ));
    let error = runtime.install().unwrap_err().to_string();
    for missing in ["payrail", "seatmap", "farms", "breaker", "bulkhead"] {
        assert!(error.contains(missing), "`{missing}` is not in: {error}");
    }
    let unknown = runtime.guard("payrial").unwrap_err();
    assert_eq!((unknown.name(), unknown.nearest()), ("payrial", Some("payrail")));
}

#[tokio::test(start_paused = true)]
async fn cf_r09_a_reload_keeps_state_and_window_and_judges_the_next_outcome_by_the_new_numbers() {
    let numbers = |rate: &str, cooldown: &str| {
        policy(&format!(
            "timeout = \"3s\"\nbreaker.window = \"20 calls\"\nbreaker.minimum_calls = 10\nbreaker.failure_rate = {rate}\n\
             breaker.cooldown = \"{cooldown}\"\nbreaker.cooldown_jitter = 0.0"
        ))
    };
    let runtime = Runtime::new(numbers("0.9", "30s"));
    let guard = runtime.guard("far").unwrap();
    let script = Script::new("10*S 10*F F");
    calls(&guard, &script, 20).await;
    assert_eq!((state(&runtime), window(&runtime)), ("closed", 20));
    let report = runtime.reload(numbers("0.5", "30s")).unwrap();
    let keys: Vec<_> = report.changes().iter().map(|change| change.key().to_owned()).collect();
    assert_eq!(keys, ["dependency.far.breaker.failure_rate"]);
    assert_eq!(
        (state(&runtime), window(&runtime)),
        ("closed", 20),
        "not before the next outcome"
    );
    let clock = Clock::start();
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "open");
    // Open stays open; its end moves to opened-at and the new cooldown.
    clock.at(secs(10)).await;
    runtime.reload(numbers("0.5", "12s")).unwrap();
    assert_eq!(
        (state(&runtime), runtime.snapshot().dependencies["far"].retry_after),
        ("open", Some(2.0))
    );
    clock.at(secs(12)).await;
    assert_eq!(state(&runtime), "half_open");
}

#[tokio::test(start_paused = true)]
async fn cf_r09_a_policy_that_lost_what_is_in_use_is_refused_whole() {
    let runtime = Runtime::new(parse(
        "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.near]\nfail = \"closed\"\ntimeout = \"1s\"\n",
    ));
    let guard = runtime.guard("far").unwrap();
    let before = runtime.snapshot().policy.hash;
    let error = runtime
        .reload(parse(
            "version = 1\n[dependency.near]\nfail = \"closed\"\ntimeout = \"9s\"\n",
        ))
        .unwrap_err();
    assert_eq!((error.missing().len(), error.faults().len()), (1, 0));
    let snapshot = runtime.snapshot();
    assert_eq!(snapshot.policy.hash, before);
    assert!(snapshot.policy.refusal.unwrap().contains("far"));
    let clock = Clock::start();
    let near = runtime.guard("near").unwrap();
    assert_eq!(
        (call(&near, &Script::new("H")).await, clock.now()),
        ("timed_out", secs(1)),
        "nothing of it was applied"
    );
    assert_eq!(call(&guard, &Script::new("S")).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn cf_r09_running_calls_end_on_the_numbers_they_began_with_and_a_smaller_bulkhead_drains() {
    let runtime = Runtime::new(policy("timeout = \"3s\"\nbulkhead.max_concurrent = 3"));
    let guard = runtime.guard("far").unwrap();
    let script = Script::new("H");
    let clock = Clock::start();
    let running = spawn_all((0..3).map(|_| {
        let (guard, script) = (guard.clone(), script.clone());
        async move { (call(&guard, &script).await, clock.now()) }
    }))
    .await;
    runtime
        .reload(policy("timeout = \"1s\"\nbulkhead.max_concurrent = 1"))
        .unwrap();
    assert_eq!(
        (slots(&runtime), call(&guard, &script).await),
        ((3, 0), "bulkhead_full")
    );
    for call in running {
        assert_eq!(call.await.unwrap(), ("timed_out", secs(3)));
    }
    let clock = Clock::start();
    assert_eq!((call(&guard, &script).await, clock.now()), ("timed_out", secs(1)));
}

#[tokio::test(start_paused = true)]
async fn cf_r15_one_call_on_the_real_path_while_open_is_measured_and_moves_nothing() {
    let (runtime, guard) = guard(
        "timeout = \"1s\"\nbreaker.cooldown = \"5m\"\nbreaker.sample_every = \"10s\"\nbreaker.cooldown_jitter = 0.0",
    );
    let script = Script::new("S F H S");
    runtime.scope(async { testing::trip("far") }).await;
    let clock = Clock::start();
    let (words, events) = testing::record(async {
        let mut words = Vec::new();
        for moment in [9, 10, 10, 20, 30, 41, 50] {
            clock.at(secs(moment)).await;
            words.push(call(&guard, &script).await);
        }
        words
    })
    .await;
    assert_eq!(words, ["open", "ok", "open", "server", "timed_out", "ok", "open"]);
    let samples: Vec<_> = events.iter().filter(|event| event.name() == "breaker.sample").collect();
    let said: Vec<_> = samples
        .iter()
        .map(|event| (event.dependency(), event.field("outcome").unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("far", "success"),
            ("far", "server"),
            ("far", "timeout"),
            ("far", "success")
        ]
    );
    assert_eq!((state(&runtime), window(&runtime)), ("open", 0));
    assert_eq!(runtime.snapshot().dependencies["far"].retry_after, Some(250.0));
}

#[tokio::test(start_paused = true)]
async fn cf_r17_rc_r15_the_breaker_off_leaves_the_timeout_on() {
    let text = |breaker: &str| {
        format!(
            "version = 1\n[template.http]\ntimeout = \"250ms\"\nbreaker.consecutive_failures = 1\n[dependency.far]\ninherits = \"http\"\n\
             fail = \"open\"\n{breaker}"
        )
    };
    let runtime = Runtime::new(parse(&text("")));
    let guard = runtime.guard("far").unwrap();
    let script = Script::new("H");
    assert_eq!(calls(&guard, &script, 2).await, ["timed_out", "open"]);
    let off = Runtime::new(parse(&text("breaker = false\n")));
    let guard = off.guard("far").unwrap();
    let clock = Clock::start();
    assert_eq!(calls(&guard, &script, 4).await, ["timed_out"; 4]);
    assert_eq!((clock.now(), off.snapshot().dependencies["far"].state), (secs(1), None));
}

#[tokio::test(start_paused = true)]
async fn cf_r18_any_future_is_guarded_whatever_transport_is_under_it() {
    let (runtime, guard) = guard("timeout = \"1s\"\nbreaker.consecutive_failures = 2");
    let refused = || std::future::ready(Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)));
    for _ in 0..2 {
        let Err(Failure::Error(error)) = guard.call(refused).await else {
            panic!("the error itself comes through")
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
    assert_eq!(runtime.scope(async { testing::state("far") }).await, State::Open);
    // A borrowing body, and one that is not `Send`.
    let local = std::rc::Rc::new(std::cell::Cell::new(0));
    let (_, well) = crate::kit::guard("timeout = \"1s\"");
    let answer = well
        .call_once(async {
            tokio::task::yield_now().await;
            local.set(local.get() + 1);
            Ok::<_, FarError>(local.get())
        })
        .await;
    assert_eq!(answer.unwrap(), 1);
    let gate = Gate::new("S");
    gate.open(1);
    assert_eq!(seen(&well.call(|| gate.run()).await), "ok");
}
