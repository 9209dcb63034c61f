//! What each number of a breaker does.

use std::time::Duration;

use resilience_runtime::Failure;
use resilience_runtime::testing::record;

use crate::kit::{Gate, Script};
use crate::stand::{Stand, transitions, words};

fn breaker(keys: &str) -> Stand {
    Stand::new(&format!(
        "timeout = \"60s\"\nbreaker = {{ cooldown_jitter = 0.0, {keys} }}"
    ))
}

/// What a rejected call is told.
async fn told(far: &Stand) -> Option<Duration> {
    match far.guard.call_once(async { Ok::<_, std::io::Error>(()) }).await {
        Err(Failure::Rejected(rejection)) => rejection.retry_after(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn failed_and_slow_ones_together_are_bad() {
    let far = breaker(r#"window = "4 calls", failure_rate = 0.75, slow_after = "1s", bad_rate = 0.75"#);
    assert_eq!(far.each("F S/2s S F S").await, words("server 2*ok server open"));
    assert_eq!(far.read().cause, Some("bad_rate"));
    // One that is both counts once.
    let far = breaker(r#"window = "4 calls", failure_rate = false, slow_after = "1s", bad_rate = 0.75"#);
    assert_eq!(far.each("F/2s F/2s S S").await, words("2*server 2*ok"));
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cut_is_slow_too() {
    let far = Stand::new(
        r#"
        timeout = "2s"
        breaker.window = "2 calls"
        breaker.failure_rate = false
        breaker.slow_after = "1s"
        breaker.slow_rate = 1.0
        "#,
    );
    assert_eq!(far.each("H H S").await, words("2*timed_out open"));
    assert_eq!(far.read().cause, Some("slow_rate"));
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_grows_up_to_its_cap() {
    let far = breaker(r#"window = "9 calls", cooldown = "10s", cooldown_factor = 2.0, cooldown_max = "35s""#);
    far.trip().await;
    for cooldown in [10, 20, 35, 35] {
        assert_eq!(told(&far).await, Some(Duration::from_secs(cooldown)));
        far.clock.at(far.clock.now() + Duration::from_secs(cooldown)).await;
        assert_eq!(far.one("F").await, "server");
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_spreads_each_cooldown_around_its_length() {
    let far =
        Stand::new("timeout = \"1s\"\nbreaker = { window = \"9 calls\", cooldown = \"100s\", cooldown_jitter = 0.1 }");
    let mut drawn = Vec::new();
    for _ in 0..200 {
        far.trip().await;
        drawn.push(told(&far).await.unwrap());
        far.reset().await;
    }
    drawn.sort();
    assert!(drawn[0] >= Duration::from_secs(90) && drawn[0] < Duration::from_secs(93));
    assert!(drawn[199] <= Duration::from_secs(110) && drawn[199] > Duration::from_secs(107));
}

#[tokio::test(start_paused = true)]
async fn a_ramp_is_not_bound_by_probes_and_tells_the_others_a_second() {
    let far = breaker(r#"window = "9 calls", cooldown = "1s", probes = 2, ramp = [0.5]"#);
    far.trip().await;
    far.at_ms(1_000).await;
    assert_eq!(far.each("S S").await, words("2*ok"));
    assert_eq!(far.state(), "half_open");
    let gate = Gate::new("I");
    let tasks = far.begin(&gate, 7).await;
    assert_eq!(gate.running(), 4, "the first, the third, the fifth and the seventh");
    assert_eq!(told(&far).await, Some(Duration::from_secs(1)));
    gate.open(4);
    for task in tasks {
        assert!(["ignored", "probes_busy"].contains(&task.await.unwrap()));
    }
    assert_eq!(far.state(), "half_open", "what does not count does not close");
}

#[tokio::test(start_paused = true)]
async fn a_failure_at_any_step_of_the_ramp_opens_for_longer() {
    let far = breaker(r#"window = "9 calls", cooldown = "1s", cooldown_factor = 2.0, ramp = [0.5, 1.0]"#);
    far.trip().await;
    far.at_ms(1_000).await;
    let (results, events) = record(far.each("S S F")).await;
    assert_eq!(results, words("2*ok server"));
    assert_eq!(
        transitions(&events),
        ["open>half_open cooldown_over", "half_open>open probe_failed"]
    );
    assert_eq!(told(&far).await, Some(Duration::from_secs(2)));
}

#[tokio::test(start_paused = true)]
async fn a_sample_that_fails_changes_nothing_either() {
    let far = breaker(r#"window = "9 calls", cooldown = "30s", sample_every = "10s""#);
    far.trip().await;
    far.at_ms(10_000).await;
    let (results, events) = record(far.each("F S")).await;
    assert_eq!(results, words("server open"));
    assert!(transitions(&events).is_empty());
    far.at_ms(30_000).await;
    assert_eq!(far.state(), "half_open");
}

#[tokio::test(start_paused = true)]
async fn chaos_acts_only_where_the_runtime_says_so_and_counts_as_failures() {
    let lines = r#"
        fail = "closed"
        timeout = "1s"
        breaker = { window = "2 calls" }
        chaos.failure = 1.0
        chaos.latency = "1ms"
        chaos.latency_share = 0.0
        "#;
    // A call under a deadline looks at everything on its way.
    for (chaos, more, starts, state) in [
        (false, "", 2, "closed"),
        (false, "deadline = \"9s\"", 2, "closed"),
        (true, "", 0, "open"),
        (true, "deadline = \"9s\"", 0, "open"),
        (true, "mode = \"observe\"", 2, "closed"),
    ] {
        let text = format!("version = 1\n[runtime]\nchaos = {chaos}\n[dependency.far]\n{more}\n{lines}");
        let runtime = resilience_runtime::Runtime::new(crate::kit::parse(&text));
        let body = Script::new("S");
        crate::kit::calls(&runtime.guard("far").unwrap(), &body, 2).await;
        assert_eq!(
            (body.starts(), crate::kit::state(&runtime)),
            (starts, state),
            "{chaos} {more}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn chaos_latency_is_a_part_of_the_attempts_time() {
    let text = r#"
        version = 1
        [runtime]
        chaos = true
        [dependency.far]
        fail = "closed"
        timeout = "100ms"
        chaos.failure = 0.0
        chaos.latency = "60ms"
        chaos.latency_share = 1.0
        "#;
    let guard = resilience_runtime::Runtime::new(crate::kit::parse(text))
        .guard("far")
        .unwrap();
    let clock = crate::kit::Clock::start();
    let body = Script::new("S/30ms S/50ms");
    assert_eq!(crate::kit::calls(&guard, &body, 2).await, words("ok timed_out"));
    assert_eq!(clock.now().as_millis(), 190);
}
