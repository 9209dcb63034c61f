//! PostgreSQL: constraints, lost races, limits of time, ended sessions, a full pool, a stopped server.

use std::time::Duration;

use resilience_runtime::{Classify, Failure, Outcome, Reason, breaker, fallback, retry, timeout};
use resilience_test_servers::Postgres;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions, PgQueryResult};
use sqlx::{Connection, Error, Executor};

use crate::{CONNECT, SERVER, TIMEOUT, WORTH_ANOTHER_ATTEMPT, until};

fn class<T>(answer: Result<T, Error>) -> Outcome {
    answer.err().expect("it fails").classify()
}

async fn session(postgres: &Postgres) -> Result<PgConnection, Error> {
    PgConnection::connect(&postgres.url("postgres")).await
}

fn pool(postgres: &Postgres, size: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(Duration::from_millis(300))
        .connect_lazy(&postgres.url("postgres"))
        .unwrap()
}

async fn run(session: &mut PgConnection, sql: &'static str) -> Result<PgQueryResult, Error> {
    session.execute(sql).await
}

#[tokio::test]
async fn what_a_real_database_says_counts_by_its_class() {
    let Some(mut postgres) = Postgres::start_with(&["max_connections=8", "superuser_reserved_connections=0"]) else {
        return;
    };
    let mut one = session(&postgres).await.unwrap();
    let mut two = session(&postgres).await.unwrap();
    run(
        &mut one,
        "create table seat (id int primary key check (id > 0), sold int not null)",
    )
    .await
    .unwrap();
    run(&mut one, "insert into seat values (1, 0), (2, 0)").await.unwrap();

    about_the_request(&mut one).await;
    lost_races(&mut one, &mut two).await;
    limits_of_time(&mut one, &mut two).await;
    a_guarded_sale_is_made_although_its_first_attempt_lost(&mut one, &pool(&postgres, 1)).await;

    run(&mut one, "set default_transaction_read_only = on").await.unwrap();
    assert_eq!(
        class(run(&mut one, "update seat set sold = 1").await),
        SERVER,
        "a standby"
    );

    a_frozen_server(&postgres).await;
    a_full_server_and_a_full_pool(&postgres).await;
    an_ended_session(&postgres, &mut one, two).await;
    a_stopped_server(&mut postgres, one).await;
}

async fn about_the_request(one: &mut PgConnection) {
    for sql in [
        "insert into seat values (1, 0)",
        "insert into seat values (-1, 0)",
        "insert into seat values (3, null)",
        "select 1 / 0",
        "selct",
        "select * from nowhere",
        "do $$ begin raise exception 'sold out'; end $$",
    ] {
        assert_eq!(class(run(one, sql).await), Outcome::Business, "{sql}");
    }
    let none = sqlx::query("select 1 from seat where id = 99")
        .fetch_one(&mut *one)
        .await;
    assert_eq!(class(none), Outcome::Business);
    let null = sqlx::query_scalar::<_, i32>("select null::int")
        .fetch_one(&mut *one)
        .await;
    assert_eq!(class(null), Outcome::Business);
}

/// Not the database's fault and not the caller's: another attempt may win.
async fn lost_races(one: &mut PgConnection, two: &mut PgConnection) {
    run(one, "begin isolation level repeatable read").await.unwrap();
    run(one, "select * from seat").await.unwrap();
    run(two, "update seat set sold = sold + 1 where id = 1").await.unwrap();
    let late = run(one, "update seat set sold = sold + 1 where id = 1").await;
    assert_eq!(class(late), WORTH_ANOTHER_ATTEMPT, "40001");
    run(one, "rollback").await.unwrap();

    run(
        one,
        "set deadlock_timeout = '20ms'; begin; update seat set sold = 1 where id = 1",
    )
    .await
    .unwrap();
    run(
        two,
        "set deadlock_timeout = '1h'; begin; update seat set sold = 1 where id = 2",
    )
    .await
    .unwrap();
    let (first, second) = tokio::join!(
        run(one, "update seat set sold = 1 where id = 2"),
        run(two, "update seat set sold = 1 where id = 1"),
    );
    assert_eq!(class(first), WORTH_ANOTHER_ATTEMPT, "40P01");
    second.unwrap();
    run(one, "rollback").await.unwrap();

    run(one, "set lock_timeout = '20ms'").await.unwrap();
    let waited = run(one, "update seat set sold = 1 where id = 1").await;
    assert_eq!(class(waited), WORTH_ANOTHER_ATTEMPT, "55P03");
    run(one, "set lock_timeout = 0").await.unwrap();
    run(two, "rollback").await.unwrap();
}

