//! The stream of events, and the task that looks once a second.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{StreamExt, once};

use crate::admin::Shared;
use crate::board::Message;

/// Every second; the sparkline has a point for each.
const EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn events(State(shared): State<Arc<Shared>>) -> Response {
    let Some((first, receiver)) = shared.board.subscribe(&shared.runtime) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the service is shutting down\n").into_response();
    };
    let known = first.seq;
    let later = BroadcastStream::new(receiver)
        // One who lags is cut off, and comes back to a full picture.
        .take_while(Result::is_ok)
        .filter_map(Result::ok)
        .filter(move |message| message.seq > known);
    let all = once(first)
        .chain(later)
        .map(|message| Ok::<_, Infallible>(event(&message)));
    Sse::new(all).keep_alive(KeepAlive::default()).into_response()
}

fn event(message: &Message) -> Event {
    Event::default()
        .event(message.name)
        .id(message.seq.to_string())
        .data(&message.data)
}

/// Looks once a second until the router is gone or told to end.
pub(crate) async fn look(shared: Weak<Shared>) {
    let mut seconds = interval(EVERY);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let until = shared.upgrade().and_then(|shared| shared.until.clone());
    let mut ended = Box::pin(async move {
        match until {
            // A sender that is gone has ended too.
            Some(mut until) => drop(until.wait_for(|stop| *stop).await),
            None => std::future::pending().await,
        }
    });
    loop {
        tokio::select! {
            biased;
            () = &mut ended => {
                if let Some(shared) = shared.upgrade() {
                    shared.board.end();
                }
                return;
            }
            _ = seconds.tick() => match shared.upgrade() {
                Some(shared) => shared.board.tick(&shared.runtime),
                None => return,
            },
        }
    }
}
