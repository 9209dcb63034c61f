//! Numbers that have to agree with each other, whatever happens.

use std::collections::VecDeque;

use proptest::prelude::*;
use resilience_runtime::testing::record;

use crate::kit::{Gate, Script, settle, tally};
use crate::stand::{Stand, rejections, words};

fn alone<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

#[tokio::test(start_paused = true)]
async fn met_01_everything_stands_at_zero_from_the_start() {
    let far = Stand::new(
        r#"
        timeout = "1s"
        bulkhead = { max_concurrent = 5, max_waiting = 3, max_wait = "1s" }
        retry = { budget_floor = 2.0 }
        breaker = { window = "9 calls" }
        "#,
    );
    let read = far.read();
    assert_eq!(
        (read.state, read.mode, read.cause, read.calls),
        (Some("closed"), "enforce", None, 0)
    );
    assert_eq!(
        (read.failure_rate, read.slow_rate, read.retry_after),
        (None, None, None)
    );
    assert_eq!(
        (read.in_flight, read.limit, read.waiting, read.max_waiting),
        (0, Some(5), 0, Some(3))
    );
    assert!((read.retry_budget.unwrap() - 20.0).abs() < 1e-9);
    let kinds: Vec<_> = read.fallbacks.iter().map(|(kind, count)| (*kind, *count)).collect();
    assert_eq!(
        kinds,
        [
            ("none", 0),
            ("path", 0),
            ("refuse", 0),
            ("stale", 0),
            ("value", 0),
            ("with", 0)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_has_the_same_keys_whatever_the_tables() {
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    for lines in [
        "",
        "timeout = \"1s\"\nbulkhead.max_concurrent = 5\nbreaker = {}\nretry = {}",
    ] {
        let json = serde_json::to_value(Stand::new(lines).runtime.snapshot()).unwrap();
        assert_eq!(keys(&json), "dependencies instance policy requests");
        assert_eq!(
            keys(&json["policy"]),
            "file hash loaded_at refusal reloaded_at reloads stale"
        );
        assert_eq!(
            keys(&json["dependencies"]["far"]),
            "about agreed attempts bad_rate calls cause degraded_ratio fail failure_rate fallbacks flapping functions in_flight limit \
             max_waiting minimum_calls mode never_ran next_probe_in numbers open_for opened openings outcomes override \
             probes rejections retries retry_after retry_budget served since slow_rate state transitions uncounted untried \
             waiting window"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_transition_is_told_with_the_numbers_it_was_made_on() {
    let far = Stand::new(
        r#"
        timeout = "9s"
        breaker.window = "4 calls"
        breaker.slow_after = "1s"
        breaker.slow_rate = 1.0
        breaker.cooldown = "2500ms"
        breaker.cooldown_jitter = 0.0
        "#,
    );
    let (_, events) = record(far.each("S F S/2s F")).await;
    let told = |name| events[0].field(name);
    assert_eq!(
        (events.len(), told("dependency"), told("calls")),
        (1, Some("far"), Some("4"))
    );
    assert_eq!(
        (told("failure_rate"), told("slow_rate"), told("cooldown_ms")),
        (Some("0.5"), Some("0.25"), Some("2500"))
    );
    assert_eq!(told("instance"), Some(far.runtime.snapshot().instance.as_str()));
}

#[tokio::test(start_paused = true)]
async fn met_03_results_and_openings_add_up() {
    let far = Stand::new(
        r#"
        timeout = "9s"
        breaker.window = "2 calls"
        breaker.minimum_calls = 1
        breaker.failure_rate = 1.0
        breaker.consecutive_failures = 2
        breaker.cooldown = "1s"
        breaker.cooldown_jitter = 0.0
        breaker.probe_successes = 2
        breaker.probes = 1
        "#,
    );
    let ((), events) = record(async {
        // One failure is all of one.
        assert_eq!(far.each("S F").await, words("ok server"));
        assert_eq!((far.window(), far.failed_and_slow().0, far.state()), (2, 1, "closed"));
        assert_eq!(far.each("F S").await, words("server open"));
        assert_eq!((far.window(), far.failed_and_slow().0), (2, 2));
        far.at_ms(1_500).await;
        assert_eq!(far.each("S S").await, words("2*ok"));
        assert_eq!((far.window(), far.state()), (0, "closed"));
        assert_eq!(far.each("N I").await, words("business ignored"));
        assert_eq!((far.window(), far.failed_and_slow().0), (1, 0));
    })
    .await;
    assert_eq!(
        (rejections(&events), crate::stand::transitions(&events).len()),
        (words("open"), 3)
    );
}

#[tokio::test(start_paused = true)]
async fn met_07_and_08_slots_and_waiters_are_counted_while_they_are_there() {
    let far = Stand::new("bulkhead = { max_concurrent = 2, max_waiting = 2, max_wait = \"1h\" }");
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 4).await;
    let (result, events) = record(far.one("S")).await;
    assert_eq!((result, rejections(&events)), ("bulkhead_full", words("bulkhead_full")));
    far.at_ms(1_000).await;
    assert_eq!(far.slots(), (2, 2));
    tasks.pop().unwrap().abort();
    settle().await;
    assert_eq!(far.slots(), (2, 1));
    gate.open(3);
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
    assert_eq!(far.slots(), (0, 0));
}

proptest! {
    // Without a file of past failures: a seed that fails becomes a test of its own.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) })]

    #[test]
    fn met_11_the_window_is_a_recount_of_the_last_five(
        steps in prop::collection::vec((any::<bool>(), any::<bool>()), 1..200),
    ) {
        alone(async {
            let far = Stand::new(
                r#"
                timeout = "9s"
                breaker.window = "5 calls"
                breaker.minimum_calls = 1
                breaker.failure_rate = false
                breaker.slow_after = "100ms"
                breaker.slow_rate = 1.0
                breaker.bad_rate = 1.0
                "#,
            );
            let mut last = VecDeque::new();
            for (failed, slow) in steps {
                let step = format!("{}/{}ms", if failed { "F" } else { "S" }, if slow { 101 } else { 99 });
                if far.one(&step).await == "open" {
                    // All five were slow or bad, and only then.
                    let all = last.iter().all(|(failed, slow)| *failed || *slow);
                    assert!(all && !last.is_empty());
                    return;
                }
                last.push_back((failed, slow));
                if last.len() > 5 {
                    last.pop_front();
                }
                let count = |is: fn(&(bool, bool)) -> bool| {
                    u32::try_from(last.iter().filter(|one| is(one)).count()).unwrap()
                };
                assert_eq!(far.window() as usize, last.len());
                assert_eq!(far.failed_and_slow(), (count(|one| one.0), count(|one| one.1)));
            }
        });
    }

    #[test]
    fn met_11_the_same_of_bodies_that_are_over_at_once(
        steps in prop::collection::vec(prop::sample::select(vec!["S", "S", "S", "S", "S", "F", "B", "I"]), 1..400),
        window in 1_usize..12,
    ) {
        alone(async {
            let far = Stand::new(&format!(
                "timeout = \"9s\"\nbreaker = {{ window = \"{window} calls\", minimum_calls = 1, failure_rate = false }}"
            ));
            let mut last = VecDeque::new();
            for step in steps {
                far.one(step).await;
                if step == "I" {
                    continue;
                }
                last.push_back(step);
                if last.len() > window {
                    last.pop_front();
                }
                let failed = last.iter().filter(|step| **step == "F").count();
                assert_eq!((far.window() as usize, far.failed_and_slow().0 as usize), (last.len(), failed));
            }
        });
    }

    #[test]
    fn a_window_of_time_holds_what_is_younger_and_nothing_that_is_older(
        steps in prop::collection::vec((prop::sample::select(vec!["S", "S", "S", "F"]), 0_u64..3_000), 1..100),
    ) {
        alone(async {
            let lines = "timeout = \"9s\"\nbreaker = { window = \"10s\", minimum_calls = 1, failure_rate = false }";
            let far = Stand::new(lines);
            let mut all = Vec::new();
            let mut now = 0;
            for (step, pause) in steps {
                now += pause;
                far.at_ms(now).await;
                far.one(step).await;
                all.push((now, step));
                let younger = |age: u64, step: &str| {
                    let counted = all.iter().filter(|(at, said)| now - at < age && said.contains(step)).count();
                    u32::try_from(counted).unwrap()
                };
                // A tenth of the window is the most by which a result may leave early.
                assert!((younger(9_000, "")..=younger(10_000, "")).contains(&far.window()));
                let failed = far.failed_and_slow().0;
                assert!((younger(9_000, "F")..=younger(10_000, "F")).contains(&failed), "{failed} at {now} ms");
            }
        });
    }

    #[test]
    fn met_12_at_rest_everything_is_back_and_every_call_has_one_end(seed in any::<u64>()) {
        alone(async move {
            let far = Stand::new(
                r#"
                timeout = "50ms"
                deadline = "200ms"
                throttle = "dependency"
                max_hold = "30ms"
                bulkhead = { max_concurrent = 3, max_waiting = 3, max_wait = "40ms" }
                retry = { max_attempts = 3, backoff = "5ms", budget = 1.0 }
                breaker.window = "10 calls"
                breaker.minimum_calls = 5
                breaker.cooldown = "20ms"
                breaker.probes = 2
                breaker.slow_after = "45ms"
                breaker.bad_rate = 0.8
                breaker.ramp = [0.5]
                "#,
            );
            let mut random = fastrand::Rng::with_seed(seed);
            let steps = ["S", "S/5ms", "F", "F/20ms", "B", "I", "Q", "Q10ms", "H", "P", "P/3ms", "S/48ms"];
            let (mut tasks, mut bodies) = (Vec::new(), Vec::new());
            for call in 0..300 {
                let script: Vec<_> = (0..3).map(|_| steps[random.usize(..steps.len())]).collect();
                let body = Script::new(&script.join(" "));
                let (guard, mine) = (far.guard.clone(), body.clone());
                tasks.push(tokio::spawn(async move { crate::kit::call(&guard, &mine).await }));
                bodies.push(body);
                if random.u8(..4) == 0 {
                    tasks[random.usize(..=call)].abort();
                }
                if random.bool() {
                    tokio::time::sleep(crate::kit::ms(random.u64(..8))).await;
                }
            }
            let (mut results, mut others) = (Vec::new(), 0);
            for task in tasks {
                match task.await {
                    Ok(result) => results.push(result),
                    Err(end) => {
                        assert!(end.is_panic() || end.is_cancelled());
                        others += 1;
                    }
                }
            }
            settle().await;
            assert_eq!(results.len() + others, 300, "{:?}", tally(&results));
            assert_eq!(far.slots(), (0, 0));
            for body in bodies {
                assert_eq!((body.running(), body.starts()), (0, body.ends()));
            }
            // Nothing is stuck: after the longest cooldown it closes. The first of the good results may still be what
            // brings a window of failures to its minimum.
            for _ in 0..2 {
                far.clock.at(far.clock.now() + crate::kit::secs(400)).await;
                far.each("20*S").await;
            }
            assert_eq!(far.state(), "closed", "{:?}", far.read());
            assert_eq!(far.one("S").await, "ok");
        });
    }
}
