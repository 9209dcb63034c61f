//! The load: a steady stream of requests to each twin, which does not slow down because the answers do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::book::{Answer, Book, Source};
use crate::incident::Incident;
use crate::service::{FRESHNESS, Route, Service, Twin};

/// A buyer leaves after that; his request is dropped, wherever it is.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_500);

/// Different seat maps that are asked for.
const SHOWS: u64 = 24;

/// Words that an answer to a client must not hold.
const INTERNALS: [&str; 8] = [
    "payrail",
    "seatmap",
    "replica",
    "127.0.0.1",
    "breaker",
    "bulkhead",
    "circuit",
    "cooldown",
];

const fn per_second(route: Route) -> u32 {
    match route {
        Route::Checkout => 50,
        Route::Seats => 80,
        Route::Report => 8,
    }
}

/// Both twins' callers. Dropping it ends the load; requests under way are still answered and recorded.
pub(crate) struct Load(Vec<AbortHandle>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Load {
    pub(crate) fn start(book: &Arc<Book>, incident: &Arc<Incident>, twins: &[Service; 2]) -> reqwest::Result<Self> {
        let mut streams = Vec::new();
        for twin in [Twin::Guarded, Twin::Unguarded] {
            let callers = Arc::new(Callers {
                http: reqwest::Client::builder()
                    .no_proxy()
                    .pool_max_idle_per_host(64)
                    .build()?,
                base: format!("http://{}", twins[twin as usize].address),
                twin,
                calls: AtomicU64::new(0),
                book: Arc::clone(book),
                incident: Arc::clone(incident),
            });
            for route in Route::ALL {
                streams.push(tokio::spawn(Arc::clone(&callers).stream(route)).abort_handle());
            }
            if twin == Twin::Guarded {
                streams.push(tokio::spawn(callers.look()).abort_handle());
            }
        }
        Ok(Self(streams))
    }
}

struct Callers {
    http: reqwest::Client,
    base: String,
    twin: Twin,
    calls: AtomicU64,
    book: Arc<Book>,
    incident: Arc<Incident>,
}

impl Callers {
    /// Open loop: the next call begins when its time has come, whatever became of the ones before it.
    async fn stream(self: Arc<Self>, route: Route) {
        let gap = Duration::from_secs(1) / per_second(route);
        // Not all streams at the same instant: the percentiles would show the collision and nothing else.
        sleep(gap * (self.twin as u32 * 3 + route as u32) / 6).await;
        let mut ticks = interval(gap);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        loop {
            ticks.tick().await;
            tokio::spawn(Arc::clone(&self).call(route));
        }
    }

    // resilience: unguarded, because it plays the balancer
    /// Looks ten times a second whether the service is alive, as a balancer would.
    async fn look(self: Arc<Self>) {
        let mut ticks = interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let (stage, begun) = (self.incident.stage(), Instant::now());
            if self.http.get(format!("{}/alive", self.base)).send().await.is_ok() {
                self.book.alive(stage, begun.elapsed());
            }
        }
    }

    async fn call(self: Arc<Self>, route: Route) {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let stage = self.incident.stage();
        let request = match route {
            Route::Checkout => self.http.post(format!("{}/checkout/{number}", self.base)),
            Route::Seats => self.http.get(format!("{}/seats/{}", self.base, number % SHOWS)),
            Route::Report => self.http.get(format!("{}/report", self.base)),
        };
        let begun = Instant::now();
        let mut answer = timeout(PATIENCE, ask(request)).await.unwrap_or_default();
        answer.took = begun.elapsed();
        answer.order = (route == Route::Checkout).then_some(number);
        self.book.record(self.twin, route, stage, &answer);
    }
}

// resilience: unguarded, because it plays the buyers
/// What a client can tell from the answer; without one, what it can tell from that.
async fn ask(request: RequestBuilder) -> Answer {
    let Ok(response) = request.send().await else {
        return Answer::default();
    };
    let mut answer = Answer {
        status: Some(response.status().as_u16()),
        source: source(&response),
        retry_after: number(response.headers()),
        ..Answer::default()
    };
    let body = response.text().await.unwrap_or_default().to_lowercase();
    answer.names_internals = INTERNALS.iter().any(|word| body.contains(word));
    answer
}

/// A declined card is an answer of the primary, and the one that the buyer needs.
fn source(response: &Response) -> Source {
    let freshness = response.headers().get(FRESHNESS).and_then(|word| word.to_str().ok());
    match (response.status().as_u16(), freshness) {
        (200, Some("fallback")) => Source::Fallback,
        (200, Some("stale")) => Source::Stale,
        (200 | 201 | 402, _) => Source::Primary,
        _ => Source::Error,
    }
}

fn number(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}
