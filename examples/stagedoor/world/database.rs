//! The primary database. It never fails here; what it must be spared is the load that the store takes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Seen;

/// A seat map costs it ten times what it costs the store.
const SEATS: Duration = Duration::from_millis(25);
const REPORT: Duration = Duration::from_millis(60);

pub(super) fn router(seen: Arc<Seen>) -> Router {
    Router::new()
        .route("/seats/{show}", get(seats))
        .route("/report", get(report))
        .with_state(seen)
}

async fn seats(State(seen): State<Arc<Seen>>, Path(show): Path<u32>) -> Json<Value> {
    let _reading = seen.read();
    sleep(SEATS).await;
    Json(json!({ "show": show, "free": 119 }))
}

async fn report() -> Json<Value> {
    sleep(REPORT).await;
    Json(json!({ "sold": 17_003 }))
}
