//! What a refused caller gets instead, by attribute.

use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::{
    Failure, Freshness, Reason, Rejection, Runtime, Served, State, breaker, bulkhead, fallback, testing,
};

use crate::kit::{Clock, FarError, Gate, Script, ms, parse, poll_once, secs, settle, tally, together};

const SEATMAP: &str = r#"
version = 1
[dependency.seatmap]
fail = "open"
timeout = "100ms"
breaker.window = "4 calls"
breaker.minimum_calls = 4
breaker.failure_rate = 0.75
breaker.cooldown = "1900ms"
breaker.cooldown_factor = 1.0
breaker.cooldown_jitter = 0.0
bulkhead.max_concurrent = 100
fallback.max_concurrent = 10
fallback.max_stale = "300s"
"#;

fn seatmap() -> Runtime {
    Runtime::new(parse(SEATMAP))
}

/// An order, as it stands while its payment is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Order {
    pending: bool,
    holds: Vec<u32>,
}

#[allow(clippy::needless_pass_by_value)] // `refuse` hands the rejection over
fn no_payment(rejection: Rejection) -> FarError {
    FarError::Rejected(match rejection.reason() {
        Reason::TimedOut | Reason::DeadlineExceeded => "504",
        Reason::BulkheadFull => "429",
        _ => "503",
    })
}

#[breaker("payrail")]
#[bulkhead]
#[fallback(refuse = no_payment)]
async fn charge(order: &mut Order, script: &Script) -> Result<usize, FarError> {
    let answer = script.run().await?;
    order.pending = false;
    order.holds.clear();
    Ok(answer)
}

fn payrail() -> Runtime {
    Runtime::new(parse(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\nbreaker.cooldown_jitter = 0.0\n\
         bulkhead.max_concurrent = 1\n",
    ))
}

