//! Every form of a fallback, and every option of a layer, at its simplest.

use std::time::Duration;

use resilience_runtime::testing::trip;
use resilience_runtime::{
    Classify, Failure, FailureKind, Freshness, Outcome, Rejection, Served, breaker, bulkhead, fallback, retry,
};

use crate::kit::*;

#[breaker("payrail")]
#[fallback(value = format!("{name} {}", n + 1))]
async fn value(name: &str, n: u32) -> Res<String> {
    tick().await;
    if n == 0 {
        Err(AppError::Down)
    } else {
        Ok(name.to_owned())
    }
}

async fn noted(n: u32, failure: Failure<AppError>) -> Res<u32> {
    match failure {
        Failure::Rejected(_) => Ok(n + 1),
        Failure::Error(_) => Ok(n + 2),
    }
}

#[breaker("payrail")]
#[fallback(with = noted, one_per = (n, "tenant"))]
async fn with(n: u32) -> Res<u32> {
    Err(AppError::Down)
}

#[breaker("payrail")]
#[fallback(stale(key = name))]
#[fallback(stale(shared))]
#[fallback(none = "nothing kept yet")]
async fn stale(name: String, up: &bool) -> Res<String> {
    tick().await;
    if *up { Ok(name) } else { Err(AppError::Down) }
}

#[breaker("payrail")]
#[fallback(stale)]
async fn alone() -> Res<u32> {
    Ok(1)
}

fn refusal(rejection: Rejection) -> AppError {
    AppError::Shed(rejection.dependency().to_owned())
}

#[derive(Debug, PartialEq, Classify)]
#[classify(server)]
struct Plain;

fn plain(_: Rejection) -> Plain {
    Plain
}

#[breaker("payrail")]
#[fallback(refuse = plain)]
async fn never(n: u32) -> Result<u32, Plain> {
    Ok(n)
}

#[breaker("payrail")]
#[fallback(refuse = refusal)]
async fn refuse(n: u32) -> Res<u32> {
    if n == 0 { Err(AppError::Down) } else { Ok(n) }
}

fn is_some(answer: &Option<u32>) -> Outcome {
    if answer.is_some() {
        Outcome::Success
    } else {
        Outcome::Failure(FailureKind::Other)
    }
}

async fn maybe_more(n: u32) -> Option<u32> {
    (n > 10).then_some(n)
}

#[breaker("payrail", classify = is_some)]
#[fallback(maybe_more)]
#[fallback(value = Some(n + 1))]
async fn no_result(n: u32) -> Option<u32> {
    tick().await;
    (n > 100).then_some(n)
}

fn all_good(_: &Res<u32>) -> Outcome {
    Outcome::Success
}

#[breaker("payrail", classify = all_good)]
#[retry]
#[fallback(value = 7)]
async fn judged(n: u32) -> Res<u32> {
    Err(AppError::Bad(n))
}

async fn lesser(n: u32) -> Res<Served<u32>> {
    Ok(Served::fresh(n + 1))
}

#[breaker("payrail")]
#[fallback(lesser)]
async fn marked(n: u32) -> Res<Served<u32>> {
    if n == 0 {
        Err(AppError::Down)
    } else {
        Ok(Served::fresh(n))
    }
}

#[bulkhead("ledger", key = tenant)]
#[fallback(none = "none")]
async fn per_key(tenant: String) -> Res<usize> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(tenant.len())
}

#[test]
fn each_form_gives_what_it_says() {
    block_on(async {
        assert_eq!(is_send(value("a", 0)).await, Ok("a 1".to_owned()));
        assert_eq!(is_send(with(1)).await, Ok(3));
        assert_eq!(is_send(stale("a".into(), &false)).await, Err(AppError::Down));
        assert_eq!(stale("a".into(), &true).await, Ok("a".to_owned()));
        assert_eq!(stale("a".into(), &false).await, Ok("a".to_owned()));
        assert_eq!(stale("b".into(), &false).await, Ok("a".to_owned()));
        assert_eq!(alone().await, Ok(1));
        assert_eq!(refuse(0).await, Err(AppError::Down));
        // Whatever a path gives is an answer here: nothing tells an error from one.
        assert_eq!(is_send(no_result(1)).await, None);
        assert_eq!(no_result(11).await, Some(11));
        assert_eq!(no_result(101).await, Some(101));
        assert_eq!(is_send(judged(1)).await, Err(AppError::Bad(1)));
        assert_eq!(
            marked(0).await.map(|served| (served.value, served.freshness)),
            Ok((1, Freshness::Fallback))
        );
        assert_eq!(marked(2).await.map(|served| served.freshness), Ok(Freshness::Fresh));
        trip("payrail");
        assert_eq!(alone().await, Ok(1));
        assert_eq!(with(1).await, Ok(2));
        assert_eq!(judged(1).await, Ok(7));
        assert_eq!(refuse(1).await, Err(AppError::Shed("payrail".to_owned())));
        assert_eq!(never(1).await, Err(Plain));
    });
}

