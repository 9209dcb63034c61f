//! Whether this process lives, and whether it is of use.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use resilience_runtime::DependencySnapshot;
use serde_json::json;

use crate::admin::Shared;

/// A dependency that is down is no reason to restart this process.
pub(crate) async fn live() -> impl IntoResponse {
    Json(json!({ "live": true }))
}

/// Fails while a dependency that was named refuses every call.
///
/// Half-open is ready: an instance that gets no traffic would never find out that its dependency is back. So is open
/// once its time is over, because reading the snapshot applies the clock.
pub(crate) async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let snapshot = shared.runtime.snapshot();
    let waits_for: Vec<_> = shared
        .ready
        .iter()
        .filter_map(|name| snapshot.dependency(name).map(|dependency| (name, dependency)))
        .filter(|(_, dependency)| refuses(dependency))
        .map(|(name, dependency)| {
            json!({
                "dependency": name,
                "state": dependency.state,
                "mode": dependency.mode,
                "retry_after": dependency.retry_after,
            })
        })
        .collect();
    let status = if waits_for.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        Json(json!({ "ready": waits_for.is_empty(), "waits_for": waits_for })),
    )
}

fn refuses(dependency: &DependencySnapshot) -> bool {
    match dependency.mode {
        "isolate" => true,
        "enforce" => dependency.state == Some("open"),
        _ => false,
    }
}
