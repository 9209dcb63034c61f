//! What of a request was lesser: in its response, for middleware, and in the snapshot.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use resilience_runtime::tower::{Degraded, DegradedLayer};
use resilience_runtime::{Freshness, Runtime, Served, breaker, fallback};
use tower_service::Service;

use crate::kit::{FarError, Script, parse};

/// The labels are lines of the policy: `label = "seats"`, or nothing.
fn hall([seats, reports]: [&str; 2]) -> Runtime {
    Runtime::new(parse(&format!(
        "version = 1\n[defaults]\ntimeout = \"1s\"\nbreaker = {{}}\n\
         [dependency.seatmap]\nfail = \"open\"\n{seats}\n[dependency.replica]\nfail = \"open\"\n{reports}\n"
    )))
}

#[breaker("seatmap")]
#[fallback(value = Served::fresh(0))]
async fn seats(script: &Script) -> Result<Served<usize>, FarError> {
    script.run().await.map(Served::fresh)
}

#[breaker("replica")]
#[fallback(value = 0)]
async fn report(script: &Script) -> Result<usize, FarError> {
    script.run().await
}

async fn page(mapped: &'static str, reported: &'static str) -> String {
    let script = Script::new(mapped);
    let first = seats(&script).await.unwrap();
    seats(&script).await.unwrap();
    report(&Script::new(reported)).await.unwrap();
    let fresh = first.freshness == Freshness::Fresh;
    if fresh { "fresh" } else { "lesser" }.to_owned()
}

fn router() -> Router {
    Router::new()
        .route("/good", get(|| page("S", "S")))
        .route("/lesser", get(|| page("F", "F")))
        .route("/report", get(|| page("S", "F")))
        .route(
            "/broken",
            get(|| async { Err::<String, _>(axum::http::StatusCode::NOT_FOUND) }),
        )
        .layer(DegradedLayer::new())
        .layer(from_fn(middleware))
}

/// Outside of the layer: the extension is there for it.
async fn middleware(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let parts = response
        .extensions()
        .get::<Degraded>()
        .map_or(99, |degraded| degraded.parts().len());
    response.headers_mut().insert("parts", parts.into());
    response
}

async fn ask(router: &Router, path: &str) -> Response {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let answer: Result<Response, Infallible> = router.clone().call(request).await;
    answer.unwrap()
}

fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

const LABELS: [&str; 2] = ["label = \"seats\"", "label = \"what others say\""];

#[tokio::test(start_paused = true)]
async fn a_response_names_what_was_lesser_by_label_and_nothing_else() {
    let router = router();
    let named = hall(LABELS);
    named
        .scope(async {
            let good = ask(&router, "/good").await;
            assert_eq!((header(&good, "degraded"), header(&good, "parts")), (None, Some("0")));
            let lesser = ask(&router, "/lesser").await;
            assert_eq!(header(&lesser, "degraded"), Some("seats, what%20others%20say"));
            assert_eq!(header(&lesser, "parts"), Some("3"));
        })
        .await;
    let unnamed = hall([LABELS[0], ""]);
    unnamed
        .scope(async {
            let report = ask(&router, "/report").await;
            assert_eq!(
                (header(&report, "degraded"), header(&report, "parts")),
                (None, Some("1"))
            );
            assert_eq!(header(&ask(&router, "/lesser").await, "degraded"), Some("seats"));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn tw_r02_the_share_of_requests_with_any_fallback_stands_in_the_snapshot() {
    let runtime = hall(LABELS);
    runtime
        .scope(async {
            let router = router();
            assert_eq!(runtime.snapshot().requests.total, 0);
            for path in ["/good", "/lesser", "/report", "/broken"] {
                ask(&router, path).await;
            }
            let requests = runtime.snapshot().requests;
            assert_eq!((requests.total, requests.degraded), (4, 2));
            assert!((requests.degraded_ratio - 0.5).abs() < 1e-9, "{requests:?}");
            let json = serde_json::to_value(runtime.snapshot()).unwrap();
            let expected = serde_json::json!({ "total": 4, "degraded": 2, "degraded_ratio": 0.5 });
            assert_eq!(json["requests"], expected);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_header_may_have_another_name() {
    hall(LABELS)
        .scope(async {
            let name = axum::http::HeaderName::from_static("x-lesser");
            let router = Router::new()
                .route("/", get(|| page("F", "S")))
                .layer(DegradedLayer::new().header(name));
            let response = ask(&router, "/").await;
            let headers = (header(&response, "degraded"), header(&response, "x-lesser"));
            assert_eq!(headers, (None, Some("seats")));
        })
        .await;
}
