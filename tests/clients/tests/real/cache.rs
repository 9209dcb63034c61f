//! Redis: refused, killed, frozen, restarted, loading, busy, full.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, RedisError, RedisResult, cmd, pipe};
use resilience_runtime::{Classify, Failure, Outcome, Reason, breaker, fallback};
use resilience_test_servers::Redis;

use crate::{CONNECT, PROTOCOL, SERVER, TIMEOUT, WORTH_ANOTHER_ATTEMPT, until};

const ANSWER_BY: Duration = Duration::from_millis(150);

/// One that has time, on a machine that is busy with other things too.
async fn connect(redis: &Redis) -> RedisResult<MultiplexedConnection> {
    connect_for(redis, Duration::from_secs(20)).await
}

async fn connect_for(redis: &Redis, answer_by: Duration) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(Some(answer_by))
        .set_connection_timeout(Some(Duration::from_secs(5)));
    Client::open(redis.url())?
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// One that connects again by itself. With its defaults every command after a lost connection would wait for more than
/// nine seconds while Redis is away.
fn manager(redis: &Redis) -> ConnectionManager {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(Duration::from_millis(250)))
        .set_response_timeout(Some(ANSWER_BY));
    ConnectionManager::new_lazy_with_config(Client::open(redis.url()).unwrap(), config).unwrap()
}

async fn get(connection: &mut MultiplexedConnection) -> RedisResult<Option<String>> {
    connection.get("seat").await
}

fn class<T>(answer: RedisResult<T>) -> Outcome {
    answer.err().expect("it fails").classify()
}

#[tokio::test]
async fn killed_is_connect_and_so_is_everything_after_it() {
    let Some(mut redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await.unwrap();
    connection.set::<_, _, ()>("seat", "free").await.unwrap();
    assert_eq!(get(&mut connection).await.unwrap().as_deref(), Some("free"));
    redis.kill();
    assert_eq!(class(get(&mut connection).await), CONNECT);
    assert_eq!(class(get(&mut connection).await), CONNECT);
    assert_eq!(class(connect(&redis).await), CONNECT);
}

#[tokio::test]
async fn frozen_is_a_timeout_and_thawed_it_goes_on() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect_for(&redis, ANSWER_BY).await.unwrap();
    redis.freeze();
    assert_eq!(class(get(&mut connection).await), TIMEOUT);
    redis.thaw();
    until(async || get(&mut connection).await.ok()).await;
}

#[tokio::test]
async fn a_server_that_is_still_loading_or_busy_with_a_script_failed() {
    let Some(mut redis) = Redis::start_with(&["--enable-debug-command", "yes", "--busy-reply-threshold", "1"]) else {
        return;
    };
    let mut connection = connect(&redis).await.unwrap();

    let forever = "while true do end";
    let mut other = connect(&redis).await.unwrap();
    let script = tokio::spawn(async move { cmd("EVAL").arg(forever).arg(0).query_async::<()>(&mut other).await });
    until(async || (class_of(get(&mut connection).await) == Some(SERVER)).then_some(())).await;
    cmd("SCRIPT")
        .arg("KILL")
        .query_async::<()>(&mut connection)
        .await
        .unwrap();
    // Its own caller gave up before, or was told that it was killed.
    script.await.unwrap().unwrap_err();
    until(async || get(&mut connection).await.ok()).await;

    cmd("DEBUG")
        .arg("POPULATE")
        .arg(3_000)
        .query_async::<()>(&mut connection)
        .await
        .unwrap();
    cmd("SAVE").query_async::<()>(&mut connection).await.unwrap();
    redis.kill();
    // A slow disk: a millisecond a key, and it listens in between.
    redis.start_again(&[
        "--key-load-delay",
        "1000",
        "--loading-process-events-interval-bytes",
        "1024",
    ]);
    let mut connection = connect(&redis).await.unwrap();
    assert_eq!(class(get(&mut connection).await), SERVER);
    until(async || get(&mut connection).await.ok()).await;
}

fn class_of<T>(answer: RedisResult<T>) -> Option<Outcome> {
    answer.err().map(|error| error.classify())
}

