//! The seat-map store: fast, in memory, and not quite perfect.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::time::sleep;

use crate::incident::{Incident, Phase};

const LATENCY: Duration = Duration::from_millis(2);
/// One read in so many is answered 500, as happens to every store on every day. A retry hides it.
const HICCUP: u64 = 97;

struct Store {
    incident: Arc<Incident>,
    reads: AtomicU64,
}

pub(super) fn router(incident: Arc<Incident>) -> Router {
    Router::new()
        .route("/seats/{show}", get(seats))
        .with_state(Arc::new(Store {
            incident,
            reads: AtomicU64::new(1),
        }))
}

async fn seats(State(store): State<Arc<Store>>, Path(show): Path<u32>) -> Response {
    if store.incident.phase() == Phase::Dead {
        return pending().await;
    }
    sleep(LATENCY).await;
    if store.reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(HICCUP) {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    Json(json!({ "show": show, "free": 120 })).into_response()
}