#[tokio::test(start_paused = true)]
async fn sd_r16_a_refused_checkout_leaves_the_order_as_it_was() {
    let before = Order {
        pending: true,
        holds: vec![17, 18],
    };
    payrail()
        .scope(async {
            testing::trip("payrail");
            let (mut order, script) = (before.clone(), Script::new("S"));
            assert_eq!(charge(&mut order, &script).await, Err(FarError::Rejected("503")));
            assert_eq!((&order, script.starts()), (&before, 0));
            testing::reset("payrail");
            assert_eq!(charge(&mut order, &script).await, Ok(1));
            assert!(!order.pending && order.holds.is_empty());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn sd_r20_rb_r03_a_refusal_becomes_the_status_that_the_service_gives_it() {
    payrail()
        .scope(async {
            let order = || Order {
                pending: true,
                holds: Vec::new(),
            };
            let (mut first, mut second) = (order(), order());
            let script = Script::new("H");
            let clock = Clock::start();
            assert_eq!(charge(&mut first, &script).await, Err(FarError::Rejected("504")));
            assert_eq!(clock.now(), secs(3));
            let gate = Script::new("S/1s");
            let mut holds_the_slot = Box::pin(charge(&mut first, &gate));
            assert!(poll_once(holds_the_slot.as_mut()).is_pending());
            assert_eq!(charge(&mut second, &script).await, Err(FarError::Rejected("429")));
            drop(holds_the_slot);
            testing::trip("payrail");
            assert_eq!(charge(&mut second, &script).await, Err(FarError::Rejected("503")));
            // A call that failed keeps its own error.
            testing::reset("payrail");
            let failed = charge(&mut second, &Script::new("F")).await;
            assert_eq!(failed, Err(FarError::Failed(resilience_runtime::FailureKind::Server)));
        })
        .await;
}

async fn from_the_database(_redis: &Script, database: &Gate) -> Result<usize, FarError> {
    database.run().await
}

#[breaker("seatmap")]
#[fallback(from_the_database)]
async fn seats(redis: &Script, database: &Gate) -> Result<usize, FarError> {
    let _ = database;
    redis.run().await
}

#[tokio::test(start_paused = true)]
async fn sd_r17_without_redis_ten_read_the_database_at_once_and_the_rest_are_refused() {
    seatmap()
        .scope(async {
            testing::trip("seatmap");
            let (redis, database) = (Script::new("S"), Gate::new("S"));
            let reads = together((0..101).map(|number| {
                let (redis, database) = (&redis, &database);
                async move {
                    if number == 100 {
                        database.open(10);
                        return "opens the database";
                    }
                    match seats(redis, database).await {
                        Ok(_) => "database",
                        Err(error) => error.word(),
                    }
                }
            }))
            .await;
            assert_eq!(
                tally(&reads[..100]).into_iter().collect::<Vec<_>>(),
                [("database", 10), ("open", 90)]
            );
            assert_eq!((redis.starts(), database.peak()), (0, 10));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn sd_r18_each_report_that_the_primary_served_is_counted_as_such() {
    let runtime = seatmap();
    runtime
        .scope(async {
            let (replica, primary) = (Script::new("F"), Gate::new("S"));
            primary.open(100);
            for served in 1..=6_u64 {
                seats(&replica, &primary).await.unwrap();
                let fallbacks = Runtime::current().snapshot().dependencies["seatmap"].fallbacks.clone();
                assert_eq!(fallbacks.get("path"), Some(&served));
            }
            assert_eq!(replica.starts(), 4, "then it was open");
            let ratio = Runtime::current().snapshot().dependencies["seatmap"].degraded_ratio;
            assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        })
        .await;
}

async fn initials(_script: &Script, why: Failure<FarError>) -> Result<String, FarError> {
    tokio::task::yield_now().await;
    Ok(format!(
        "placeholder: {}",
        match why {
            Failure::Rejected(rejection) => rejection.reason().as_str(),
            Failure::Error(error) => error.word(),
        }
    ))
}

#[breaker("seatmap")]
#[bulkhead]
#[fallback(with = initials)]
async fn avatar(script: &Script) -> Result<String, FarError> {
    script.run().await.map(|_| "avatar".to_owned())
}

#[tokio::test(start_paused = true)]
async fn av_r05_the_placeholder_says_why_it_was_used() {
    seatmap()
        .scope(async {
            let (well, dead) = (Script::new("S"), Script::new("H"));
            let clock = Clock::start();
            let mut rows = Vec::new();
            for tick in 1..=9_u64 {
                clock.at(secs(tick)).await;
                let script = if [2, 3, 4, 8].contains(&tick) { &dead } else { &well };
                rows.push(avatar(script).await.unwrap());
            }
            let late = "placeholder: timed_out";
            let expected = [
                "avatar",
                late,
                late,
                late,
                "placeholder: open",
                "avatar",
                "avatar",
                late,
                "avatar",
            ];
            assert_eq!(
                (rows, well.starts() + dead.starts()),
                (expected.map(str::to_owned).to_vec(), 8)
            );
            assert_eq!(avatar(&Script::new("F")).await.unwrap(), "placeholder: server");
        })
        .await;
    let one_slot = Runtime::new(parse(
        &SEATMAP.replace("bulkhead.max_concurrent = 100", "bulkhead.max_concurrent = 1"),
    ));
    one_slot
        .scope(async {
            let script = Script::new("S/10ms");
            let answers = together([avatar(&script), avatar(&script)]).await;
            assert_eq!(answers.map_ok(), ["avatar", "placeholder: bulkhead_full"]);
        })
        .await;
}

trait MapOk {
    fn map_ok(self) -> Vec<String>;
}

impl MapOk for Vec<Result<String, FarError>> {
    fn map_ok(self) -> Vec<String> {
        self.into_iter().map(Result::unwrap).collect()
    }
}

#[breaker("seatmap")]
#[fallback(stale(shared))]
async fn report(script: &Script) -> Result<Served<usize>, FarError> {
    script.run().await.map(Served::fresh)
}

#[tokio::test(start_paused = true)]
async fn rb_r03_an_older_report_with_its_age_stands_in_and_not_beyond_its_bound() {
    seatmap()
        .scope(async {
            let script = Script::new("S F");
            let fresh = report(&script).await.unwrap();
            assert_eq!((fresh.value, fresh.freshness), (1, Freshness::Fresh));
            let clock = Clock::start();
            for (moment, served) in [(ms(1_000), true), (secs(300), true), (secs(301), false)] {
                clock.at(moment).await;
                testing::reset("seatmap");
                let answer = report(&script).await.map(|served| (served.value, served.freshness));
                let stale = Ok((1, Freshness::Stale { age: moment }));
                assert_eq!(answer.is_ok(), served, "{moment:?}");
                assert!(!served || answer == stale, "{answer:?}");
            }
        })
        .await;
}

static SUMMONED: AtomicUsize = AtomicUsize::new(0);

fn summon() -> usize {
    SUMMONED.fetch_add(1, Ordering::Relaxed);
    0
}

#[breaker("seatmap")]
#[fallback(value = summon())]
async fn counted(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

#[tokio::test(start_paused = true)]
async fn cf_r07_a_fallback_runs_once_per_failed_call_and_never_for_an_answer() {
    seatmap()
        .scope(async {
            let script = Script::new("S B F H");
            assert_eq!(counted(&script).await, Ok(1));
            assert_eq!(counted(&script).await, Err(FarError::Business));
            assert_eq!(SUMMONED.load(Ordering::Relaxed), 0);
            assert_eq!(counted(&script).await, Ok(0));
            assert_eq!(counted(&script).await, Ok(0));
            assert_eq!(SUMMONED.load(Ordering::Relaxed), 2);
            assert_eq!(testing::state("seatmap"), State::Closed);
            settle().await;
        })
        .await;
}