#[tokio::test]
async fn a_server_that_is_full_or_may_not_write_failed_and_a_wrong_command_is_business() {
    let Some(redis) = Redis::start() else { return };
    let mut connection = connect(&redis).await.unwrap();
    let set = async |connection: &mut MultiplexedConnection| connection.set::<_, _, ()>("seat", "free").await;
    let config = async |connection: &mut MultiplexedConnection, key: &str, value: &str| {
        cmd("CONFIG")
            .arg("SET")
            .arg(key)
            .arg(value)
            .query_async::<()>(connection)
            .await
            .unwrap();
    };

    set(&mut connection).await.unwrap();
    assert_eq!(
        class(connection.lpush::<_, _, ()>("seat", "x").await),
        Outcome::Business
    );
    assert_eq!(
        class(cmd("GTE").query_async::<()>(&mut connection).await),
        Outcome::Business
    );
    // The client says the same of a value that is no number as of an answer that is not Redis's.
    assert_eq!(class(connection.get::<_, i64>("seat").await), PROTOCOL);

    config(&mut connection, "maxmemory", "1").await;
    assert_eq!(class(set(&mut connection).await), SERVER);
    // In a pipeline too, and behind an error of the caller's own.
    let mut commands = pipe();
    commands
        .cmd("LPUSH")
        .arg("seat")
        .arg("x")
        .cmd("SET")
        .arg("seat")
        .arg("free");
    assert_eq!(class(commands.query_async::<()>(&mut connection).await), SERVER);
    let mut commands = pipe();
    commands.atomic().cmd("SET").arg("seat").arg("free");
    assert_eq!(class(commands.query_async::<()>(&mut connection).await), SERVER);
    config(&mut connection, "maxmemory", "0").await;

    cmd("REPLICAOF")
        .arg("127.0.0.1")
        .arg(1)
        .query_async::<()>(&mut connection)
        .await
        .unwrap();
    assert_eq!(class(set(&mut connection).await), SERVER);
    config(&mut connection, "replica-serve-stale-data", "no").await;
    assert_eq!(class(get(&mut connection).await), SERVER);
}

#[tokio::test]
async fn a_server_that_lets_nobody_in_is_connect() {
    let Some(redis) = Redis::start_with(&["--maxclients", "1"]) else {
        return;
    };
    let _only = until(async || connect(&redis).await.ok()).await;
    assert_eq!(class(connect(&redis).await), CONNECT);

    let Some(redis) = Redis::start_with(&["--requirepass", "secret"]) else {
        return;
    };
    let mut connection = connect(&redis).await.unwrap();
    assert_eq!(class(get(&mut connection).await), CONNECT);
    let wrong = Client::open(format!("redis://:wrong@127.0.0.1:{}/", redis.port())).unwrap();
    assert_eq!(class(wrong.get_multiplexed_async_connection().await), CONNECT);
}

#[test]
fn keys_that_are_being_moved_are_worth_another_attempt() {
    // Only a cluster says so; the words are those of its source.
    let answer = redis::parse_redis_value(b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n").unwrap();
    assert_eq!(answer.extract_error().unwrap_err().classify(), WORTH_ANOTHER_ATTEMPT);
}

#[breaker("cache")]
#[fallback(none = "the caller reads the database")]
async fn guarded(mut cache: ConnectionManager) -> Result<Option<String>, Failure<RedisError>> {
    Ok(cache.get("seat").await?)
}

#[tokio::test]
async fn the_breaker_opens_on_a_killed_redis_and_a_probe_closes_it_after_the_restart() {
    let Some(mut redis) = Redis::start() else { return };
    let cache = manager(&redis);
    assert_eq!(guarded(cache.clone()).await.unwrap(), None);
    redis.kill();
    let refused = until(async || match guarded(cache.clone()).await {
        Err(Failure::Rejected(rejection)) => Some(rejection),
        _ => None,
    })
    .await;
    assert_eq!(refused.reason(), Reason::Open);
    redis.start_again(&[]);
    until(async || guarded(cache.clone()).await.ok()).await;
}
