//! All that is known, as JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::admin::Shared;

pub(crate) async fn snapshot(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    Json(shared.runtime.snapshot())
}

/// One dependency or operation, with its last two minutes.
pub(crate) async fn dependency(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let snapshot = shared.runtime.snapshot();
    match snapshot.dependency(&name) {
        Some(dependency) => {
            let series = shared.board.series(&name);
            Json(json!({ "name": name, "snapshot": dependency, "series": series })).into_response()
        }
        None => (
            StatusCode::NOT_FOUND,
            Json(json!({ "error": format!("`{name}` is not a dependency of the policy") })),
        )
            .into_response(),
    }
}

const NO_FLEET: &str = if cfg!(feature = "fleet") {
    "no fleet here: write a table `[fleet]` with `redis` into the policy"
} else {
    "no fleet here: `resilience-admin` was built without its feature `fleet`"
};

/// How the other instances differ from this one.
pub(crate) async fn fleet(State(shared): State<Arc<Shared>>) -> Response {
    match shared.board.fleet() {
        Some(fleet) => Json(fleet).into_response(),
        None => (StatusCode::NOT_FOUND, Json(json!({ "error": NO_FLEET }))).into_response(),
    }
}
