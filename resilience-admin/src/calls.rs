//! Single calls as they end, one line of JSON each, for `resilience record`.
//!
//! A task of its own takes them from the recording and waits for the reader; the service waits for neither. Lines that
//! begin with `#` are comments in a trace: they say once a second how many calls there were and how many were lost, and
//! `end` where the recording ended as it should.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use resilience_runtime::Recording;
use serde::Deserialize;
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::admin::Shared;

/// Each holds four megabytes and makes every call a little dearer.
const AT_ONCE: usize = 4;
/// How often the calls are fetched; between two times there is room for 65 536.
const EVERY: Duration = Duration::from_millis(50);
/// Fetches between two comments.
const QUIET: u32 = 20;
/// Calls that are sent together.
const TOGETHER: usize = 1024;
/// So often in a row, which is all that there is room for: then it is looked whether the recording is over.
const IN_A_ROW: usize = 65_536 / TOGETHER;
/// A reader who takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who may record, and how many at once.
pub(crate) struct Calls(Arc<Semaphore>);

impl Calls {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    /// Names, with commas between; none for all.
    #[serde(default)]
    dependency: String,
    /// Seconds; none for as long as somebody reads.
    #[serde(rename = "for")]
    lasting: Option<f64>,
}

pub(crate) async fn calls(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Response {
    let Some(calls) = &shared.calls else {
        let why = "this service does not let its calls be recorded: `Admin::record` switches it on\n";
        return (StatusCode::NOT_FOUND, why).into_response();
    };
    if let Err(refused) = shared.gate.admit_reader(&headers) {
        return (refused.status(), format!("{}\n", refused.why())).into_response();
    }
    let lasting = match wanted.lasting.map(Duration::try_from_secs_f64).transpose() {
        Ok(lasting) => lasting,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("`for` is in seconds: {error}\n")).into_response(),
    };
    let Ok(permit) = Arc::clone(&calls.0).try_acquire_owned() else {
        let why = format!("{AT_ONCE} recordings run already\n");
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let names = wanted.dependency.split(',').map(str::trim);
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let recording = match shared.runtime.record(&names) {
        Ok(recording) => recording,
        Err(unknown) => return (StatusCode::NOT_FOUND, format!("{unknown}\n")).into_response(),
    };
    let (sender, receiver) = mpsc::channel(1);
    let tape = Pour {
        recording,
        sender,
        calls: 0,
        _permit: permit,
    };
    tokio::spawn(tape.run(shared.until.clone(), lasting));
    let body = Body::from_stream(ReceiverStream::new(receiver).map(Ok::<Bytes, std::convert::Infallible>));
    ([(CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

/// A recording and its reader.
struct Pour {
    recording: Recording,
    sender: Sender<Bytes>,
    /// Lines sent.
    calls: u64,
    _permit: OwnedSemaphorePermit,
}

/// The reader went.
struct Gone;

impl Pour {
    async fn run(mut self, until: Option<watch::Receiver<bool>>, lasting: Option<Duration>) {
        let end = lasting.map(|lasting| Instant::now() + lasting);
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for tick in 0_u32.. {
            ticks.tick().await;
            let is_over = end.is_some_and(|end| Instant::now() >= end) || until.as_ref().is_some_and(has_ended);
            if is_over {
                self.recording.stop();
            }
            if self.fetch().await.is_err() || (tick % QUIET == 0 || is_over) && self.comment(is_over).await.is_err() {
                return;
            }
            if is_over {
                return;
            }
        }
    }

    /// Sends what has ended since.
    async fn fetch(&mut self) -> Result<(), Gone> {
        for _ in 0..IN_A_ROW {
            let mut lines = Vec::new();
            let mut count = 0;
            for call in self.recording.take().take(TOGETHER) {
                if serde_json::to_writer(&mut lines, &call).is_ok() {
                    lines.push(b'\n');
                    count += 1;
                }
            }
            if count == 0 {
                return Ok(());
            }
            self.send(lines.into()).await?;
            self.calls += count;
        }
        Ok(())
    }

    async fn comment(&self, end: bool) -> Result<(), Gone> {
        let comment = serde_json::json!({ "calls": self.calls, "lost": self.recording.lost(), "end": end });
        self.send(format!("# {comment}\n").into()).await
    }

    async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        match timeout(PATIENCE, self.sender.send(bytes)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }
}

/// Whether the service is on its way down. A sender that is gone has ended too.
fn has_ended(until: &watch::Receiver<bool>) -> bool {
    *until.borrow() || until.has_changed().is_err()
}
