//! reqwest against a real HTTP server: statuses, `Retry-After` in both spellings, and answers that break off.

use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::http::{HeaderName, StatusCode, header};
use axum::routing::get;
use reqwest::{Client, Response};
use resilience_runtime::classify::reqwest::result;
use resilience_runtime::{Classify, Failure, Outcome, breaker, fallback, retry};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{CONNECT, PROTOCOL, SERVER, TIMEOUT};

fn throttled(seconds: u64) -> Outcome {
    Outcome::Throttled {
        retry_after: Some(Duration::from_secs(seconds)),
    }
}

type Answer = (StatusCode, [(HeaderName, String); 1]);

/// Answers `/404` with that status, and the paths below with what they say.
async fn server() -> String {
    let plain = |code: u16| move || async move { StatusCode::from_u16(code).unwrap() };
    let mut routes = Router::new()
        .route("/busy/seconds", get(async || later(429, "30".to_owned())))
        .route("/busy/date", get(async || later(429, in_a_minute())))
        .route("/away/seconds", get(async || later(503, "1".to_owned())))
        .route("/away/date", get(async || later(503, in_a_minute())))
        .route("/broken", get(async || later(500, "30".to_owned())))
        .route("/never", get(std::future::pending::<StatusCode>));
    for code in [200, 400, 401, 402, 404, 408, 409, 422, 429, 500, 502, 503, 504] {
        routes = routes.route(&format!("/{code}"), get(plain(code)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn later(code: u16, when: String) -> Answer {
    let code = StatusCode::from_u16(code).unwrap();
    (code, [(header::RETRY_AFTER, when)])
}

fn in_a_minute() -> String {
    httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60))
}

fn client() -> Client {
    Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .unwrap()
}

#[tokio::test]
async fn statuses_and_retry_after_from_a_real_server() {
    let (server, client) = (server().await, client());
    let class = async |path: &str| {
        let answer = client.get(format!("{server}/{path}")).send().await;
        let class = result(&answer);
        // Turned into an error a status keeps its class, but no header.
        let kept = answer
            .unwrap()
            .error_for_status()
            .map_or_else(|error| error.classify(), |_| Outcome::Success);
        (class, kept)
    };
    let no_time = Outcome::Throttled { retry_after: None };
    for (path, expected) in [
        ("200", Outcome::Success),
        ("400", Outcome::Business),
        ("401", Outcome::Business),
        ("402", Outcome::Business),
        ("404", Outcome::Business),
        ("408", TIMEOUT),
        ("409", Outcome::Business),
        ("422", Outcome::Business),
        ("429", no_time),
        ("500", SERVER),
        ("502", SERVER),
        ("503", SERVER),
        ("504", SERVER),
        ("broken", SERVER),
    ] {
        assert_eq!(class(path).await, (expected, expected), "{path}");
    }
    assert_eq!(class("busy/seconds").await, (throttled(30), no_time));
    assert_eq!(class("away/seconds").await, (throttled(1), SERVER));
    for path in ["busy/date", "away/date"] {
        let Outcome::Throttled {
            retry_after: Some(wait),
        } = class(path).await.0
        else {
            panic!("{path}");
        };
        assert!((58..=60).contains(&wait.as_secs()), "{path}: {wait:?}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_breaks_off() {
    let (server, client) = (server().await, client());
    let never = client.get(format!("{server}/never")).timeout(Duration::from_millis(50));
    assert_eq!(never.send().await.unwrap_err().classify(), TIMEOUT);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let half = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of")
                .await;
        }
    });
    let broken = client.get(&half).send().await.unwrap().bytes().await.unwrap_err();
    assert!([CONNECT, PROTOCOL].contains(&broken.classify()), "{broken:?}");

    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = client.get(format!("http://{free}/")).send().await.unwrap_err();
    assert_eq!(refused.classify(), CONNECT);
}

#[breaker("far", classify = result)]
#[retry]
#[fallback(none = "the caller asks again")]
async fn guarded(client: &Client, url: &str) -> Result<Response, Failure<reqwest::Error>> {
    Ok(client.get(url).send().await?)
}

#[tokio::test]
async fn a_guarded_call_is_made_again_when_the_answer_said_so() {
    let (server, client) = (server().await, client());
    let began = Instant::now();
    let answer = guarded(&client, &format!("{server}/away/seconds")).await.unwrap();
    assert_eq!(
        answer.status(),
        StatusCode::SERVICE_UNAVAILABLE,
        "the last answer, whole"
    );
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "two attempts, a second apart"
    );
}
