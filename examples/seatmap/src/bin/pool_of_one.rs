//! On which side of the connection pool is the timeout? A real PostgreSQL, well all the time; a pool with one
//! connection, which a report holds for a while; ten readers who need five milliseconds each. Three ways to guard them.
//! The last lines are claims, and the exit code says whether they held.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use resilience_runtime::{Failure, Guard, Policy, Reason, Runtime};
use resilience_test_servers::Postgres;
use seatmap::Claim;
use sqlx::PgPool;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const POLICY: &str = include_str!("../../pool_of_one.toml");
/// The policy's bound of a read.
const TIMEOUT: Duration = Duration::from_millis(250);
const READERS: usize = 10;
const READ: Duration = Duration::from_millis(5);
const REPORT: Duration = Duration::from_millis(1_200);

type Answer = Result<(), Failure<sqlx::Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pool_of_one: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    let Some(postgres) = Postgres::start() else {
        println!("nothing was shown: it takes `postgres` (Debian: apt install postgresql)");
        return Ok(true);
    };
    let runtime = Runtime::new(Policy::from_toml(POLICY)?);
    let whole = Side::new(&runtime, &postgres, "whole", true)?.evening().await?;
    let call = Side::new(&runtime, &postgres, "call", false)?.evening().await?;
    let slots = Side::new(&runtime, &postgres, "slots", true)?.evening().await?;
    Ok(seatmap::tell(&judge(&whole, &call, &slots)))
}

fn judge(whole: &Seen, call: &Seen, slots: &Seen) -> [Claim; 4] {
    [
        Claim::new(
            "whole: nobody waits longer than the timeout, but the pool's queue is taken for a sick database",
            whole.longest < REPORT && whole.refused == READERS && whole.state == "open",
            whole,
        ),
        Claim::new(
            "whole: and the next reader is refused although nothing is in his way",
            whole.next_refused_by == Some(Reason::Open),
            format!("{:?}", whole.next_refused_by),
        ),
        Claim::new(
            "call: the breaker is right about the database, but nothing bounds the wait for a connection",
            call.longest > 2 * TIMEOUT && call.read == READERS && call.state == "closed",
            call,
        ),
        Claim::new(
            "slots: as many slots as connections, and who finds none is told so; the breaker is right, nobody waits long",
            slots.longest < REPORT
                && slots.refused == READERS
                && slots.state == "closed"
                && slots.next_refused_by.is_none(),
            slots,
        ),
    ]
}

/// One way to guard the pool, with a pool of its own.
#[derive(Clone)]
struct Side {
    runtime: Runtime,
    name: &'static str,
    reads: Guard,
    reports: Guard,
    pool: PgPool,
    /// Whether the guard is around the pool, or between the pool and the query.
    around_the_pool: bool,
}

/// What ten readers saw while the report ran, and one after it.
struct Seen {
    read: usize,
    refused: usize,
    longest: Duration,
    state: &'static str,
    next_refused_by: Option<Reason>,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = self.longest.as_millis();
        write!(
            f,
            "{} read and {} refused, the longest after {millis} ms; breaker {}",
            self.read, self.refused, self.state
        )
    }
}

impl Side {
    fn new(runtime: &Runtime, postgres: &Postgres, name: &'static str, around: bool) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            runtime: runtime.clone(),
            name,
            reads: runtime.guard(name)?,
            reports: runtime.guard(&format!("{name}.report"))?,
            pool: PgPoolOptions::new()
                .max_connections(1)
                .acquire_timeout(Duration::from_secs(5))
                .connect_lazy(&postgres.url("postgres"))?,
            around_the_pool: around,
        })
    }

    async fn evening(self) -> Result<Seen, Box<dyn Error>> {
        self.query(&self.reads, READ, None)
            .await
            .map_err(|error| error.to_string())?;
        let (holds, has_it) = oneshot::channel();
        let side = self.clone();
        let report = tokio::spawn(async move { side.query(&side.reports, REPORT, Some(holds)).await });
        has_it.await?;

        let began = Instant::now();
        let mut readers = JoinSet::new();
        for _ in 0..READERS {
            let side = self.clone();
            readers.spawn(async move { (side.query(&side.reads, READ, None).await, began.elapsed()) });
        }
        let seen = readers.join_all().await;
        report.await?.map_err(|error| error.to_string())?;
        let next = self.query(&self.reads, READ, None).await;
        let snapshot = self.runtime.snapshot();
        let state = snapshot.dependency(self.name).and_then(|dependency| dependency.state);
        Ok(Seen {
            read: seen.iter().filter(|(answer, _)| answer.is_ok()).count(),
            refused: seen.iter().filter(|(answer, _)| rejected(answer).is_some()).count(),
            longest: seen.iter().map(|(_, took)| *took).max().unwrap_or_default(),
            state: state.unwrap_or_default(),
            next_refused_by: rejected(&next),
        })
    }

    /// Runs a query that takes so long; `holds` hears of it when it has its connection.
    // resilience: unguarded, because where its guard goes is what this program is about
    async fn query(&self, guard: &Guard, takes: Duration, holds: Option<oneshot::Sender<()>>) -> Answer {
        let tell = || holds.map(|holds| holds.send(()));
        if self.around_the_pool {
            let both = async {
                let mut connection = self.pool.acquire().await?;
                tell();
                sleep(&mut connection, takes).await
            };
            guard.call_once(both).await
        } else {
            let mut connection = self.pool.acquire().await?;
            tell();
            guard.call_once(sleep(&mut connection, takes)).await
        }
    }
}

fn rejected(answer: &Answer) -> Option<Reason> {
    answer
        .as_ref()
        .err()?
        .rejection()
        .map(resilience_runtime::Rejection::reason)
}

async fn sleep(connection: &mut PgConnection, takes: Duration) -> Result<(), sqlx::Error> {
    let query = sqlx::query("select pg_sleep($1)").bind(takes.as_secs_f64());
    query.execute(connection).await.map(drop)
}
