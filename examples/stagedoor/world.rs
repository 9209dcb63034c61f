//! The world around the service: four real HTTP servers on loopback, whose health is that of the incident.

mod database;
mod payrail;
mod replica;
mod store;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::incident::Incident;

/// Where everything listens, and what the far sides saw. Each twin of the service has a world of its own, so that the
/// troubles of one do not reach the other.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) payrail: SocketAddr,
    pub(crate) store: SocketAddr,
    pub(crate) replica: SocketAddr,
    pub(crate) database: SocketAddr,
    pub(crate) seen: Arc<Seen>,
}

/// What the far sides noticed of us.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Charges that reached Payrail, whatever it answered.
    pub(crate) charges: AtomicU64,
    reading: AtomicU64,
    peak: AtomicU64,
}

impl Seen {
    /// The most seat maps that the database read at once since the last look.
    pub(crate) fn take_database_peak(&self) -> u64 {
        self.peak.swap(self.reading.load(Ordering::Relaxed), Ordering::Relaxed)
    }

    /// Counts a read until it is dropped, answered or abandoned.
    fn read(self: &Arc<Self>) -> Reading {
        let now = self.reading.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(now, Ordering::Relaxed);
        Reading(Arc::clone(self))
    }
}

struct Reading(Arc<Seen>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, Ordering::Relaxed);
    }
}

impl World {
    pub(crate) async fn start(incident: &Arc<Incident>) -> io::Result<Self> {
        let seen = Arc::new(Seen::default());
        Ok(Self {
            payrail: serve(payrail::router(Arc::clone(incident), Arc::clone(&seen))).await?,
            store: serve(store::router(Arc::clone(incident))).await?,
            replica: serve(replica::router(Arc::clone(incident))).await?,
            database: serve(database::router(Arc::clone(&seen))).await?,
            seen,
        })
    }
}

/// Serves on a free port of the loopback until the process ends.
pub(crate) async fn serve(router: Router) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // Nagle's algorithm would show up in the percentiles; a stream that refuses the option works without it.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
