//! Seat maps are read from a real Redis, and from a real PostgreSQL where Redis does not have them. Redis is killed,
//! restarted empty, frozen and thawed under load; then the operator rehearses. PostgreSQL's own counters say what
//! reached it, beside those of a twin without guards. The last lines are claims, and the exit code says whether they
//! held.
//!
//! ```text
//! cargo run -p seatmap                       this, in about half a minute; redis-server and postgres have to be installed
//! cargo run -p seatmap --bin pool_of_one     on which side of the connection pool the timeout is
//! ```

mod counters;
mod error;
mod load;
mod reader;
mod stores;
mod story;

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use resilience_runtime::{DependencySnapshot, Mode, Override, Policy, Runtime};
use resilience_test_servers::{Postgres, Redis};
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::counters::{Counted, Counters};
use crate::load::{Load, Tally, lock};
use crate::reader::{Guarded, SPARE, Twin};

const POLICY: &str = include_str!("../resilience.toml");
/// How long anybody waits for something that has to come about.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("seatmap: {error}");
            ExitCode::from(2)
        }
    }
}

// resilience: unguarded, because it makes what is asked later; a run without its database does not begin
async fn run() -> Result<bool, Box<dyn Error>> {
    let settings = ["max_connections=80", "shared_preload_libraries=pg_stat_statements"];
    let (Some(redis), Some(postgres)) = (Redis::start(), Postgres::start_with(&settings)) else {
        println!(
            "nothing was shown: it takes `redis-server` and `postgres` (Debian: apt install redis-server postgresql)"
        );
        return Ok(true);
    };
    let began = Instant::now();
    let runtime = Runtime::new(Policy::from_toml(POLICY)?);
    runtime.install()?;
    let guarded = Guarded {
        redis: stores::redis(&redis)?,
        database: stores::database(&postgres, "guarded", 10).await?,
    };
    let twin = Twin {
        redis: stores::redis(&redis)?,
        database: stores::database(&postgres, "twin", 60).await?,
    };
    let mut evening = Evening {
        counters: Counters::start(&postgres).await?,
        load: Load::start(guarded, twin),
        runtime,
        redis,
        phases: Vec::new(),
    };
    evening.load.phase();
    sleep(Duration::from_secs(1)).await; // connections are made and tonight's maps cached
    evening.all().await?;
    println!();
    let held = seatmap::tell(&story::judge(&evening.phases, &evening.redis_now()));
    println!("in {:.0} s", began.elapsed().as_secs_f64());
    Ok(held)
}

/// What one phase showed.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    tally: Arc<Mutex<Tally>>,
    /// Statements that the database ran, by its own count.
    pub(crate) statements: Counted,
    /// The most that it ran at once, by its own account.
    pub(crate) peak: Counted,
    /// The breaker of Redis at the end, and why it is so.
    pub(crate) state: &'static str,
    pub(crate) cause: Option<&'static str>,
}

impl Phase {
    pub(crate) fn tally(&self) -> Tally {
        lock(&self.tally).clone()
    }
}

struct Evening {
    counters: Counters,
    load: Load,
    runtime: Runtime,
    redis: Redis,
    phases: Vec<Phase>,
}

impl Evening {
    async fn all(&mut self) -> Result<(), Box<dyn Error>> {
        self.phase("healthy", 3).await?;
        self.redis.kill();
        self.phase("killed", 3).await?;
        // Empty: a killed cache has forgotten everything.
        block_in_place(|| self.redis.start_again(&[]));
        self.until_closed().await;
        self.phase("restarted", 3).await?;
        self.redis.freeze();
        self.phase("frozen", 3).await?;
        self.redis.thaw();
        self.until_closed().await;
        self.phase("thawed", 3).await?;

        // The game day: each way of degrading is gone through while nothing is wrong.
        self.hand(None)?;
        self.phase("isolated", 2).await?;
        self.hand(Some(SPARE))?;
        sleep(stores::QUERY * 4).await; // reads that were begun before the hand end as they may
        self.phase("spared", 2).await?;
        self.runtime.clear_mode("redis")?;
        self.runtime
            .reload(Policy::from_toml(&POLICY.replace("chaos = false", "chaos = true"))?)?;
        self.phase("chaos", 2).await?;
        self.runtime.reload(Policy::from_toml(POLICY)?)?;
        self.until_closed().await;
        self.phase("calm", 2).await
    }

    async fn phase(&mut self, name: &'static str, seconds: u64) -> Result<(), Box<dyn Error>> {
        let before = self.counters.statements().await?;
        let tally = self.load.phase();
        let began = Instant::now();
        sleep(stores::QUERY * 4).await;
        // What was begun in the phase before has ended now, and is not held against this one.
        self.counters.take_peaks();
        sleep(Duration::from_secs(seconds).saturating_sub(began.elapsed())).await;
        let took = began.elapsed();
        // Who comes between two phases belongs to none.
        self.load.phase();
        let after = self.counters.statements().await?;
        let redis = self.redis_now();
        let phase = Phase {
            name,
            took,
            tally,
            statements: Counted {
                guarded: after.guarded - before.guarded,
                twin: after.twin - before.twin,
            },
            peak: self.counters.take_peaks(),
            state: redis.state.unwrap_or_default(),
            cause: redis.cause,
        };
        println!("{}", story::row(&phase));
        self.phases.push(phase);
        Ok(())
    }

    fn hand(&self, answer: Option<&str>) -> Result<(), Box<dyn Error>> {
        let hour = Duration::from_secs(3600);
        let mut hand = Override::new(Mode::Isolate, "box office", "a game day", hour);
        hand.answer = answer.map(str::to_owned);
        self.runtime.set_mode("redis", hand)?;
        Ok(())
    }

    async fn until_closed(&self) {
        let began = Instant::now();
        while self.redis_now().state != Some("closed") && began.elapsed() < PATIENCE {
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn redis_now(&self) -> DependencySnapshot {
        let snapshot = self.runtime.snapshot();
        snapshot.dependency("redis").expect("the policy names it").clone()
    }
}
