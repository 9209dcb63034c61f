//! A service that validates addresses: what a client got wrong is no sign of an outage, and slowness is one.

use std::time::Duration;

use reqwest::StatusCode;
use resilience_runtime::{Classify, FailureKind, Outcome, Runtime};
use tokio::task::JoinSet;

use crate::kit::{Clock, FarError, Script, calls, guard, ms, secs, window};

#[test]
fn ad_r02_every_4xx_is_an_answer_but_the_two_that_are_not() {
    for code in 400..500 {
        let status = StatusCode::from_u16(code).unwrap();
        let expected = match code {
            408 => Outcome::Failure(FailureKind::Timeout),
            429 => Outcome::Throttled { retry_after: None },
            _ => Outcome::Business,
        };
        assert_eq!(status.classify(), expected, "{code}");
    }
}

/// The service's answer, under a class of the test's choosing.
#[derive(Debug)]
struct Answered {
    status: StatusCode,
    everything_counts: bool,
}

impl Classify for Answered {
    fn classify(&self) -> Outcome {
        if self.everything_counts {
            Outcome::Failure(FailureKind::Server)
        } else {
            self.status.classify()
        }
    }
}

/// Five minutes of ten calls a second; from the sixtieth second, for a minute, three in five carry a postcode that one
/// partner got wrong. When it opened first, how often, and how many calls were refused.
async fn five_minutes(everything_counts: bool) -> (Option<Duration>, usize, usize) {
    let (runtime, guard) = guard(TEN_SECONDS);
    let clock = Clock::start();
    let mut running = JoinSet::new();
    let mut first = None;
    for number in 0..3_000_u64 {
        clock.at(ms(number * 100)).await;
        if first.is_none() && openings(&runtime) > 0 {
            first = Some(clock.now());
        }
        let malformed = (600..1_200).contains(&number) && number % 5 < 3;
        let guard = guard.clone();
        running.spawn(async move {
            let body = async move {
                tokio::time::sleep(ms(200)).await;
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let answer = Answered {
                    status,
                    everything_counts,
                };
                if malformed { Err(answer) } else { Ok(()) }
            };
            guard
                .call_once(body)
                .await
                .is_err_and(|error| error.rejection().is_some())
        });
    }
    let refused = running.join_all().await.into_iter().filter(|refused| *refused).count();
    (first, openings(&runtime), refused)
}

const TEN_SECONDS: &str = r#"
timeout = "20s"
breaker.window = "10s"
breaker.minimum_calls = 20
breaker.failure_rate = 0.5
breaker.slow_after = "1s"
breaker.slow_rate = 0.6
breaker.cooldown = "10s"
breaker.cooldown_factor = 1.0
breaker.cooldown_jitter = 0.0
"#;

/// From half-open too.
fn openings(runtime: &Runtime) -> usize {
    let snapshot = runtime.snapshot();
    let changes = &snapshot.dependency("far").unwrap().transitions;
    changes.iter().filter(|change| change.to == "open").count()
}

#[tokio::test(start_paused = true)]
async fn ad_r01_one_partners_malformed_postcodes_open_nothing_although_counting_them_would() {
    assert_eq!(five_minutes(false).await, (None, 0, 0));
    let (first, openings, refused) = five_minutes(true).await;
    let first = first.unwrap();
    assert!((ms(67_500)..=ms(69_600)).contains(&first), "{first:?}");
    assert!((4..=6).contains(&openings), "{openings}");
    assert!((477..=527).contains(&refused), "{refused}");
}

/// Ten calls a second that all succeed, and from the sixtieth second need nine seconds each: when it opened, and why.
async fn nine_seconds_each(policy: &str) -> Option<(Duration, &'static str)> {
    let (runtime, guard) = guard(policy);
    let clock = Clock::start();
    let mut running = JoinSet::new();
    for number in 0..900_u64 {
        clock.at(ms(number * 100)).await;
        if openings(&runtime) > 0 {
            return Some((
                clock.now(),
                runtime.snapshot().dependency("far").unwrap().cause.unwrap(),
            ));
        }
        let takes = if number < 600 { ms(200) } else { secs(9) };
        let guard = guard.clone();
        running.spawn(async move {
            let body = async move {
                tokio::time::sleep(takes).await;
                Ok::<(), FarError>(())
            };
            guard.call_once(body).await.is_ok()
        });
    }
    None
}

#[tokio::test(start_paused = true)]
async fn ad_r03_answers_of_nine_seconds_open_by_the_slow_rate_and_never_without_one() {
    let (opened, cause) = nine_seconds_each(TEN_SECONDS).await.unwrap();
    assert!((ms(69_900)..=ms(71_900)).contains(&opened), "{opened:?}");
    assert_eq!(cause, "slow_rate");
    let without = TEN_SECONDS.replace("breaker.slow_after = \"1s\"\nbreaker.slow_rate = 0.6\n", "");
    assert_eq!(nine_seconds_each(&without).await, None);
}

#[tokio::test(start_paused = true)]
async fn ad_r05_a_crowd_of_client_errors_neither_hides_failures_nor_makes_any() {
    let (runtime, guard) = guard("timeout = \"1s\"\nbreaker.window = \"100 calls\"\nbreaker.failure_rate = 0.5");
    calls(&guard, &Script::new("60*B 40*F"), 100).await;
    let snapshot = runtime.snapshot();
    let far = snapshot.dependency("far").unwrap();
    assert_eq!((far.state, window(&runtime)), (Some("closed"), 100));
    let rate = far.failure_rate.unwrap();
    assert!(
        (rate - 0.4).abs() < 1e-9,
        "forty of a hundred: the answers are in the total, {rate}"
    );
    // They hide nothing: from four in ten on, this policy opens.
    let (runtime, guard) = self::guard("timeout = \"1s\"\nbreaker.window = \"100 calls\"\nbreaker.failure_rate = 0.4");
    calls(&guard, &Script::new("60*B 40*F"), 100).await;
    assert_eq!(runtime.snapshot().dependency("far").unwrap().state, Some("open"));
}
