//! Annotated functions, however they are reached, and what they see of their caller.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

use resilience_runtime::{Runtime, breaker, bulkhead, fallback, retry, testing};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use crate::kit::{FarError, Script, parse};
use crate::listener::Log;

const TWO: &str = r#"
version = 1
[dependency.seatmap]
fail = "open"
timeout = "1s"
breaker = { window = "2 calls", failure_rate = 1.0 }
"#;

struct Client {
    body: Script,
}

impl Client {
    /// Reached by `outer`, and by nobody else.
    #[breaker("seatmap")]
    #[fallback(none = "shown as it is")]
    async fn inner(&self) -> Result<usize, FarError> {
        self.body.run().await
    }

    async fn outer(&self) -> Result<usize, FarError> {
        self.inner().await
    }

    #[breaker("seatmap")]
    #[fallback(none = "shown as it is")]
    async fn down(&self, depth: u32) -> Result<usize, FarError> {
        if depth == 0 {
            return self.body.run().await;
        }
        Box::pin(self.down(depth - 1)).await
    }
}

type Boxed<'c> = Pin<Box<dyn Future<Output = Result<usize, FarError>> + Send + 'c>>;

trait Maps {
    fn seats(&self) -> Boxed<'_>;
}

impl Maps for Client {
    fn seats(&self) -> Boxed<'_> {
        Box::pin(self.inner())
    }
}

#[breaker("seatmap")]
#[fallback(none = "shown as it is")]
async fn free(body: Script) -> Result<usize, FarError> {
    body.run().await
}

async fn pointed(function: fn(Script) -> Boxed<'static>, body: Script) -> Result<usize, FarError> {
    function(body).await
}

#[tokio::test(start_paused = true)]
async fn lif_05_however_it_is_reached_it_is_protected() {
    let ways: [fn(&Client) -> Boxed<'_>; 4] = [
        |client| Box::pin(client.outer()),
        |client| Box::pin(client.down(3)),
        |client| {
            let dynamic: &dyn Maps = client;
            dynamic.seats()
        },
        |client| Box::pin(pointed(|body| Box::pin(free(body)), client.body.clone())),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let client = Client { body: Script::new("F") };
        let runtime = Runtime::new(parse(TWO));
        runtime
            .scope(async {
                testing::trip("seatmap");
                assert_eq!(way(&client).await, Err(FarError::Rejected("open")), "way {number}");
                assert_eq!(client.body.starts(), 0);
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_23_two_functions_of_one_dependency_share_its_breaker_on_purpose() {
    let client = Client { body: Script::new("F") };
    Runtime::new(parse(TWO))
        .scope(async {
            assert!(client.outer().await.is_err() && free(client.body.clone()).await.is_err());
            assert_eq!(client.down(0).await, Err(FarError::Rejected("open")));
            assert_eq!(client.body.starts(), 2);
        })
        .await;
}

mod here {
    use super::{FarError, Script, breaker, fallback};

    #[breaker("seatmap")]
    #[fallback(none = "shown as it is")]
    pub(super) async fn same_name(body: &Script) -> Result<usize, FarError> {
        body.run().await
    }
}

mod there {
    use super::{FarError, Script, breaker, fallback};

    #[breaker("seatmap")]
    #[fallback(none = "shown as it is")]
    pub(super) async fn same_name(body: &Script) -> Result<usize, FarError> {
        body.run().await
    }
}

#[tokio::test(start_paused = true)]
async fn met_13_functions_of_one_name_are_told_apart_by_their_modules() {
    let runtime = Runtime::new(parse(TWO));
    let body = Script::new("S");
    runtime
        .scope(async { (here::same_name(&body).await, there::same_name(&body).await) })
        .await
        .0
        .unwrap();
    let read = runtime.snapshot().dependency("seatmap").unwrap().clone();
    let named: Vec<_> = read
        .functions
        .iter()
        .filter(|name| name.ends_with("::same_name"))
        .collect();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(named[0].ends_with("identity::here::same_name") && named[1].ends_with("identity::there::same_name"));
    assert_eq!(read.calls, 2);
}

tokio::task_local! {
    static WHO: u32;
}

/// The task-local value, the span and the task.
type Caller = (u32, Option<tracing::span::Id>, Option<tokio::task::Id>);

static SEEN: Mutex<Vec<Caller>> = Mutex::new(Vec::new());

fn look() {
    SEEN.lock()
        .unwrap()
        .push((WHO.get(), tracing::Span::current().id(), tokio::task::try_id()));
}

async fn looking(_: &Script) -> Result<usize, FarError> {
    look();
    tokio::task::yield_now().await;
    look();
    Ok(0)
}

#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[fallback(looking)]
async fn looked_at(body: &Script) -> Result<usize, FarError> {
    look();
    let answer = body.run().await;
    look();
    answer
}

#[tokio::test(start_paused = true)]
async fn lif_06_every_run_and_the_fallback_see_their_callers_task_and_span() {
    use tracing::Instrument;

    let quiet = crate::listener::listens(Registry::default().with(tracing_subscriber::filter::LevelFilter::INFO));
    let runtime = Runtime::new(parse(
        r#"
            version = 1
            [dependency.seatmap]
            fail = "open"
            timeout = "1s"
            retry = { max_attempts = 2, backoff = "10ms" }
            "#,
    ));
    let span = tracing::info_span!("order");
    let (expected, body) = (span.id(), Script::new("F/5ms"));
    let call = WHO.scope(7, runtime.scope(looked_at(&body)).instrument(span));
    assert_eq!(call.await, Ok(0));
    drop(quiet);
    let seen = SEEN.lock().unwrap();
    assert_eq!(seen.len(), 6);
    assert!(expected.is_some());
    assert!(
        seen.iter()
            .all(|one| *one == (7, expected.clone(), tokio::task::try_id())),
        "{seen:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_that_the_scopes_policy_lacks_has_the_numbers_compiled_in_and_that_is_said_once() {
    let log = Log::default();
    let _listens = log.listen();
    let runtime = Runtime::new(parse("version = 1\n[dependency.other]\nfail = \"open\"\n"));
    runtime
        .scope(async {
            for _ in 0..3 {
                free(Script::new("S")).await.unwrap();
            }
            // The numbers compiled in bound it too: two attempts, as the workspace's own policy says.
            let client = Client { body: Script::new("H") };
            assert_eq!(client.outer().await, Err(FarError::Rejected("timed_out")));
        })
        .await;
    assert!(runtime.snapshot().dependency("seatmap").is_none());
    let log = log.text();
    let said: Vec<_> = log
        .lines()
        .filter(|line| line.contains("the numbers compiled in are used"))
        .collect();
    assert_eq!(said.len(), 1, "{log}");
    assert!(
        said[0].contains("WARN") && said[0].contains("`seatmap` is not in the policy"),
        "{log}"
    );
}
