//! The read replica, which makes the report.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::incident::{Incident, Phase};

const LATENCY: Duration = Duration::from_millis(30);

pub(super) fn router(incident: Arc<Incident>) -> Router {
    Router::new().route("/report", get(report)).with_state(incident)
}

async fn report(State(incident): State<Arc<Incident>>) -> Json<Value> {
    if incident.phase() == Phase::Dead {
        return pending().await;
    }
    sleep(LATENCY).await;
    Json(json!({ "sold": 17_000 }))
}
