//! Prometheus text.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::admin::Shared;

pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    match &shared.metrics {
        Some(render) => ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], render()).into_response(),
        None => (
            StatusCode::NOT_FOUND,
            "no metrics here: give `Admin::metrics` the exporter's text\n",
        )
            .into_response(),
    }
}
