//! The router as a service: where it may be mounted, what it answers, and who may act.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use resilience_admin::{Admin, router};
use resilience_runtime::{Failure, Mode, Override, Policy, Runtime};
use serde_json::{Value, json};
use tower::ServiceExt;

const POLICY: &str = r#"
version = 1

[dependency.payrail]
about    = "<img src=x onerror=alert(1)>"
fail     = "closed"
timeout  = "1s"
breaker.window        = "4 calls"
breaker.minimum_calls = 4
breaker.cooldown      = "1h"
bulkhead.max_concurrent = 12

[dependency.payrail.operation.refund]
timeout = "2s"

[dependency.redis]
fail    = "open"
timeout = "50ms"
breaker.window = "20 calls"
"#;
const TOKEN: &str = "an-admin-token-of-a-test";

fn runtime() -> Runtime {
    Runtime::new(Policy::from_toml(POLICY).expect("a good policy"))
}

async fn fail(runtime: &Runtime, dependency: &str, times: usize) {
    let guard = runtime.guard(dependency).expect("a known name");
    for _ in 0..times {
        let refused = || async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
        assert!(matches!(guard.call(refused).await, Err(Failure::Error(_))));
    }
}

async fn ask(app: &Router, request: Request<Body>) -> Response<Body> {
    app.clone().oneshot(request).await.expect("a router never fails")
}

async fn get(app: &Router, path: &str) -> Response<Body> {
    ask(app, Request::get(path).body(Body::empty()).expect("a request")).await
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_str(&text(response).await).expect("JSON")
}

async fn post(
    app: &Router,
    path: &str,
    token: Option<&str>,
    headers: &[(&str, &str)],
    body: &Value,
) -> (StatusCode, Value) {
    let mut request = Request::post(path).header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = ask(app, request.body(Body::from(body.to_string())).expect("a request")).await;
    (response.status(), json_of(response).await)
}

fn acting(runtime: &Runtime) -> Router {
    let admin = Admin::new(runtime.clone()).token(TOKEN).expect("a good token");
    admin.router()
}

fn isolate() -> Value {
    json!({ "dependency": "payrail", "mode": "isolate", "by": "kim", "reason": "drill", "seconds": 60, "answer": "later" })
}

