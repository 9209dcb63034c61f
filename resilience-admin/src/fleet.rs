//! The other instances of the service: each publishes to a Redis what of it is not at peace and, where evidence is pooled,
//! what its quiet breakers counted, and reads what the others published. No call waits for it.

mod exchange;
mod store;
mod view;

use std::fmt;
use std::time::Duration;

use resilience_runtime::Policy;

pub(crate) use exchange::share;
pub(crate) use view::View;

/// Where the instances of a service meet: a Redis, and a name in it.
///
/// For services whose policy has no `[fleet]` table; where there is one, it counts and this does not.
///
/// Every interval one task publishes what of this instance is not at peace and reads what the others said. Nothing is decided
/// by that, unless evidence is [`pooled`](Self::pooled). While the Redis is gone, slow or frozen, the page says so, and everything else goes on by itself: no guarded call and no other answer
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
    address: String,
    client: redis::Client,
    name: String,
    interval: Duration,
    pooled: bool,
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
            address: redis.to_owned(),
            client,
            name: "default".to_owned(),
            interval: Duration::from_secs(2),
            pooled: false,
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

    /// Lets breakers that are too quiet to judge alone judge on what all instances counted:
    /// [`Runtime::pool`](resilience_runtime::Runtime::pool).
    #[must_use]
    pub fn pooled(mut self) -> Self {
        self.pooled = true;
        self
    }

    /// That of the policy's `[fleet]` table; nothing without one.
    fn of(policy: &Policy) -> Option<Result<Self, FleetError>> {
        let written = policy.fleet()?;
        let name = written.name.clone().unwrap_or_else(program);
        let fleet = Self::new(&written.redis);
        Some(fleet.map(|fleet| Self {
            pooled: written.evidence.as_str() == "pooled",
            ..fleet.name(name).interval(written.interval)
        }))
    }

    /// Whether both meet at the same place.
    fn meets(&self, other: &Self) -> bool {
        self.address == other.address && self.name == other.name
    }
}

/// What the instances of one service have in common, where nobody gave them a name.
fn program() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(|path| path.file_stem());
    name.map_or_else(|| "default".to_owned(), |name| name.to_string_lossy().into_owned())
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may have a password in it.
        f.debug_struct("Fleet")
            .field("name", &self.name)
            .field("interval", &self.interval)
            .field("pooled", &self.pooled)
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
