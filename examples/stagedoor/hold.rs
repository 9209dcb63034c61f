//! `--hold`: everything stays up and is shown, and a hand may change the incident.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use clap::ValueEnum;
use tokio::time::{MissedTickBehavior, interval};

use crate::Show;
use crate::incident::{Incident, Phase};
use crate::world::serve;

pub(crate) async fn until_interrupted(show: &mut Show, incident: &Arc<Incident>) -> io::Result<()> {
    let switch = serve(
        Router::new()
            .route("/phase/{name}", post(enter))
            .with_state(Arc::clone(incident)),
    )
    .await?;
    let mut lines = vec![String::new(), "holding; Ctrl-C ends it".to_owned()];
    lines.extend(show.addresses());
    let names = Phase::ALL.map(Phase::name).join(" ");
    lines.push(format!(
        "incident  curl -X POST http://{switch}/phase/NAME, one of {names}"
    ));
    lines.push(String::new());
    show.live.lines(&lines)?;

    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            ended = &mut interrupted => return ended,
            _ = seconds.tick() => show.second()?,
        }
    }
}

async fn enter(State(incident): State<Arc<Incident>>, Path(name): Path<String>) -> (StatusCode, String) {
    let Ok(phase) = Phase::from_str(&name, false) else {
        let names = Phase::ALL.map(Phase::name).join(" ");
        return (
            StatusCode::NOT_FOUND,
            format!("`{name}` is no phase; there are {names}\n"),
        );
    };
    incident.enter(phase);
    (StatusCode::OK, format!("{}\n", phase.about()))
}
