//! The two servers as their clients see them: nothing here knows of guards.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client, RedisResult};
use resilience_test_servers::{Postgres, Redis};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

/// How long the database needs for one map: the reason why there is a cache.
pub(crate) const QUERY: Duration = Duration::from_millis(40);

/// A connection that comes back by itself. With the client's own defaults every command after a lost connection waits
/// for more than nine seconds while Redis is away: it tries again six times, and all who share it wait along.
pub(crate) fn redis(redis: &Redis) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(Duration::from_millis(250)))
        .set_response_timeout(Some(Duration::from_millis(250)));
    ConnectionManager::new_lazy_with_config(Client::open(redis.url())?, config)
}

// resilience: unguarded, because it runs once at the start, and without its database the run does not begin
/// A database of this name with the seats of a season in it.
pub(crate) async fn database(postgres: &Postgres, name: &'static str, size: u32) -> sqlx::Result<PgPool> {
    let admin = PgPool::connect(&postgres.url("postgres")).await?;
    sqlx::raw_sql(match name {
        "guarded" => "create database guarded",
        _ => "create database twin",
    })
    .execute(&admin)
    .await?;
    let pool = PgPoolOptions::new()
        .max_connections(size)
        // Below the policy's timeout, so that a pool without a free connection is heard of before we give up.
        .acquire_timeout(Duration::from_millis(900))
        .connect(&postgres.url(name))
        .await?;
    let seats = "create table seats as
        select show, 'map of show ' || show as layout from generate_series(1, 2000) as show;
        create unique index on seats (show); analyze seats";
    sqlx::raw_sql(seats).execute(&pool).await?;
    Ok(pool)
}

pub(crate) async fn select(pool: &PgPool, show: u32) -> sqlx::Result<String> {
    sqlx::query_scalar("select layout from seats, pg_sleep($2) where show = $1")
        .bind(i32::try_from(show).unwrap_or(i32::MAX))
        .bind(QUERY.as_secs_f64())
        .fetch_one(pool)
        .await
}

pub(crate) async fn get(redis: &ConnectionManager, twin: &str, show: u32) -> RedisResult<Option<String>> {
    redis.clone().get(format!("{twin}:{show}")).await
}

pub(crate) async fn set(redis: &ConnectionManager, twin: &str, show: u32, map: &str) -> RedisResult<()> {
    redis.clone().set_ex(format!("{twin}:{show}"), map, 600).await
}
