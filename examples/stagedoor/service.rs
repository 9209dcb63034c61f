//! The checkout service: three routes over a small pool of workers. It is started twice, guarded and not; the twins
//! differ in which of the two clients' methods they call, and in nothing else.

mod held;
mod orders;
mod problem;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{AGE, HeaderName};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use resilience_runtime::{Freshness, Served};
use serde::Serialize;
use serde_json::json;
use tokio::sync::Semaphore;

use self::held::Held;
pub(crate) use self::orders::{Order, Orders};
use self::problem::Subject;
use crate::clients::{Clients, FarError};
use crate::world::serve;

/// Requests that the service works on at once, whatever they wait for: its threads, or its database connections.
/// Everything beyond waits in line, as it does in front of every service.
pub(crate) const WORKERS: usize = 24;

/// Says where an answer comes from: `fresh`, `fallback` or `stale`.
pub(crate) const FRESHNESS: HeaderName = HeaderName::from_static("freshness");

/// Which of the twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    Guarded,
    Unguarded,
}

/// The routes, by the dependency that each of them stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Checkout,
    Seats,
    Report,
}

impl Route {
    pub(crate) const ALL: [Self; 3] = [Self::Checkout, Self::Seats, Self::Report];

    pub(crate) const fn dependency(self) -> &'static str {
        match self {
            Self::Checkout => "payrail",
            Self::Seats => "seatmap",
            Self::Report => "replica",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) orders: Arc<Orders>,
    held: Arc<[Held; 3]>,
}

impl Service {
    pub(crate) async fn start(twin: Twin, clients: Clients) -> io::Result<Self> {
        let orders = Arc::new(Orders::default());
        let held = Arc::<[Held; 3]>::default();
        let desk = Desk {
            twin,
            clients,
            workers: Arc::new(Semaphore::new(WORKERS)),
            orders: Arc::clone(&orders),
            held: Arc::clone(&held),
        };
        let router = Router::new()
            .route("/checkout/{order}", post(checkout))
            .route("/seats/{show}", get(seats))
            .route("/report", get(report))
            // Depends on nothing and needs no worker: what it takes is what the machine takes.
            .route("/alive", get(async || StatusCode::NO_CONTENT))
            .with_state(Arc::new(desk));
        Ok(Self {
            address: serve(router).await?,
            orders,
            held,
        })
    }

    /// The most requests of a route that were inside the service at once since the last look.
    pub(crate) fn take_peak(&self, route: Route) -> usize {
        self.held[route as usize].take_peak()
    }

    pub(crate) fn held(&self, route: Route) -> usize {
        self.held[route as usize].now()
    }
}

struct Desk {
    twin: Twin,
    clients: Clients,
    workers: Arc<Semaphore>,
    orders: Arc<Orders>,
    held: Arc<[Held; 3]>,
}

impl Desk {
    /// In line for a worker first, then the work; a caller that leaves gives back both by dropping the request.
    async fn work<T>(&self, route: Route, guarded: impl Future<Output = T>, unguarded: impl Future<Output = T>) -> T {
        let _task = self.held[route as usize].enter();
        let _worker = self
            .workers
            .acquire()
            .await
            .expect("the pool of workers is never closed");
        match self.twin {
            Twin::Guarded => guarded.await,
            Twin::Unguarded => unguarded.await,
        }
    }
}

async fn checkout(State(desk): State<Arc<Desk>>, Path(order): Path<u64>) -> Response {
    desk.orders.place(order);
    let charged = desk
        .work(
            Route::Checkout,
            desk.clients.charge(order),
            desk.clients.charge_unguarded(order),
        )
        .await;
    match charged {
        Ok(receipt) => {
            desk.orders.settle(receipt.order, Order::Paid);
            (StatusCode::CREATED, Json(json!({ "order": order, "status": "paid" }))).into_response()
        }
        Err(FarError::Declined) => {
            desk.orders.settle(order, Order::Declined);
            problem::declined()
        }
        // The order stays pending, and its seats stay held: the buyer comes back with the same one.
        Err(error) => problem::unavailable(Subject::Payments, &error),
    }
}

async fn seats(State(desk): State<Arc<Desk>>, Path(show): Path<u32>) -> Response {
    let seats = desk
        .work(
            Route::Seats,
            desk.clients.seats(show),
            desk.clients.seats_unguarded(show),
        )
        .await;
    marked(seats, Subject::Seats)
}

async fn report(State(desk): State<Arc<Desk>>) -> Response {
    let report = desk
        .work(Route::Report, desk.clients.report(), desk.clients.report_unguarded())
        .await;
    marked(report, Subject::Reports)
}

/// An answer with the mark of where it comes from, and of how old it is.
fn marked<T: Serialize>(answer: Result<Served<T>, FarError>, subject: Subject) -> Response {
    match answer {
        Err(error) => problem::unavailable(subject, &error),
        Ok(Served { value, freshness }) => {
            let (word, age) = match freshness {
                Freshness::Stale { age } => ("stale", age),
                Freshness::Fallback => ("fallback", Duration::ZERO),
                Freshness::Fresh => ("fresh", Duration::ZERO),
            };
            (
                [(FRESHNESS, word.to_owned()), (AGE, age.as_secs().to_string())],
                Json(value),
            )
                .into_response()
        }
    }
}
