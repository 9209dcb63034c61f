//! The service's clients: plain reqwest, and on each call the attributes that guard it.
//!
//! Every call stands here twice. The guarded one has its layers by attribute and its numbers in `resilience.toml`; its
//! twin sends the same request with what most clients have, a time-out. The body is the same one line.

mod error;

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use resilience_runtime::{Served, breaker, bulkhead, fallback, retry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) use self::error::FarError;
use crate::world::World;

/// What the twin has instead of a policy: one time-out for everything, as in so many services.
const ONE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Clients {
    http: reqwest::Client,
    payrail: SocketAddr,
    store: SocketAddr,
    replica: SocketAddr,
    database: SocketAddr,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Receipt {
    #[serde(rename = "charge")]
    pub(crate) order: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct SeatMap {
    pub(crate) show: u32,
    pub(crate) free: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Report {
    pub(crate) sold: u32,
}

impl Clients {
    pub(crate) fn new(world: &World) -> reqwest::Result<Self> {
        Ok(Self {
            // No time-out here: that of the policy is the one that counts.
            http: reqwest::Client::builder().no_proxy().build()?,
            payrail: world.payrail,
            store: world.store,
            replica: world.replica,
            database: world.database,
        })
    }

    /// Money: nothing may stand in for it, so there is one answer when it cannot be had, and that is no.
    #[breaker("payrail")]
    #[bulkhead]
    #[fallback(refuse = FarError::Refused)]
    pub(crate) async fn charge(&self, order: u64) -> Result<Receipt, FarError> {
        read(self.charging(order)).await
    }

    // resilience: unguarded, because it is the twin that shows what a service without guards does
    pub(crate) async fn charge_unguarded(&self, order: u64) -> Result<Receipt, FarError> {
        read(self.charging(order).timeout(ONE_TIMEOUT)).await
    }

    /// Seats: from the database while it has room, one read per show at a time; else the map as it was seconds ago.
    #[breaker("seatmap")]
    #[bulkhead]
    #[retry]
    #[fallback(Self::seats_from_database, one_per = show)]
    #[fallback(stale(key = show))]
    pub(crate) async fn seats(&self, show: u32) -> Result<Served<SeatMap>, FarError> {
        read(self.seats_at(self.store, show)).await.map(Served::fresh)
    }

    // resilience: unguarded, because it is the twin that shows what a service without guards does
    pub(crate) async fn seats_unguarded(&self, show: u32) -> Result<Served<SeatMap>, FarError> {
        read(self.seats_at(self.store, show).timeout(ONE_TIMEOUT))
            .await
            .map(Served::fresh)
    }

    async fn seats_from_database(&self, show: u32) -> Result<Served<SeatMap>, FarError> {
        read(self.seats_at(self.database, show)).await.map(Served::fresh)
    }

    /// The report: from the primary, which the mark of `Served` tells the reader.
    #[breaker("replica")]
    #[bulkhead]
    #[fallback(Self::report_from_primary)]
    pub(crate) async fn report(&self) -> Result<Served<Report>, FarError> {
        read(self.report_at(self.replica)).await.map(Served::fresh)
    }

    // resilience: unguarded, because it is the twin that shows what a service without guards does
    pub(crate) async fn report_unguarded(&self) -> Result<Served<Report>, FarError> {
        read(self.report_at(self.replica).timeout(ONE_TIMEOUT))
            .await
            .map(Served::fresh)
    }

    async fn report_from_primary(&self) -> Result<Served<Report>, FarError> {
        read(self.report_at(self.database)).await.map(Served::fresh)
    }

    fn charging(&self, order: u64) -> RequestBuilder {
        self.http
            .post(format!("http://{}/charges", self.payrail))
            .header("idempotency-key", format!("order-{order}"))
            .json(&json!({ "order": order, "pence": 4_500 }))
    }

    fn seats_at(&self, from: SocketAddr, show: u32) -> RequestBuilder {
        self.http.get(format!("http://{from}/seats/{show}"))
    }

    fn report_at(&self, from: SocketAddr) -> RequestBuilder {
        self.http.get(format!("http://{from}/report"))
    }
}

/// reqwest takes every status for a success; what each of them means to us is said here.
async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, FarError> {
    let response = request.send().await?;
    match response.status() {
        status if status.is_success() => Ok(response.json().await?),
        StatusCode::PAYMENT_REQUIRED => Err(FarError::Declined),
        StatusCode::TOO_MANY_REQUESTS => Err(FarError::Busy {
            retry_after: retry_after(&response),
        }),
        status => Err(FarError::Status(status)),
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(reqwest::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}
