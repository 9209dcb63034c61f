//! Stagedoor: what opens the breaker, what does not, and what happens while it is open.

use std::time::Duration;

use resilience_runtime::{Failure, Runtime, testing};

use crate::kit::{
    Clock, FarError, LAST_TWENTY, Script, call, calls, guard, ms, parse, runtime, secs, state, tally, together, window,
};

#[tokio::test(start_paused = true)]
async fn sd_r01_an_open_breaker_refuses_ten_thousand_calls_in_no_time_and_without_the_body() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("F");
    calls(&guard, &script, 20).await;
    let clock = Clock::start();
    let refused = calls(&guard, &script, 10_000).await;
    assert!(refused.iter().all(|word| *word == "open"));
    assert_eq!((script.starts(), clock.now()), (20, Duration::ZERO));
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn sd_r02_one_breaker_per_dependency_and_instance_that_share_nothing() {
    let instance = |name: &str| {
        let tables = ["payrail", "redis", "replica"].map(|dependency| {
            format!(
                "[dependency.{dependency}]\nfail = \"closed\"\ntimeout = \"3s\"\n[dependency.{dependency}.breaker]\n"
            )
        });
        Runtime::new(parse(&format!(
            "version = 1\n[runtime]\ninstance = \"{name}\"\n{}",
            tables.concat()
        )))
    };
    let (first, second) = (instance("api-01"), instance("api-02"));
    first.scope(async { testing::trip("payrail") }).await;
    let mut states = Vec::new();
    for snapshot in [first.snapshot(), second.snapshot()] {
        for (name, dependency) in &snapshot.dependencies {
            states.push((snapshot.instance.clone(), name.clone(), dependency.state.unwrap()));
        }
    }
    let states: Vec<_> = states
        .iter()
        .map(|(instance, name, state)| (instance.as_str(), name.as_str(), *state))
        .collect();
    assert_eq!(
        states,
        [
            ("api-01", "payrail", "open"),
            ("api-01", "redis", "closed"),
            ("api-01", "replica", "closed"),
            ("api-02", "payrail", "closed"),
            ("api-02", "redis", "closed"),
            ("api-02", "replica", "closed"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sd_r03_closed_lets_everybody_through_and_counts_each_outcome() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("S F B S T S B C S S F S S B S X S O S S");
    calls(&guard, &script, 20).await;
    assert_eq!((script.starts(), window(&runtime), state(&runtime)), (20, 20, "closed"));
    let rate = runtime.snapshot().dependency("far").unwrap().failure_rate.unwrap();
    assert!((rate - 0.3).abs() < 1e-12, "six of twenty: {rate}");
}

#[tokio::test(start_paused = true)]
async fn sd_r04_open_lasts_its_cooldown_to_the_millisecond() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F S");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(ms(29_999)).await;
    assert_eq!(call(&guard, &script).await, "open");
    assert_eq!((script.starts(), state(&runtime)), (20, "open"));
    clock.at(secs(30)).await;
    assert_eq!(call(&guard, &script).await, "ok");
    assert_eq!((script.starts(), state(&runtime)), (21, "closed"));
}

#[tokio::test(start_paused = true)]
async fn sd_r05_half_open_admits_one_of_a_hundred() {
    let (_, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F S/400ms");
    let clock = Clock::start();
    calls(&guard, &script, 20).await;
    clock.at(secs(30)).await;
    let ended = together((0..100).map(|_| call(&guard, &script))).await;
    assert_eq!(
        tally(&ended).into_iter().collect::<Vec<_>>(),
        [("ok", 1), ("probes_busy", 99)]
    );
    assert_eq!(script.starts(), 21);
}

#[tokio::test(start_paused = true)]
async fn sd_r06_a_good_trial_closes_and_a_bad_one_starts_another_full_cooldown() {
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}breaker.cooldown_factor = 1.0"));
    let script = Script::new("20*H H S/400ms");
    let clock = Clock::start();
    together((0..20).map(|_| call(&guard, &script))).await;
    assert_eq!((clock.now(), state(&runtime)), (secs(3), "open"));
    clock.at(secs(33)).await;
    assert_eq!(call(&guard, &script).await, "timed_out");
    assert_eq!((clock.now(), state(&runtime)), (secs(36), "open"));
    clock.at(ms(65_999)).await;
    assert_eq!(call(&guard, &script).await, "open");
    clock.at(secs(66)).await;
    assert_eq!(call(&guard, &script).await, "ok");
    assert_eq!(
        (clock.now(), state(&runtime), script.starts()),
        (ms(66_400), "closed", 22)
    );
}

#[tokio::test(start_paused = true)]
async fn sd_r07_the_trial_has_the_ordinary_timeout_and_its_caller_alone_waits_for_it() {
    let (_, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*F H");
    calls(&guard, &script, 20).await;
    tokio::time::sleep(secs(30)).await;
    let clock = Clock::start();
    let (guard, script) = (&guard, &script);
    let waited = together((0..50).map(|_| async move { (call(guard, script).await, clock.now()) })).await;
    assert_eq!(waited[0], ("timed_out", secs(3)));
    assert!(
        waited[1..]
            .iter()
            .all(|other| *other == ("probes_busy", Duration::ZERO))
    );
}

#[tokio::test(start_paused = true)]
async fn sd_r08_timeouts_5xx_and_refused_connections_count_one_each() {
    let lines =
        "timeout = \"3s\"\nbreaker.window = \"100 calls\"\nbreaker.minimum_calls = 1\nbreaker.failure_rate = 1.0";
    let (runtime, guard) = guard(lines);
    let script = Script::new("4*S F C H T");
    calls(&guard, &script, 4).await;
    for failures in 1..=4_u32 {
        call(&guard, &script).await;
        let far = runtime.snapshot().dependencies["far"].clone();
        let expected = f64::from(failures) / f64::from(4 + failures);
        assert_eq!((far.calls, far.failure_rate), (4 + failures, Some(expected)));
    }
}

#[tokio::test(start_paused = true)]
async fn sd_r09_a_run_of_declined_cards_is_the_provider_at_work() {
    let (runtime, guard) = guard(&format!("{LAST_TWENTY}bulkhead.max_concurrent = 20"));
    let script = Script::new("B/400ms");
    let clock = Clock::start();
    let mut buyers = Vec::new();
    for number in 0..2_400 {
        clock.at(ms(25 * number)).await;
        let (guard, script) = (guard.clone(), script.clone());
        buyers.push(tokio::spawn(async move { call(&guard, &script).await }));
    }
    for buyer in buyers {
        assert_eq!(buyer.await.unwrap(), "business");
    }
    let far = runtime.snapshot().dependencies["far"].clone();
    assert_eq!(
        (far.state, far.failure_rate, far.cause),
        (Some("closed"), Some(0.0), None)
    );
    assert_eq!(script.starts(), 2_400);
    assert!(script.peak() <= 17, "{}", script.peak());
}

#[tokio::test(start_paused = true)]
async fn sd_r10_a_nested_refusal_is_no_call_for_the_outer_breaker() {
    let table =
        |name: &str| format!("[dependency.{name}]\nfail = \"closed\"\ntimeout = \"3s\"\n[dependency.{name}.breaker]\n");
    let runtime = Runtime::new(parse(&format!("version = 1\n{}{}", table("outer"), table("inner"))));
    runtime.scope(async { testing::trip("inner") }).await;
    let (outer, inner) = (runtime.guard("outer").unwrap(), runtime.guard("inner").unwrap());
    for _ in 0..100 {
        let result = outer.call(|| inner.call(|| async { Ok::<(), FarError>(()) })).await;
        let Err(Failure::Error(Failure::Rejected(rejection))) = result else {
            panic!("the inner one is open")
        };
        assert_eq!((rejection.dependency(), rejection.reason().as_str()), ("inner", "open"));
    }
    let outer = runtime.snapshot().dependencies["outer"].clone();
    assert_eq!((outer.state, outer.calls), (Some("closed"), 0));
}

#[tokio::test(start_paused = true)]
async fn sd_r11_one_list_of_failures_decides_what_is_counted_and_what_is_retried() {
    let lines = "timeout = \"3s\"\nbreaker.window = \"20 calls\"\nretry.max_attempts = 3\nretry.backoff = \"0s\"";
    for (failures, attempts, counted) in [("[\"server\"]", 3, 3), ("[\"timeout\"]", 1, 0)] {
        let (runtime, guard) = guard(&format!("failures = {failures}\n{lines}"));
        let script = Script::new("F");
        assert_eq!(call(&guard, &script).await, "server");
        assert_eq!((script.starts(), window(&runtime)), (attempts, counted), "{failures}");
    }
}

#[tokio::test(start_paused = true)]
async fn sd_r12_nineteen_failures_stay_closed_and_the_twentieth_opens() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("F");
    calls(&guard, &script, 19).await;
    assert_eq!(state(&runtime), "closed");
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn sd_r12_after_twenty_successes_the_tenth_failure_opens() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new("20*S F");
    calls(&guard, &script, 29).await;
    assert_eq!(state(&runtime), "closed");
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn sd_r13_a_window_of_calls_means_the_same_at_any_rate() {
    let mut opened_by = Vec::new();
    for gap in [ms(20), ms(9_091)] {
        let (runtime, guard) = guard(LAST_TWENTY);
        let script = Script::new("15*S F S F F S F F S S F F S F F F");
        let mut number = 0;
        while state(&runtime) == "closed" {
            call(&guard, &script).await;
            tokio::time::sleep(gap).await;
            number += 1;
        }
        opened_by.push(number);
    }
    assert_eq!(opened_by, [30, 30]);
}

#[tokio::test(start_paused = true)]
async fn sd_r14_five_failures_among_five_thousand_calls_open_nothing() {
    let (runtime, guard) = guard(LAST_TWENTY);
    let script = Script::new(&"999*S F ".repeat(5));
    let (_, events) = testing::record(calls(&guard, &script, 5_000)).await;
    assert_eq!((script.starts(), state(&runtime), events.len()), (5_000, "closed", 0));
}

#[tokio::test(start_paused = true)]
async fn sd_r39_two_instances_that_disagree_show_it() {
    let (one, two) = (runtime(LAST_TWENTY), runtime(LAST_TWENTY));
    let (dead, well) = (Script::new("F"), Script::new("S"));
    let guards = [one.guard("far").unwrap(), two.guard("far").unwrap()];
    calls(&guards[0], &dead, 20).await;
    let mut words = Vec::new();
    for _ in 0..500 {
        words.push(call(&guards[0], &dead).await);
        words.push(call(&guards[1], &well).await);
    }
    assert_eq!(
        tally(&words).into_iter().collect::<Vec<_>>(),
        [("ok", 500), ("open", 500)]
    );
    assert_eq!((state(&one), state(&two)), ("open", "closed"));
}

#[tokio::test(start_paused = true)]
async fn sd_r36_each_change_of_state_is_one_event_with_all_that_was_known() {
    let runtime = Runtime::new(parse(&format!(
        "version = 1\n[runtime]\ninstance = \"api-01\"\n[dependency.far]\nfail = \"closed\"\n{LAST_TWENTY}"
    )));
    let guard = runtime.guard("far").unwrap();
    let script = Script::new("H");
    let clock = Clock::start();
    let ((), events) = testing::record(async {
        together((0..20).map(|_| call(&guard, &script))).await;
        clock.at(secs(33)).await;
        call(&guard, &script).await;
    })
    .await;
    let changes: Vec<_> = events
        .iter()
        .filter(|event| event.name() == "breaker.transition")
        .collect();
    let fields = [
        "dependency",
        "instance",
        "from",
        "to",
        "cause",
        "calls",
        "failure_rate",
        "cooldown_ms",
    ];
    let said: Vec<_> = changes
        .iter()
        .map(|event| fields.map(|field| event.field(field).unwrap_or("-")))
        .collect();
    assert_eq!(
        said,
        [
            ["far", "api-01", "closed", "open", "failure_rate", "20", "1", "30000"],
            ["far", "api-01", "open", "half_open", "cooldown_over", "20", "1", "-"],
            [
                "far",
                "api-01",
                "half_open",
                "open",
                "probe_timed_out",
                "20",
                "1",
                "60000"
            ],
        ]
    );
    assert_eq!(clock.now(), secs(36));
}