async fn limits_of_time(one: &mut PgConnection, two: &mut PgConnection) {
    run(one, "set statement_timeout = '20ms'").await.unwrap();
    assert_eq!(class(run(one, "select pg_sleep(60)").await), TIMEOUT, "57014");
    run(one, "set statement_timeout = 0").await.unwrap();
    // The same code for a hand that cancels it.
    let id: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut *one)
        .await
        .unwrap();
    let by_hand = async {
        until(async || {
            let running: i64 =
                sqlx::query_scalar("select count(*) from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'")
                    .bind(id)
                    .fetch_one(&mut *two)
                    .await
                    .unwrap();
            (running == 1).then_some(())
        })
        .await;
        sqlx::query("select pg_cancel_backend($1)")
            .bind(id)
            .execute(&mut *two)
            .await
            .unwrap();
    };
    let (slept, ()) = tokio::join!(run(one, "select pg_sleep(60)"), by_hand);
    assert_eq!(class(slept), TIMEOUT);
}

#[breaker("ledger")]
#[retry]
#[fallback(none = "the buyer is told")]
async fn sell(pool: &PgPool, before_the_first_commit: &mut Option<PgConnection>) -> Result<(), Failure<Error>> {
    let mut sale = pool.begin().await?;
    sale.execute("set transaction isolation level repeatable read").await?;
    sale.execute("select * from seat").await?;
    if let Some(mut other) = before_the_first_commit.take() {
        run(&mut other, "update seat set sold = sold + 1 where id = 1").await?;
    }
    sale.execute("update seat set sold = sold + 1 where id = 1").await?;
    Ok(sale.commit().await?)
}

async fn a_guarded_sale_is_made_although_its_first_attempt_lost(one: &mut PgConnection, pool: &PgPool) {
    let before: i32 = sold(one).await;
    let options = pool.connect_options();
    let other = PgConnection::connect_with(&options).await.unwrap();
    sell(pool, &mut Some(other)).await.unwrap();
    assert_eq!(
        sold(one).await,
        before + 2,
        "the other's and ours, which took two attempts"
    );
}

async fn sold(session: &mut PgConnection) -> i32 {
    sqlx::query_scalar("select sold from seat where id = 1")
        .fetch_one(session)
        .await
        .unwrap()
}

#[timeout("ledger.report")]
#[fallback(none = "the report is made tomorrow")]
async fn report(session: &mut PgConnection) -> Result<(), Failure<Error>> {
    run(session, "select count(*) from seat").await?;
    Ok(())
}

/// It keeps its connections and says nothing, and neither does the client: the guard alone ends the wait.
async fn a_frozen_server(postgres: &Postgres) {
    let mut session = session(postgres).await.unwrap();
    report(&mut session).await.unwrap();
    postgres.freeze();
    let cut = report(&mut session).await.unwrap_err();
    assert_eq!(cut.rejection().unwrap().reason(), Reason::TimedOut);
    postgres.thaw();
    until(async || self::session(postgres).await.ok()).await;
}

async fn a_full_server_and_a_full_pool(postgres: &Postgres) {
    let pool = pool(postgres, 1);
    let held = until(async || pool.acquire().await.ok()).await;
    let waited = pool.acquire().await;
    assert!(matches!(waited, Err(Error::PoolTimedOut)));
    assert_eq!(class(waited), CONNECT);

    let mut sessions = Vec::new();
    let refused = loop {
        match session(postgres).await {
            Ok(session) => sessions.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "53300");
    assert_eq!(refused.classify(), CONNECT);
    drop(held);
    pool.close().await;
    assert_eq!(class(pool.acquire().await), Outcome::Ignored, "we closed it ourselves");
}

async fn an_ended_session(postgres: &Postgres, one: &mut PgConnection, mut two: PgConnection) {
    let id: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut two)
        .await
        .unwrap();
    let by_hand = "select pg_terminate_backend($1, 10000)";
    sqlx::query(by_hand).bind(id).execute(&mut *one).await.unwrap();
    assert_eq!(
        class(run(&mut two, "select 1").await),
        CONNECT,
        "57P01, or nobody there"
    );
    assert_eq!(class(run(&mut two, "select 1").await), CONNECT);
    until(async || session(postgres).await.ok()).await;
}

async fn a_stopped_server(postgres: &mut Postgres, mut one: PgConnection) {
    let pool = pool(postgres, 1);
    postgres.stop();
    assert_eq!(class(run(&mut one, "select 1").await), CONNECT);
    assert_eq!(class(session(postgres).await), CONNECT);
    // The pool knocks until its own patience ends, and then says the same as when it is full.
    assert_eq!(class(pool.acquire().await), CONNECT);
    postgres.start_again();
    until(async || pool.acquire().await.ok()).await;
}
