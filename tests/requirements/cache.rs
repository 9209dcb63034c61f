//! A cache in front of a database: what reaches the database when the cache is gone.

use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::{Runtime, breaker, fallback, testing};
use tokio::task::JoinSet;

use crate::kit::{Clock, FarError, Gate, Script, ms, parse, poll_once, settle, tally, together};

/// A cache whose fallback has this many slots.
fn cache(slots: usize) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"50ms\"\nbreaker.cooldown_jitter = 0.0\n\
         fallback.max_concurrent = {slots}\nfallback.timeout = \"10s\"\n"
    )))
}

/// The database: every query takes 25 ms of one of its connections.
#[derive(Default)]
struct Database {
    queries: AtomicUsize,
    running: AtomicUsize,
    peak: AtomicUsize,
}

impl Database {
    async fn query(&self) -> Result<(), FarError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.peak
            .fetch_max(self.running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        tokio::time::sleep(ms(25)).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn queries(&self) -> usize {
        self.queries.load(Ordering::Relaxed)
    }

    fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

#[allow(clippy::unused_async)] // a fallback is called and awaited
async fn from_the_database(_: &Script, database: &Database, _: u32) -> Result<(), FarError> {
    database.query().await
}

#[breaker("seatmap")]
#[fallback(from_the_database)]
async fn each_for_himself(redis: &Script, database: &Database, key: u32) -> Result<(), FarError> {
    let _ = (database, key);
    redis.run().await.map(drop)
}

#[breaker("seatmap")]
#[fallback(from_the_database, one_per = key)]
async fn one_for_all(redis: &Script, database: &Database, key: u32) -> Result<(), FarError> {
    let _ = (database, key);
    redis.run().await.map(drop)
}

/// Two seconds of 400 reads a second while the cache is gone: how many were served, and what the database saw. In health
/// nineteen in twenty are answered by the cache, so forty queries are what it is used to.
async fn without_the_cache(slots: usize, keys: Option<u32>) -> (usize, &'static Database) {
    let database: &'static Database = Box::leak(Box::default());
    let runtime = cache(slots);
    runtime.scope(async { testing::trip("seatmap") }).await;
    let clock = Clock::start();
    let mut reads = JoinSet::new();
    for number in 0..800_u32 {
        clock.at(ms(u64::from(number) * 5 / 2)).await;
        let read = runtime.scope(async move {
            let redis = Script::new("C");
            match keys {
                Some(keys) => one_for_all(&redis, database, number % keys).await,
                None => each_for_himself(&redis, database, number).await,
            }
        });
        reads.spawn(read);
    }
    let served = reads.join_all().await.into_iter().flatten().count();
    (served, database)
}

#[tokio::test(start_paused = true)]
async fn re_r02_a_limiter_on_the_fallback_bounds_what_reaches_the_database() {
    let (served, database) = without_the_cache(2, None).await;
    assert_eq!(database.peak(), 2);
    // Two slots of 25 ms for two seconds.
    assert!((140..=162).contains(&database.queries()), "{}", database.queries());
    assert_eq!(served, database.queries());
}

#[tokio::test(start_paused = true)]
async fn re_r06_a_breaker_alone_sends_every_read_to_the_database() {
    let (served, database) = without_the_cache(1_000, None).await;
    assert_eq!(
        (served, database.queries()),
        (800, 800),
        "twenty times the forty of a healthy cache"
    );
    assert!(database.peak() >= 10, "{}", database.peak());
}

#[tokio::test(start_paused = true)]
async fn re_r03_with_one_fetch_a_key_the_same_queries_serve_more_than_twice_as_many() {
    let (alone, without) = without_the_cache(2, None).await;
    let (together, with) = without_the_cache(2, Some(4)).await;
    assert!(
        with.queries() <= without.queries() + 2,
        "{} and {}",
        with.queries(),
        without.queries()
    );
    assert!(together > 2 * alone, "{together} instead of {alone}");
}

#[tokio::test(start_paused = true)]
async fn re_r03_a_hundred_readers_of_one_key_are_one_query() {
    cache(2)
        .scope(async {
            testing::trip("seatmap");
            let (redis, database) = (Script::new("C"), Database::default());
            let reads = together((0..100).map(|_| one_for_all(&redis, &database, 7))).await;
            assert!(reads.iter().all(Result::is_ok));
            assert_eq!((redis.starts(), database.queries()), (0, 1));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn re_r04_who_finds_no_slot_is_refused_at_once_and_nobody_waits_for_one() {
    cache(2)
        .scope(async {
            testing::trip("seatmap");
            let (redis, database) = (Script::new("C"), Database::default());
            let clock = Clock::start();
            let reads = together((0..100).map(|key| {
                let (redis, database) = (&redis, &database);
                async move {
                    let word = match one_for_all(redis, database, key).await {
                        Ok(()) => "served",
                        Err(error) => error.word(),
                    };
                    (word, clock.now())
                }
            }))
            .await;
            let words: Vec<_> = reads.iter().map(|(word, _)| *word).collect();
            let counted = tally(&words);
            assert_eq!(counted.into_iter().collect::<Vec<_>>(), [("open", 98), ("served", 2)]);
            assert!(
                reads.iter().all(|(word, at)| *word == "served" || at.is_zero()),
                "{reads:?}"
            );
        })
        .await;
}

#[allow(clippy::unused_async)] // a fallback is called and awaited
async fn from_the_gate(_: &Script, database: &Gate) -> Result<usize, FarError> {
    database.run().await
}

#[breaker("seatmap")]
#[fallback(from_the_gate, one_per = "the one key")]
async fn of_one_key(redis: &Script, database: &Gate) -> Result<usize, FarError> {
    let _ = database;
    redis.run().await
}

#[tokio::test(start_paused = true)]
async fn re_r08_who_joined_a_fetch_that_fails_gets_the_same_answer_and_it_is_made_once() {
    cache(2)
        .scope(async {
            testing::trip("seatmap");
            let (redis, database) = (Script::new("C"), Gate::new("F S"));
            let words = together((0..11).map(|number| {
                let (redis, database) = (&redis, &database);
                async move {
                    if number == 10 {
                        database.open(1);
                        return "opens the database";
                    }
                    of_one_key(redis, database).await.unwrap_err().word()
                }
            }))
            .await;
            assert_eq!(words[..10], ["server"; 10]);
            assert_eq!(database.let_go(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn re_r08_when_the_one_who_fetches_leaves_another_takes_over_and_nobody_hangs() {
    cache(1)
        .scope(async {
            testing::trip("seatmap");
            let (redis, database) = (Script::new("C"), Gate::new("S"));
            let mut leader = Box::pin(of_one_key(&redis, &database));
            let mut second = Box::pin(of_one_key(&redis, &database));
            let mut third = Box::pin(of_one_key(&redis, &database));
            for read in [&mut leader, &mut second, &mut third] {
                assert!(poll_once(read.as_mut()).is_pending());
            }
            assert_eq!(database.running(), 1);
            drop(leader);
            settle().await;
            database.open(1);
            let reads = together([second, third]).await;
            assert_eq!(reads, [Ok(1), Ok(1)]);
            assert_eq!(database.let_go(), 1);
        })
        .await;
}
