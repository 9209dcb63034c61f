//! Payrail, the payment provider.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::Seen;
use crate::incident::{Incident, Phase};

const LATENCY: Duration = Duration::from_millis(40);
const SLOW: Duration = Duration::from_millis(800);
/// Charges a second that it takes while it throttles.
const QUOTA: u32 = 15;

struct Payrail {
    incident: Arc<Incident>,
    seen: Arc<Seen>,
    quota: Mutex<Quota>,
}

pub(super) fn router(incident: Arc<Incident>, seen: Arc<Seen>) -> Router {
    let quota = Mutex::new(Quota {
        since: Instant::now(),
        taken: 0,
    });
    Router::new()
        .route("/charges", post(charge))
        .with_state(Arc::new(Payrail { incident, seen, quota }))
}

async fn charge(State(payrail): State<Arc<Payrail>>, Json(order): Json<Value>) -> Response {
    payrail.seen.charges.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    match payrail.incident.phase() {
        Phase::Healthy | Phase::Back => charged(LATENCY, &order).await,
        Phase::Slow => charged(SLOW, &order).await,
        Phase::Dead => pending().await,
        Phase::Declining => {
            sleep(LATENCY).await;
            (
                StatusCode::PAYMENT_REQUIRED,
                Json(json!({ "declined": "insufficient funds" })),
            )
                .into_response()
        }
        Phase::Throttling if payrail.quota.lock().unwrap_or_else(PoisonError::into_inner).take() => {
            charged(LATENCY, &order).await
        }
        Phase::Throttling => (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")]).into_response(),
    }
}

async fn charged(latency: Duration, order: &Value) -> Response {
    sleep(latency).await;
    (StatusCode::CREATED, Json(json!({ "charge": order["order"] }))).into_response()
}

/// A second's worth of charges, then nothing until the next second.
struct Quota {
    since: Instant,
    taken: u32,
}

impl Quota {
    fn take(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self {
                since: Instant::now(),
                taken: 0,
            };
        }
        self.taken += 1;
        self.taken <= QUOTA
    }
}