#[test]
fn a_key_has_slots_of_its_own() {
    let (first, second, other) =
        block_on(async { tokio::join!(per_key("a".into()), per_key("a".into()), per_key("bb".into())) });
    assert_eq!(first, Ok(1));
    assert!(matches!(second, Err(AppError::Shed(_))));
    assert_eq!(other, Ok(2));
}

#[derive(Classify)]
enum Every<E> {
    #[classify(business)]
    Business,
    #[classify(timeout)]
    Timeout(#[expect(dead_code)] u8),
    #[classify(connect)]
    Connect { _why: String },
    #[classify(server)]
    Server,
    #[classify(protocol)]
    Protocol,
    #[classify(other)]
    Other,
    #[classify(ignored)]
    Ignored,
    #[classify(throttled)]
    Throttled,
    #[classify(throttled(retry_after = 1))]
    Later(#[expect(dead_code)] u8, Duration),
    #[classify(throttled(retry_after = after))]
    Maybe { after: Option<Duration> },
    #[classify(transparent)]
    Inner(E),
    #[classify(transparent)]
    Io { source: std::io::Error },
    #[classify(with = by_code)]
    Code(u16, bool),
    #[classify(with = nothing)]
    Nothing,
}

fn by_code(code: &u16, ours: &bool) -> Outcome {
    if *ours || *code < 500 {
        Outcome::Business
    } else {
        Outcome::Failure(FailureKind::Server)
    }
}

fn nothing() -> Outcome {
    Outcome::Ignored
}

#[derive(Classify)]
#[classify(throttled(retry_after = 0))]
struct Wait(Duration);

#[derive(Classify)]
enum Nobody {}

#[test]
fn classify_is_derived_for_every_class() {
    let second = Duration::from_secs(1);
    let class = |error: Every<AppError>| error.classify();
    assert_eq!(class(Every::Business), Outcome::Business);
    assert_eq!(class(Every::Timeout(1)), Outcome::Failure(FailureKind::Timeout));
    assert_eq!(
        class(Every::Connect { _why: String::new() }),
        Outcome::Failure(FailureKind::Connect)
    );
    assert_eq!(class(Every::Server), Outcome::Failure(FailureKind::Server));
    assert_eq!(class(Every::Protocol), Outcome::Failure(FailureKind::Protocol));
    assert_eq!(class(Every::Other), Outcome::Failure(FailureKind::Other));
    assert_eq!(class(Every::Ignored), Outcome::Ignored);
    assert_eq!(class(Every::Throttled), Outcome::Throttled { retry_after: None });
    assert_eq!(
        class(Every::Later(1, second)),
        Outcome::Throttled {
            retry_after: Some(second)
        }
    );
    assert_eq!(
        class(Every::Maybe { after: None }),
        Outcome::Throttled { retry_after: None }
    );
    assert_eq!(class(Every::Inner(AppError::Bad(1))), Outcome::Business);
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    assert_eq!(
        class(Every::Io { source: refused }),
        Outcome::Failure(FailureKind::Connect)
    );
    assert_eq!(class(Every::Code(404, false)), Outcome::Business);
    assert_eq!(class(Every::Code(500, false)), Outcome::Failure(FailureKind::Server));
    assert_eq!(class(Every::Nothing), Outcome::Ignored);
    assert_eq!(
        Wait(second).classify(),
        Outcome::Throttled {
            retry_after: Some(second)
        }
    );
    let _ = |nobody: Nobody| nobody.classify();
}
