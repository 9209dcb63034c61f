//! The stream of single calls: who may read it, what it says, and that nobody waits for its reader.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use resilience_admin::Admin;
use resilience_runtime::{Guard, Policy, Runtime};
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt;

const TOKEN: &str = "an-admin-token-of-a-test";

fn runtime() -> (Runtime, Guard) {
    let text = "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = {}\n[dependency.redis]\nfail = \"open\"\n";
    let runtime = Runtime::new(Policy::from_toml(text).unwrap());
    let guard = runtime.guard("payrail").unwrap();
    (runtime, guard)
}

async fn ask(app: &Router, path: &str, token: Option<&str>) -> Response<Body> {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Reads until the stream said its first comment: from then on it records.
async fn begun(response: &mut Response<Body>) {
    let frame = response.body_mut().frame().await.unwrap().unwrap();
    let bytes = frame.into_data().unwrap();
    assert_eq!(&*bytes, b"# {\"calls\":0,\"end\":false,\"lost\":0}\n");
}

async fn call(guard: &Guard, good: bool) {
    let _ = guard
        .call(|| async move {
            if good {
                Ok(())
            } else {
                Err(io::Error::from(io::ErrorKind::ConnectionRefused))
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_recording_is_lines_of_json_with_comments_and_ends_when_it_was_told_to() {
    let (runtime, guard) = runtime();
    let app: Router = Admin::new(runtime).record().router();
    let mut response = ask(&app, "/calls?dependency=payrail&for=2.5", None).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    assert_eq!(response.headers()["cache-control"], "no-store");
    begun(&mut response).await;
    call(&guard, true).await;
    call(&guard, false).await;
    let text = text(response).await;
    let (comments, calls): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let calls: Vec<Value> = calls.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = calls.iter().map(|call| call["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["success", "failure"]);
    assert_eq!(comments.first(), Some(&"# {\"calls\":2,\"end\":false,\"lost\":0}"));
    assert_eq!(comments.last(), Some(&"# {\"calls\":2,\"end\":true,\"lost\":0}"));
    assert_eq!(comments.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn it_is_there_only_where_the_service_says_so_and_behind_the_token_if_there_is_one() {
    let (plain, _) = runtime();
    let app: Router = Admin::new(plain).router();
    let refused = ask(&app, "/calls", None).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    assert!(text(refused).await.contains("`Admin::record` switches it on"));

    let (runtime, _) = runtime();
    let app: Router = Admin::new(runtime).token(TOKEN).unwrap().record().router();
    for (token, status) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("another-token-of-a-test"), StatusCode::UNAUTHORIZED),
        (Some(TOKEN), StatusCode::OK),
    ] {
        assert_eq!(ask(&app, "/calls?for=0", token).await.status(), status, "{token:?}");
    }
    let unknown = ask(&app, "/calls?dependency=payrial", Some(TOKEN)).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    assert!(text(unknown).await.contains("did you mean `payrail`?"));
    for wrong in ["-1", "nan", "soon"] {
        let refused = ask(&app, &format!("/calls?for={wrong}"), Some(TOKEN)).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn four_may_record_at_once_and_one_who_leaves_makes_room() {
    let (runtime, _) = runtime();
    let app: Router = Admin::new(runtime).record().router();
    let mut readers = Vec::new();
    for _ in 0..4 {
        readers.push(ask(&app, "/calls", None).await);
    }
    let fifth = ask(&app, "/calls", None).await;
    assert_eq!(fifth.status(), StatusCode::SERVICE_UNAVAILABLE);
    readers.pop();
    // The next comment finds nobody, within a second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(ask(&app, "/calls?for=0", None).await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_does_not_read_loses_calls_hears_of_it_and_holds_nobody_up() {
    let (runtime, guard) = runtime();
    let app: Router = Admin::new(runtime).record().router();
    let mut response = ask(&app, "/calls?for=20", None).await;
    begun(&mut response).await;
    let before = tokio::time::Instant::now();
    for _ in 0..70_000 {
        call(&guard, true).await;
    }
    assert_eq!(before.elapsed(), Duration::ZERO, "no call waited");
    let text = text(response).await;
    let last: Value = serde_json::from_str(text.lines().last().unwrap().trim_start_matches('#')).unwrap();
    let count = |name: &str| last[name].as_u64().unwrap();
    assert_eq!(count("calls") + count("lost"), 70_000);
    assert!(count("lost") > 0 && count("calls") >= 65_536, "{last}");
    assert_eq!(
        text.lines().filter(|line| !line.starts_with('#')).count() as u64,
        count("calls")
    );
}

#[tokio::test(start_paused = true)]
async fn one_who_reads_nothing_for_half_a_minute_is_cut_off_and_costs_nothing_any_more() {
    let (runtime, guard) = runtime();
    let app: Router = Admin::new(runtime).record().router();
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(ask(&app, "/calls", None).await);
    }
    for _ in 0..40 {
        call(&guard, true).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(ask(&app, "/calls?for=0", None).await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_down_ends_its_recordings_as_they_should_end() {
    let (runtime, guard) = runtime();
    let (stop, until) = watch::channel(false);
    let app: Router = Admin::new(runtime).until(until).record().router();
    let mut response = ask(&app, "/calls", None).await;
    begun(&mut response).await;
    call(&guard, true).await;
    stop.send(true).unwrap();
    let text = text(response).await;
    assert!(text.ends_with("# {\"calls\":1,\"end\":true,\"lost\":0}\n"), "{text}");
}
