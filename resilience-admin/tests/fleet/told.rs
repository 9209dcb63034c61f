//! What is logged when the Redis of a fleet goes and comes back.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use resilience_admin::{Admin, Fleet};
use resilience_runtime::{Policy, Runtime};
use resilience_test_servers::Redis;
use serde_json::Value;
use tokio::time::sleep;
use tower::ServiceExt as _;

use crate::{INTERVAL, PATIENCE};

const LOOK: Duration = Duration::from_millis(20);

/// What is logged, as lines of text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic under it").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// What was told of the fleet so far: that it was lost, that it was heard again, and so on, nothing twice.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().expect("no panic under it").clone()).expect("text");
        let told = text.lines().filter(|line| line.contains("event=\"fleet."));
        let lines: Vec<_> = told.map(ToOwned::to_owned).collect();
        let turns = [
            ["WARN", "event=\"fleet.lost\"", "why="],
            ["INFO", "event=\"fleet.heard\"", "seconds="],
        ];
        for (line, words) in lines.iter().zip(turns.iter().cycle()) {
            assert!(words.iter().all(|word| line.contains(word)), "{words:?} in {lines:?}");
        }
        lines
    }

    /// The last line, as soon as it tells of `event`.
    async fn until(&self, event: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines();
            if let Some(line) = lines.last().filter(|line| line.contains(event)) {
                return line.clone();
            }
            assert!(Instant::now() < end, "never told: {event}, but {lines:?}");
            sleep(LOOK).await;
        }
    }
}

async fn view(app: &Router) -> Value {
    let asked = Request::get("/fleet").body(Body::empty()).expect("a request");
    let answer = app.clone().oneshot(asked).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&body).expect("JSON")
}

/// Waits until the Redis was asked in vain for so long, which is more than once.
async fn lost_for(app: &Router, seconds: f64) {
    let end = Instant::now() + PATIENCE;
    while view(app).await["lost_for"].as_f64().is_none_or(|lost| lost < seconds) {
        assert!(Instant::now() < end, "never lost for {seconds} s");
        sleep(LOOK).await;
    }
}

#[tokio::test]
async fn each_loss_and_each_return_is_told_once_with_its_reason_and_its_length() {
    let Some(mut redis) = Redis::start() else { return };
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone());
    // What the other test starts are processes of their own.
    tracing::subscriber::set_global_default(lines.finish()).expect("no other test listens");
    let runtime = Runtime::new(Policy::from_toml("version = 1").expect("a good policy"));
    let fleet = Fleet::new(&redis.url()).expect("an address");
    let app: Router = Admin::new(runtime)
        .fleet(fleet.name("told").interval(INTERVAL))
        .router();
    let end = Instant::now() + PATIENCE;
    while view(&app).await["instances"] != 1 {
        assert!(Instant::now() < end, "it never met itself: {}", view(&app).await);
        sleep(LOOK).await;
    }

    redis.freeze();
    lost_for(&app, 2.0).await;
    log.until("fleet.lost").await;
    redis.thaw();
    log.until("fleet.heard").await;

    redis.kill();
    lost_for(&app, 2.0).await;
    let lost = log.until("fleet.lost").await;
    assert!(lost.contains("this instance goes on by itself"), "{lost}");
    redis.start_again(&[]);
    let heard = log.until("fleet.heard").await;
    let seconds = heard.split("seconds=").nth(1).and_then(|rest| rest.split(' ').next());
    let seconds: u64 = seconds.and_then(|seconds| seconds.parse().ok()).expect("a number");
    assert!((1..30).contains(&seconds), "{heard}");
}
