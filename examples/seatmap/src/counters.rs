//! What PostgreSQL itself counts: statements that it ran, and statements that it was running at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use resilience_test_servers::Postgres;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinHandle;

/// Of each database: of the guarded reader, and of its twin.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) guarded: i64,
    pub(crate) twin: i64,
}

pub(crate) struct Counters {
    admin: PgPool,
    peaks: Arc<[AtomicI64; 2]>,
    sampling: JoinHandle<()>,
}

impl Counters {
    // resilience: unguarded, because it watches the run and is no part of what is guarded
    pub(crate) async fn start(postgres: &Postgres) -> sqlx::Result<Self> {
        let admin = PgPoolOptions::new()
            .max_connections(2)
            .connect(&postgres.url("postgres"))
            .await?;
        sqlx::query("create extension pg_stat_statements")
            .execute(&admin)
            .await?;
        let peaks: Arc<[AtomicI64; 2]> = Arc::default();
        let sampling = tokio::spawn({
            let (admin, peaks) = (admin.clone(), Arc::clone(&peaks));
            async move {
                loop {
                    if let Ok(now) = running(&admin).await {
                        peaks[0].fetch_max(now.guarded, Ordering::Relaxed);
                        peaks[1].fetch_max(now.twin, Ordering::Relaxed);
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        });
        Ok(Self { admin, peaks, sampling })
    }

    /// Reads of seat maps since the start, by `pg_stat_statements`.
    pub(crate) async fn statements(&self) -> sqlx::Result<Counted> {
        by_database(
            &self.admin,
            "select d.datname::text, sum(s.calls)::bigint from pg_stat_statements s
             join pg_database d on d.oid = s.dbid where s.query like '%from seats, pg_sleep%' group by 1",
        )
        .await
    }

    /// The most that ran at once since the last look, by samples of `pg_stat_activity`.
    pub(crate) fn take_peaks(&self) -> Counted {
        let [guarded, twin] = [0, 1].map(|at: usize| self.peaks[at].swap(0, Ordering::Relaxed));
        Counted { guarded, twin }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        self.sampling.abort();
    }
}

async fn running(admin: &PgPool) -> sqlx::Result<Counted> {
    by_database(
        admin,
        "select datname::text, count(*) from pg_stat_activity
         where state = 'active' and query like '%from seats, pg_sleep%' and datname in ('guarded', 'twin') group by 1",
    )
    .await
}

// resilience: unguarded, because it watches the run and is no part of what is guarded
async fn by_database(admin: &PgPool, query: &'static str) -> sqlx::Result<Counted> {
    let rows: Vec<(String, i64)> = sqlx::query_as(query).fetch_all(admin).await?;
    let of = |name| {
        rows.iter()
            .find(|(database, _)| database == name)
            .map_or(0, |(_, count)| *count)
    };
    Ok(Counted {
        guarded: of("guarded"),
        twin: of("twin"),
    })
}
