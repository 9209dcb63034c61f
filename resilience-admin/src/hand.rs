//! The operator's hand: a mode for a while, and its end.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use resilience_runtime::{Mode, Override};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::Shared;

/// The target of the runtime's own events, so that all acts stand in one log.
pub(crate) const TARGET: &str = "resilience";
/// Names and reasons are read by people.
const LONGEST_TEXT: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    dependency: String,
    mode: String,
    by: String,
    reason: String,
    /// How long it holds.
    seconds: u64,
    answer: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    dependency: String,
    by: String,
    reason: String,
}

/// Sets a mode. The runtime tells it as `override.set`.
pub(crate) async fn set(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Result<Json<Set>, JsonRejection>,
) -> Result<Json<Value>, No> {
    let act = admitted(&shared, &headers, body)?;
    let mode = mode(&act.mode).ok_or_else(|| No::act("`mode` is one of `enforce`, `observe`, `isolate`, `off`"))?;
    short([&act.by, &act.reason].into_iter().chain(&act.answer))?;
    // The runtime refuses more than seven days; a number that no clock can add must not get that far.
    if act.seconds == 0 || act.seconds > 7 * 24 * 3_600 {
        return Err(No::act(
            "`seconds` is 1 to 604800: an override holds for 7 days at most",
        ));
    }
    let mut hand = Override::new(mode, act.by, act.reason, Duration::from_secs(act.seconds));
    hand.answer = act.answer.filter(|answer| !answer.is_empty());
    let set = shared.runtime.set_mode(&act.dependency, hand);
    set.map_err(|error| match error.unknown_dependency() {
        Some(unknown) => No::unknown(unknown),
        None => No::act(error),
    })?;
    Ok(done(&shared))
}

/// Gives the mode back to the file. The runtime does not know who did it, so it is told here.
pub(crate) async fn restore(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Result<Json<Restore>, JsonRejection>,
) -> Result<Json<Value>, No> {
    let act = admitted(&shared, &headers, body)?;
    if act.by.trim().is_empty() || act.reason.trim().is_empty() {
        return Err(No::act(
            "giving the mode back needs `by` and `reason`, as taking it did",
        ));
    }
    short([&act.by, &act.reason])?;
    let is_held = || {
        let snapshot = shared.runtime.snapshot();
        let found = snapshot.dependency(&act.dependency);
        found.is_some_and(|dependency| dependency.overridden.is_some())
    };
    let was_held = is_held();
    shared.runtime.clear_mode(&act.dependency).map_err(No::unknown)?;
    if !was_held {
        return Err(No::act("no hand is on it: the mode is the file's already"));
    }
    if is_held() {
        return Err(No::act("the hand is on the whole dependency: give that back"));
    }
    tracing::warn!(
        target: TARGET, event = "override.cleared",
        dependency = act.dependency, by = act.by, reason = act.reason,
        "the hand on `{}` is taken off by {}: {}", act.dependency, act.by, act.reason,
    );
    shared.board.cleared(&act.dependency, &act.by, &act.reason);
    Ok(done(&shared))
}

/// The act, if the sender may act and said what he wants.
fn admitted<T>(shared: &Shared, headers: &HeaderMap, body: Result<Json<T>, JsonRejection>) -> Result<T, No> {
    if let Err(refused) = shared.gate.admit(headers) {
        tracing::warn!(target: TARGET, event = "admin.refused", "an act on the admin page was refused: {}", refused.why());
        return Err(No::new(refused.status(), refused.why()));
    }
    match body {
        Ok(Json(act)) => Ok(act),
        Err(rejection) => Err(No::new(rejection.status(), rejection.body_text())),
    }
}

fn done(shared: &Shared) -> Json<Value> {
    // The page shows it now and not a second later.
    shared.board.look(&shared.runtime);
    Json(json!({ "done": true }))
}

fn mode(word: &str) -> Option<Mode> {
    [Mode::Enforce, Mode::Observe, Mode::Isolate, Mode::Off]
        .into_iter()
        .find(|mode| mode.as_str() == word)
}

fn short<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<(), No> {
    let long = texts.into_iter().any(|text| text.len() > LONGEST_TEXT);
    if long {
        return Err(No::act("`by`, `reason` and `answer` have 500 bytes at most"));
    }
    Ok(())
}

/// Why an act was not done.
pub(crate) struct No {
    status: StatusCode,
    why: String,
}

impl No {
    #[allow(clippy::needless_pass_by_value)] // so that it can be named where an error is mapped
    fn new(status: StatusCode, why: impl ToString) -> Self {
        let why = why.to_string();
        Self { status, why }
    }

    fn act(why: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    }

    fn unknown(why: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, why)
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.why }))).into_response()
    }
}