#[tokio::test]
async fn it_may_be_mounted_anywhere_and_the_mount_leads_to_the_page() {
    for (app, mount, page) in [
        (router(runtime()), "/", "page"),
        (
            Router::new().nest("/admin", router(runtime())),
            "/admin",
            "./admin/page",
        ),
        (
            Router::new().nest("/ops/admin", router(runtime())),
            "/ops/admin",
            "./admin/page",
        ),
        (Router::new().nest("/admin/", router(runtime())), "/admin/", "page"),
        (Router::new().merge(router(runtime())), "/", "page"),
    ] {
        let led = get(&app, mount).await;
        assert_eq!(led.status(), StatusCode::TEMPORARY_REDIRECT, "{mount}");
        assert_eq!(led.headers()[LOCATION], page, "{mount}");
        let base = mount.trim_end_matches('/');
        let shown = get(&app, &format!("{base}/page")).await;
        assert_eq!(shown.status(), StatusCode::OK, "{mount}");
        // All that it asks for lies beside it.
        let text = text(shown).await;
        for part in text.split(['"', '\'']).filter(|part| {
            part.rsplit_once('.')
                .is_some_and(|(_, kind)| ["js", "css", "svg"].contains(&kind))
        }) {
            let asset = get(&app, &format!("{base}/{part}")).await;
            assert_eq!(asset.status(), StatusCode::OK, "{mount}: {part}");
        }
        assert!(!text.contains("http"), "no address of anywhere");
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_it() {
    let app = router(runtime());
    for path in ["/page", "/page.js", "/snapshot", "/live", "/", "/dependency/nobody"] {
        let response = get(&app, path).await;
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{path}: {policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("require-trusted-types-for 'script'"));
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn the_snapshot_is_the_runtimes_own() {
    let runtime = runtime();
    fail(&runtime, "payrail", 4).await;
    let app = router(runtime.clone());
    let shown = json_of(get(&app, "/snapshot").await).await;
    let payrail = &shown["dependencies"]["payrail"];
    assert_eq!(
        (&payrail["state"], &payrail["cause"]),
        (&json!("open"), &json!("failure_rate"))
    );
    assert_eq!(shown["policy"]["hash"], runtime.snapshot().policy.hash);

    let one = json_of(get(&app, "/dependency/payrail").await).await;
    assert_eq!(one["snapshot"]["opened"]["counts"]["failure"], 4);
    assert_eq!(get(&app, "/dependency/payrial").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn it_lives_whatever_is_down_and_is_ready_unless_one_of_those_named_refuses() {
    let runtime = runtime();
    let app: Router = Admin::new(runtime.clone()).ready(["redis"]).expect("known").router();
    let status = async |path: &str| get(&app, path).await.status();

    fail(&runtime, "payrail", 4).await;
    assert_eq!(
        (status("/live").await, status("/ready").await),
        (StatusCode::OK, StatusCode::OK)
    );

    fail(&runtime, "redis", 20).await;
    assert_eq!(status("/live").await, StatusCode::OK);
    let ready = get(&app, "/ready").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    let told = json_of(ready).await;
    assert_eq!(
        (&told["ready"], &told["waits_for"][0]["dependency"]),
        (&json!(false), &json!("redis"))
    );

    let isolated = Override::new(Mode::Observe, "kim", "drill", Duration::from_secs(60));
    runtime.set_mode("redis", isolated).expect("a good override");
    assert_eq!(
        status("/ready").await,
        StatusCode::OK,
        "nothing is refused while it is only observed"
    );

    assert!(
        Admin::new(runtime)
            .ready(["rediss"])
            .is_err_and(|error| error.nearest() == Some("redis"))
    );
}

#[tokio::test]
async fn metrics_are_the_text_that_the_service_renders() {
    assert_eq!(
        get(&router(runtime()), "/metrics").await.status(),
        StatusCode::NOT_FOUND
    );
    let app: Router = Admin::new(runtime()).metrics(|| "up 1\n".to_owned()).router();
    let metrics = get(&app, "/metrics").await;
    assert!(
        metrics.headers()[CONTENT_TYPE]
            .to_str()
            .expect("text")
            .starts_with("text/plain; version=0.0.4")
    );
    assert_eq!(text(metrics).await, "up 1\n");
}

#[tokio::test]
async fn with_the_token_a_mode_is_set_and_given_back() {
    let runtime = runtime();
    let app = acting(&runtime);
    let (status, _) = post(&app, "/override", Some(TOKEN), &[], &isolate()).await;
    assert_eq!(status, StatusCode::OK);
    let snapshot = runtime.snapshot();
    let payrail = snapshot.dependency("payrail").expect("known");
    let hand = payrail.overridden.as_ref().expect("set");
    assert_eq!(
        (payrail.mode, hand.by.as_str(), hand.answer.as_deref()),
        ("isolate", "kim", Some("later"))
    );

    let restore = json!({ "dependency": "payrail", "by": "kim", "reason": "over" });
    let of_operation = json!({ "dependency": "payrail.refund", "by": "kim", "reason": "over" });
    let (status, told) = post(&app, "/restore", Some(TOKEN), &[], &of_operation).await;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "the hand is on the dependency: {told}"
    );
    assert_eq!(
        post(&app, "/restore", Some(TOKEN), &[], &restore).await.0,
        StatusCode::OK
    );
    assert_eq!(runtime.snapshot().dependency("payrail").expect("known").mode, "enforce");
    assert_eq!(
        post(&app, "/restore", Some(TOKEN), &[], &restore).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn nobody_else_may_act() {
    let runtime = runtime();
    let (read_only, app) = (router(runtime.clone()), acting(&runtime));
    let good = isolate();
    let evil = [("origin", "https://evil.example"), ("host", "ops.internal")];
    for (app, token, headers, expected) in [
        (&read_only, Some(TOKEN), &[][..], StatusCode::FORBIDDEN),
        (&app, None, &[][..], StatusCode::UNAUTHORIZED),
        (
            &app,
            Some("an-admin-token-of-a-tesT"),
            &[][..],
            StatusCode::UNAUTHORIZED,
        ),
        (&app, Some(TOKEN), &evil[..], StatusCode::FORBIDDEN),
        (
            &app,
            Some(TOKEN),
            &[("sec-fetch-site", "cross-site")][..],
            StatusCode::FORBIDDEN,
        ),
    ] {
        for path in ["/override", "/restore"] {
            let (status, told) = post(app, path, token, headers, &good).await;
            assert_eq!(status, expected, "{path} {token:?} {headers:?}: {told}");
        }
    }
    // A form of another site can send no JSON, and a link can send no POST.
    let form = Request::post("/override").header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    let form = form
        .header(CONTENT_TYPE, "text/plain")
        .body(Body::from(good.to_string()));
    assert_eq!(
        ask(&app, form.expect("a request")).await.status(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    assert_eq!(get(&app, "/override").await.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(runtime.snapshot().dependency("payrail").expect("known").mode, "enforce");
}

#[tokio::test]
async fn an_act_that_says_too_little_or_too_much_is_refused_with_the_way_out() {
    let app = acting(&runtime());
    for (key, value, status, word) in [
        ("by", json!(""), 422, "by"),
        ("reason", json!("  "), 422, "reason"),
        ("mode", json!("closed"), 422, "isolate"),
        ("seconds", json!(0), 422, "seconds"),
        ("seconds", json!(8 * 24 * 3600), 422, "7 days"),
        ("seconds", json!(u64::MAX), 422, "7 days"),
        ("reason", json!("x".repeat(501)), 422, "500"),
        ("dependency", json!("payrial"), 404, "payrail"),
        ("ttl", json!(1), 422, "ttl"),
        ("reason", json!("x".repeat(20_000)), 413, ""),
    ] {
        let mut act = isolate();
        act[key] = value;
        let (answered, told) = post(&app, "/override", Some(TOKEN), &[], &act).await;
        let told = told["error"].as_str().expect("a message");
        assert_eq!(answered.as_u16(), status, "{key}: {told}");
        assert!(told.contains(word), "{key}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_stream_begins_with_everything_and_goes_on_with_what_changed() {
    let runtime = runtime();
    let app = acting(&runtime);
    let response = get(&app, "/events").await;
    assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
    let mut stream = Events::of(response);

    let full = stream.next("frame").await;
    let names: Vec<_> = full["cards"].as_object().expect("cards").keys().collect();
    assert_eq!(names, ["payrail", "payrail.refund", "redis"]);
    assert_eq!((&full["acts"], &full["journal"]), (&json!(true), &json!([])));
    assert_eq!(full["cards"]["payrail"]["failure_limit"], 0.5);

    // Nothing happens: the frame says only that the service is alive.
    let quiet = stream.next("frame").await;
    assert_eq!(quiet["cards"], json!({}));
    assert!(quiet["seq"].as_u64() > full["seq"].as_u64());

    fail(&runtime, "payrail", 4).await;
    let told = stream.next("breaker.transition").await;
    assert_eq!(
        (&told["dependency"], &told["to"], &told["change"]["calls"]),
        (&json!("payrail"), &json!("open"), &json!(4))
    );
    let frame = stream.next("frame").await;
    assert_eq!(frame["cards"]["payrail"]["state"], "open");
    assert_eq!(frame["cards"]["redis"], Value::Null);

    post(&app, "/override", Some(TOKEN), &[], &isolate()).await;
    let told = stream.next("override.set").await;
    assert_eq!(
        (&told["dependency"], &told["by"], &told["message"]),
        (&json!("payrail"), &json!("kim"), &json!("drill"))
    );
    assert_eq!(stream.next("frame").await["cards"]["payrail"]["override"]["by"], "kim");
    let restore = json!({ "dependency": "payrail", "by": "lee", "reason": "over" });
    post(&app, "/restore", Some(TOKEN), &[], &restore).await;
    let told = stream.next("override.cleared").await;
    assert_eq!((&told["by"], &told["message"]), (&json!("lee"), &json!("over")));

    // Who comes later is told all of it.
    let later = Events::of(get(&app, "/events").await).next("frame").await;
    let kinds: Vec<_> = later["journal"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| entry["kind"].clone())
        .collect();
    assert_eq!(kinds, ["breaker.transition", "override.set", "override.cleared"]);
}

#[tokio::test(start_paused = true)]
async fn the_streams_end_with_the_service() {
    let (stop, until) = tokio::sync::watch::channel(false);
    let app: Router = Admin::new(runtime()).until(until).router();
    let mut stream = Events::of(get(&app, "/events").await);
    stream.next("frame").await;
    stop.send_replace(true);
    assert!(stream.is_over().await);
    assert_eq!(get(&app, "/events").await.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(get(&app, "/live").await.status(), StatusCode::OK);
}

#[test]
fn a_router_may_be_made_before_there_is_a_runtime_to_run_it() {
    let app: Router = router(runtime());
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let status = tokio.block_on(async { get(&app, "/live").await.status() });
    assert_eq!(status, StatusCode::OK);
}

/// Server-sent events, one after the other.
struct Events {
    body: Body,
    text: String,
}

impl Events {
    fn of(response: Response<Body>) -> Self {
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    /// The data of the next event; its name has to be this one.
    async fn next(&mut self, name: &str) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |field: &str| event.lines().find_map(|line| line.strip_prefix(field));
                let Some(data) = field("data: ") else { continue };
                assert_eq!(field("event: "), Some(name), "{event}");
                return serde_json::from_str(data).expect("JSON");
            }
            let frame = self.body.frame().await.expect("more to come").expect("no fault");
            let data = frame.into_data().expect("data");
            self.text.push_str(std::str::from_utf8(&data).expect("text"));
        }
    }

    async fn is_over(&mut self) -> bool {
        while let Some(frame) = self.body.frame().await {
            let data = frame.expect("no fault").into_data().expect("data");
            assert!(!std::str::from_utf8(&data).expect("text").contains("event: breaker"));
        }
        true
    }
}
