//! Answers to a client when there is none: RFC 9457 problems with words chosen for it, and no name of ours.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use resilience_runtime::Reason;
use serde_json::json;

use crate::clients::FarError;

/// What cannot be had, in the client's words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    Payments,
    Seats,
    Reports,
}

impl Subject {
    const fn word(self) -> &'static str {
        match self {
            Self::Payments => "payments",
            Self::Seats => "seats",
            Self::Reports => "reports",
        }
    }
}

pub(super) fn declined() -> Response {
    problem(
        StatusCode::PAYMENT_REQUIRED,
        "card-declined",
        "the card was declined",
        None,
    )
}

/// 503 for what was refused, with the moment at which asking again is worth it; 504 for what was tried and took too
/// long; 502 for what was tried and failed.
pub(super) fn unavailable(subject: Subject, error: &FarError) -> Response {
    let word = subject.word();
    let unavailable = format!("{word}-unavailable");
    match error {
        FarError::Refused(rejection) if matches!(rejection.reason(), Reason::TimedOut | Reason::DeadlineExceeded) => {
            timed_out(word)
        }
        // The text of a rejection is safe to send: it names nothing but the seconds to wait.
        FarError::Refused(rejection) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            problem(status, &unavailable, &rejection.to_string(), rejection.retry_after())
        }
        FarError::Busy { retry_after } => problem(
            StatusCode::SERVICE_UNAVAILABLE,
            &unavailable,
            "too many at this moment",
            *retry_after,
        ),
        FarError::Transport(error) if error.is_timeout() => timed_out(word),
        FarError::Declined | FarError::Status(_) | FarError::Transport(_) => {
            problem(StatusCode::BAD_GATEWAY, &unavailable, "that did not work", None)
        }
    }
}

fn timed_out(word: &str) -> Response {
    problem(
        StatusCode::GATEWAY_TIMEOUT,
        &format!("{word}-timed-out"),
        "that took too long",
        None,
    )
}

fn problem(status: StatusCode, name: &str, detail: &str, retry_after: Option<Duration>) -> Response {
    let body = json!({
        "type": format!("https://stagedoor.example/problems/{name}"),
        "title": name.replace('-', " "),
        "status": status.as_u16(),
        "detail": detail,
    });
    let content_type = [(CONTENT_TYPE, "application/problem+json")];
    match retry_after {
        None => (status, content_type, body.to_string()).into_response(),
        Some(wait) => (status, content_type, [(RETRY_AFTER, seconds(wait))], body.to_string()).into_response(),
    }
}

/// Whole seconds, rounded up: who comes back then does not come too early.
fn seconds(wait: Duration) -> String {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1).to_string()
}
