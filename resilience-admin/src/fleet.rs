//! The other instances of the service, as far as they differ from this one: each publishes what of it is not at peace to
//! a Redis, and reads what the others published. Nothing is decided by it, and no call waits for it.

mod store;
mod view;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::admin::Shared;
use store::Store;
pub(crate) use view::View;

/// The longest that one exchange may take: a store that needs longer is as good as gone.
const PATIENCE: Duration = Duration::from_secs(1);
/// A report outlives so many intervals; an instance that ended is gone after them.
const KEPT: u32 = 3;

/// Where the instances of a service meet: a Redis, and a name in it.
///
/// Every interval one task publishes what of this instance is not at peace and reads what the others said. While the Redis
/// is gone, slow or frozen, the page says so, and everything else goes on by itself: no guarded call and no other answer
/// of the router waits for it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use resilience_admin::{Admin, Fleet};
/// # use resilience_runtime::{Policy, Runtime};
/// # let runtime = Runtime::new(Policy::from_toml("version = 1")?);
///
/// let fleet = Fleet::new("redis://127.0.0.1/")?.name("shop").interval(Duration::from_secs(5));
/// let app: axum::Router = Admin::new(runtime).fleet(fleet).router();
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Fleet {
    client: redis::Client,
    name: String,
    interval: Duration,
}

impl Fleet {
    /// The instances that meet at this Redis, as `redis://host:port/`; nothing is connected yet. They look every two
    /// seconds, and their name is `default`.
    ///
    /// # Errors
    ///
    /// When it is not the address of a Redis.
    pub fn new(redis: &str) -> Result<Self, FleetError> {
        let client = redis::Client::open(redis).map_err(|error| FleetError(error.to_string()))?;
        Ok(Self {
            client,
            name: "default".to_owned(),
            interval: Duration::from_secs(2),
        })
    }

    /// Tells services apart that share a Redis.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How often an instance publishes and reads: 100 ms to one minute, what is beyond is cut.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.clamp(Duration::from_millis(100), Duration::from_secs(60));
        self
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may have a password in it.
        f.debug_struct("Fleet")
            .field("name", &self.name)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

/// An address that no Redis can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetError(String);

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not the address of a Redis, as `redis://host:port/`: {}", self.0)
    }
}

impl std::error::Error for FleetError {}

/// Publishes and reads until the router is gone or told to end.
pub(crate) async fn share(shared: Weak<Shared>, fleet: Fleet, view: Arc<View>) {
    // Two processes may have one name; what they publish must not be one.
    let chance = RandomState::new();
    let me = format!("{:016x}", chance.hash_one("me"));
    let patience = PATIENCE.min(fleet.interval);
    let mut store = Store::new(fleet.client, &fleet.name, &me, patience);
    let until = shared.upgrade().and_then(|shared| shared.until.clone());
    for round in 0_u64.. {
        let Some(alive) = shared.upgrade() else { break };
        let mine = view.take_own(&alive.runtime.snapshot());
        drop(alive);
        let exchange = store.exchange(&mine, fleet.interval * KEPT);
        match timeout(patience, exchange).await {
            Ok(Ok(others)) => view.take(&others),
            Ok(Err(error)) => view.lost(&error.to_string()),
            Err(_) => view.lost("it does not answer in time"),
        }
        if until
            .as_ref()
            .is_some_and(|until| *until.borrow() || until.has_changed().is_err())
        {
            break;
        }
        // Instances that started together do not ask together: a tenth less or more.
        let percent = 90 + u32::try_from(chance.hash_one(round) % 21).unwrap_or_default();
        sleep(fleet.interval * percent / 100).await;
    }
    store.leave(patience).await;
}
