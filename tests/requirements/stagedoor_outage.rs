//! Stagedoor's outage as a whole: every layer at once, under the load of an on-sale, to the second.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use resilience_runtime::{Failure, testing};

use crate::kit::{Clock, FarError, Script, calls, guard, ms, secs, seen};

/// Twenty slots with a second to wait for one, three attempts without a pause, and the breaker of the last twenty.
const FULL: &str = r#"
timeout = "3s"
breaker.window = "20 calls"
breaker.cooldown = "30s"
breaker.cooldown_factor = 1.0
breaker.cooldown_jitter = 0.0
bulkhead.max_concurrent = 20
bulkhead.max_waiting = 1000000
bulkhead.max_wait = "1s"
bulkhead.retry_after = "5s"
retry.max_attempts = 3
retry.backoff = "0s"
retry.budget_floor = 10000.0
"#;

#[derive(Default)]
struct Counts {
    reached: AtomicUsize,
    running: AtomicUsize,
    peak_running: AtomicUsize,
    tasks: AtomicUsize,
    peak_tasks: AtomicUsize,
}

struct Ended {
    at: Duration,
    word: &'static str,
    /// Whole seconds, as a header would say them.
    told: Option<u64>,
}

struct Story {
    counts: Arc<Counts>,
    /// In order of their end.
    ended: Vec<Ended>,
    /// When each state was first seen, in milliseconds.
    states: Vec<(u64, &'static str)>,
}

/// So many calls a second from 0 on, to a dependency that hangs until `well_from` and then answers in 400 ms.
async fn outage(warm: usize, rate: u64, horizon: Duration, well_from: Duration) -> Story {
    let (runtime, guard) = guard(FULL);
    calls(&guard, &Script::new("S"), warm).await;
    let counts = Arc::new(Counts::default());
    let clock = Clock::start();
    let mut tasks = Vec::new();
    let mut states = vec![(0, "closed")];
    let mut number = 0;
    let step = usize::try_from((1_000 / rate).max(1)).unwrap();
    for at in (0..u64::try_from(horizon.as_millis()).unwrap()).step_by(step) {
        clock.at(ms(at)).await;
        while number * 1_000 / rate <= at {
            let (guard, counts) = (guard.clone(), Arc::clone(&counts));
            number += 1;
            tasks.push(tokio::spawn(async move {
                up(&counts.tasks, &counts.peak_tasks);
                let result = guard.call(|| body(&counts, clock, well_from)).await;
                counts.tasks.fetch_sub(1, Ordering::Relaxed);
                let told = match &result {
                    Err(Failure::Rejected(rejection)) => rejection.retry_after(),
                    _ => None,
                };
                let told = told.map(|told| u64::try_from(told.as_nanos().div_ceil(1_000_000_000)).unwrap());
                Ended {
                    at: clock.now(),
                    word: seen(&result),
                    told,
                }
            }));
        }
        tokio::task::yield_now().await;
        let state = runtime.scope(async { testing::state("far") }).await.as_str();
        if states.last().unwrap().1 != state {
            states.push((at, state));
        }
    }
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    ended.sort_by_key(|ended| ended.at);
    Story { counts, ended, states }
}

async fn body(counts: &Counts, clock: Clock, well_from: Duration) -> Result<(), FarError> {
    struct Leaving<'c>(&'c AtomicUsize);
    impl Drop for Leaving<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    counts.reached.fetch_add(1, Ordering::Relaxed);
    up(&counts.running, &counts.peak_running);
    let _leaving = Leaving(&counts.running);
    if clock.now() < well_from {
        std::future::pending().await
    } else {
        tokio::time::sleep(ms(400)).await;
        Ok(())
    }
}

fn up(count: &AtomicUsize, peak: &AtomicUsize) {
    peak.fetch_max(count.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
}

fn near(moment: u64, expected: u64, tolerance: u64) -> bool {
    moment.abs_diff(expected) <= tolerance
}

#[tokio::test(start_paused = true)]
async fn sd_r22_sd_r06_at_the_peak_of_an_on_sale_a_dead_payrail_is_called_forty_times_and_no_more() {
    let story = outage(0, 1_500, secs(41), secs(9_999)).await;
    assert!(
        (38..=42).contains(&story.counts.reached.load(Ordering::Relaxed)),
        "{:?}",
        story.counts.reached
    );
    assert_eq!(story.counts.peak_running.load(Ordering::Relaxed), 20);
    let peak = story.counts.peak_tasks.load(Ordering::Relaxed);
    assert!(
        (1_517..=1_523).contains(&peak),
        "twenty with a slot and a second's arrivals without: {peak}"
    );
    let words: Vec<_> = story.states.iter().map(|(_, state)| *state).collect();
    assert_eq!(words, ["closed", "open", "half_open", "open"]);
    for ((at, _), expected) in story.states[1..].iter().zip([3_013, 33_013, 36_013]) {
        assert!(near(*at, expected, 50), "{:?}", story.states);
    }
    let first = story.ended.iter().find(|ended| ended.word != "ok").unwrap();
    assert_eq!((first.word, first.told), ("wait_timed_out", Some(5)));
    assert!(
        near(u64::try_from(first.at.as_millis()).unwrap(), 1_013, 30),
        "{:?}",
        first.at
    );
    let told = |from: u64| story.ended.iter().find(|ended| ended.at >= ms(from)).unwrap().told;
    let said = [1_500, 3_500, 9_000, 20_000, 40_000].map(told);
    assert_eq!(said, [Some(5), Some(30), Some(25), Some(14), Some(27)]);
}

#[tokio::test(start_paused = true)]
async fn sd_r06_back_at_forty_seconds_and_believed_dead_until_the_trial_of_the_sixty_seventh() {
    let story = outage(20, 50, secs(90), secs(40)).await;
    let (last, before) = (
        story.states[story.states.len() - 1],
        story.states[story.states.len() - 3],
    );
    assert!(before.1 == "open" && near(before.0, 36_180, 100), "{:?}", story.states);
    assert!(last.1 == "closed" && near(last.0, 66_580, 100), "{:?}", story.states);
    let served = story
        .ended
        .iter()
        .filter(|ended| ended.word == "ok" && ended.at <= secs(90))
        .count();
    assert!((1_141..=1_165).contains(&served), "{served}");
    let told = story.ended.iter().find(|ended| ended.at >= secs(50)).unwrap();
    assert_eq!((told.word, told.told), ("open", Some(17)));
}

#[tokio::test(start_paused = true)]
async fn sd_r12_after_twenty_good_calls_ten_time_outs_open_and_thirty_reach_a_dead_payrail() {
    let story = outage(20, 1_500, secs(8), secs(9_999)).await;
    let reached = story.counts.reached.load(Ordering::Relaxed);
    assert!(
        (27..=31).contains(&reached),
        "and one more for the trial, half a minute later: {reached}"
    );
    assert!(
        story.states[1].1 == "open" && near(story.states[1].0, 3_006, 50),
        "{:?}",
        story.states
    );
}
