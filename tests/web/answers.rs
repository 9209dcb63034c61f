//! Refusals as responses of an axum handler.

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use resilience_runtime::{Failure, FailureKind, Reason, Rejection, Runtime, testing};
use serde_json::Value;

use crate::kit::{FarError, Script, parse, secs};

async fn read(response: Response) -> (u16, Option<String>, Value) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let wait = response.headers().get("retry-after");
    let wait = wait.map(|value| value.to_str().unwrap().to_owned());
    let body = to_bytes(response.into_body(), 4096).await.unwrap();
    (status, wait, serde_json::from_slice(&body).unwrap())
}

fn payrail() -> Runtime {
    Runtime::new(parse(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\nbreaker.cooldown = \"30s\"\n\
         breaker.cooldown_jitter = 0.0\nbulkhead.max_concurrent = 1\nbulkhead.retry_after = \"5s\"\n",
    ))
}

async fn checkout(script: &Script) -> Result<String, Failure<FarError>> {
    let guard = Runtime::current().guard("payrail").unwrap();
    let number = guard.call(|| script.run()).await?;
    Ok(format!("receipt {number}"))
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_a_503_with_what_is_left_of_the_cooldown() {
    payrail()
        .scope(async {
            testing::trip("payrail");
            tokio::time::advance(std::time::Duration::from_millis(1_600)).await;
            let (status, wait, problem) = read(checkout(&Script::new("S")).await.into_response()).await;
            // 28.4 s are left: the header is rounded up, the text says the same.
            assert_eq!((status, wait.as_deref()), (503, Some("29")));
            let expected = serde_json::json!({
                "type": "about:blank",
                "title": "Service Unavailable",
                "status": 503,
                "detail": "not available at the moment, try again in 29 s",
            });
            assert_eq!(problem, expected);
            // Who obeys the header meets a breaker that lets him in.
            tokio::time::advance(secs(29)).await;
            assert_eq!(checkout(&Script::new("S")).await.into_response().status(), 200);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn too_slow_is_a_504_without_a_promise_and_too_many_a_503_with_the_policys_seconds() {
    payrail()
        .scope(async {
            let (status, wait, problem) = read(checkout(&Script::new("H")).await.into_response()).await;
            assert_eq!(
                (status, wait, &problem["title"]),
                (504, None, &Value::from("Gateway Timeout"))
            );
            let (slow, quick) = (Script::new("S/1s"), Script::new("S"));
            let (first, second) = tokio::join!(checkout(&slow), checkout(&quick));
            assert_eq!(first.unwrap(), "receipt 1");
            let (status, wait, _) = read(second.into_response()).await;
            assert_eq!((status, wait.as_deref()), (503, Some("5")));
        })
        .await;
}

#[tokio::test]
async fn an_error_of_the_call_is_a_response_by_its_class_alone() {
    let rows = [
        (FarError::Failed(FailureKind::Timeout), 504, None),
        (FarError::Failed(FailureKind::Connect), 502, None),
        (FarError::Failed(FailureKind::Server), 502, None),
        (
            FarError::Throttled(Some(std::time::Duration::from_millis(2_001))),
            503,
            Some("3"),
        ),
        (FarError::Throttled(None), 503, None),
        (FarError::Ignored, 503, None),
        (FarError::Business, 502, None),
    ];
    for (error, status, wait) in rows {
        let (got, said, _) = read(Failure::Error(error).into_response()).await;
        assert_eq!((got, said.as_deref()), (status, wait), "{error}");
    }
}

#[tokio::test]
async fn every_reason_is_a_problem_with_its_own_status_and_a_true_header() {
    for reason in Reason::ALL {
        for wait in [None, Some(std::time::Duration::from_millis(1)), Some(secs(7))] {
            let rejection: Rejection = testing::rejection("payrail", *reason, wait);
            let seconds = rejection.retry_after_secs().map(|seconds| seconds.to_string());
            let (status, said, problem) = read(rejection.clone().into_response()).await;
            assert_eq!(status, rejection.status().as_u16());
            assert_eq!(problem["status"], status);
            assert_eq!(said, seconds);
            assert_eq!(problem["detail"], rejection.to_string());
            let wrapped: Failure<FarError> = rejection.into();
            assert_eq!(wrapped.problem().map(Body::from).status().as_u16(), status);
        }
    }
}
