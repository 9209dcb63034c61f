//! What the clients give when a real server refuses, dies, freezes or throttles, and what the breaker makes of it.
//!
//! A server that is not installed is passed over with a word on stderr, unless `RESILIENCE_REQUIRE_SERVERS=1`.

mod cache;
mod far;
mod grpc;
mod ledger;
mod page;
mod together;

use std::time::{Duration, Instant};

use resilience_runtime::{FailureKind, Outcome};

const CONNECT: Outcome = Outcome::Failure(FailureKind::Connect);
const PROTOCOL: Outcome = Outcome::Failure(FailureKind::Protocol);
const SERVER: Outcome = Outcome::Failure(FailureKind::Server);
const TIMEOUT: Outcome = Outcome::Failure(FailureKind::Timeout);
const WORTH_ANOTHER_ATTEMPT: Outcome = Outcome::Throttled { retry_after: None };

/// Looks every few milliseconds until it is so, and no longer than a busy machine may need.
async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let by = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < by, "it never came about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
