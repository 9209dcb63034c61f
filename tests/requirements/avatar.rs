//! The avatar service, tick by tick: a window of four, three failures to open, a wait of two ticks.

use resilience_runtime::{Guard, Runtime};

use crate::kit::{Clock, Script, call, calls, guard, ms, secs, state};

/// A tick is a second; a time-out takes 100 ms of it, so that the wait ends two ticks after the tick that opened.
const AVATAR: &str = r#"
timeout = "100ms"
breaker.window = "4 calls"
breaker.minimum_calls = 4
breaker.failure_rate = 0.75
breaker.cooldown = "1900ms"
breaker.cooldown_factor = 1.0
breaker.cooldown_jitter = 0.0
"#;

/// State after each tick, and how its call ended; bodies hang at the ticks named.
async fn ticks(
    runtime: &Runtime,
    guard: &Guard,
    count: u64,
    failures: &[u64],
) -> (Vec<(&'static str, &'static str)>, usize) {
    let (well, dead) = (Script::new("S"), Script::new("H"));
    let clock = Clock::start();
    let mut rows = Vec::new();
    for tick in 1..=count {
        clock.at(secs(tick)).await;
        let ended = call(guard, if failures.contains(&tick) { &dead } else { &well }).await;
        rows.push((state(runtime), ended));
    }
    (rows, well.starts() + dead.starts())
}

#[tokio::test(start_paused = true)]
async fn av_r01_av_r02_av_r03_timeouts_at_2_3_4_and_8_open_once_and_one_trial_closes() {
    let (runtime, guard) = guard(AVATAR);
    let (rows, made) = ticks(&runtime, &guard, 9, &[2, 3, 4, 8]).await;
    assert_eq!(
        rows,
        [
            ("closed", "ok"),
            ("closed", "timed_out"),
            ("closed", "timed_out"),
            ("open", "timed_out"),
            ("open", "open"),
            ("closed", "ok"),
            ("closed", "ok"),
            ("closed", "timed_out"),
            ("closed", "ok"),
        ]
    );
    assert_eq!(made, 8);
}

#[tokio::test(start_paused = true)]
async fn av_r04_timeouts_at_2_5_and_8_open_nothing() {
    let (runtime, guard) = guard(AVATAR);
    let (rows, made) = ticks(&runtime, &guard, 9, &[2, 5, 8]).await;
    for (row, tick) in rows.iter().zip(1..) {
        assert_eq!(
            *row,
            ("closed", if [2, 5, 8].contains(&tick) { "timed_out" } else { "ok" }),
            "tick {tick}"
        );
    }
    assert_eq!(made, 9);
}

#[tokio::test(start_paused = true)]
async fn av_r06_a_failed_trial_reopens_for_the_full_wait() {
    let (runtime, guard) = guard(AVATAR);
    let (rows, made) = ticks(&runtime, &guard, 10, &[2, 3, 4, 6, 8]).await;
    assert_eq!(
        rows,
        [
            ("closed", "ok"),
            ("closed", "timed_out"),
            ("closed", "timed_out"),
            ("open", "timed_out"),
            ("open", "open"),
            ("open", "timed_out"),
            ("open", "open"),
            ("open", "timed_out"),
            ("open", "open"),
            ("closed", "ok"),
        ]
    );
    assert_eq!(made, 7);
}

#[tokio::test(start_paused = true)]
async fn av_r07_a_success_that_completes_the_minimum_opens() {
    let (runtime, guard) = guard(AVATAR);
    let script = Script::new("F F F S");
    assert_eq!(calls(&guard, &script, 3).await, ["server"; 3]);
    assert_eq!(state(&runtime), "closed");
    assert_eq!(call(&guard, &script).await, "ok");
    assert_eq!(state(&runtime), "open");
}

#[tokio::test(start_paused = true)]
async fn av_r08_three_of_the_last_four_is_a_rate_of_three_quarters() {
    let (runtime, guard) = guard(AVATAR);
    let script = Script::new("20*S F S F F");
    calls(&guard, &script, 22).await;
    assert_eq!(state(&runtime), "closed");
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "closed", "two of four");
    calls(&guard, &script, 1).await;
    assert_eq!(state(&runtime), "open", "three of four");
    tokio::time::sleep(ms(1_900)).await;
    assert_eq!(state(&runtime), "half_open");
}
