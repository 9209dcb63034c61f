//! The checked policy. It cannot be wrong: everything here passed the checker.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::check;
use crate::diff::{self, Change};
use crate::error::PolicyError;
use crate::fleet::FleetSettings;
use crate::name::nearest;
use crate::names::Names;
use crate::provenance::Provenance;
use crate::reference::Id;
use crate::unite;
use crate::words::{Fail, FailureKinds, Jitter, Mode, Throttle};

/// A checked policy file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) file: PathBuf,
    pub(crate) hash: String,
    pub(crate) runtime: RuntimeSettings,
    pub(crate) fleet: Option<FleetSettings>,
    /// Where the keys of `[runtime]` stand.
    pub(crate) runtime_lines: Vec<(Id, u32)>,
    /// Shared with the runtimes that have them in force, and with policies united from this one.
    pub(crate) dependencies: Names<Arc<Dependency>>,
    pub(crate) resources: Names<Resource>,
}

impl Policy {
    /// Reads a policy from its text. The file is named `resilience.toml` in messages.
    ///
    /// # Errors
    ///
    /// Every fault of the text, together.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text.as_bytes(), Path::new("resilience.toml"), &[])
    }

    /// Reads a policy file.
    ///
    /// # Errors
    ///
    /// Every fault of the file, together; or the one that it cannot be read, is too large or no regular file.
    #[inline]
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        Self::read_with(path.as_ref(), &[]).map(|(_, policy)| policy)
    }

    /// Reads a policy file with the variables of an environment written over it, and gives the bytes that were read
    /// beside it: who watches the file compares with those.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and the faults of the variables.
    #[inline]
    pub fn read_with(path: &Path, environment: &[(String, String)]) -> Result<(Vec<u8>, Self), PolicyError> {
        let bytes = check::bytes_of(path).map_err(|fault| PolicyError::one(*fault))?;
        let policy = Self::parse(&bytes, path, environment)?;
        Ok((bytes, policy))
    }

    /// Reads a policy from the bytes of `file`, with the `RESILIENCE__…` variables of an [`environment`] written over
    /// it; `&[]` for none.
    ///
    /// # Errors
    ///
    /// Every fault of the bytes and of the variables, together.
    ///
    /// [`environment`]: crate::environment
    pub fn parse(bytes: &[u8], file: &Path, environment: &[(String, String)]) -> Result<Self, PolicyError> {
        let inspection = check::inspect(bytes, file, environment);
        inspection.error.map_or(Ok(inspection.policy), Err)
    }

    /// The dependency or operation whose name is nearest to this one.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.inner.dependencies.names().map(String::as_str))
    }

    /// Every effective value that differs in `newer`, with what the change does to running state; also dependencies
    /// that come or go.
    #[inline]
    pub fn diff(&self, newer: &Self) -> Vec<Change> {
        diff::between(self, newer)
    }

    /// Unites the policies of several packages of one binary, by the names of their dependencies. The first part
    /// gives the `[runtime]` and `[fleet]` tables and the file's name.
    ///
    /// # Errors
    ///
    /// One name has different effective values: each fault names both packages, files and keys.
    pub fn unite(parts: &[(&str, Self)]) -> Result<Self, PolicyError> {
        unite::unite(parts)
    }

    /// The file as it was named when it was read; `resilience.toml` for a text without a file.
    pub fn file(&self) -> &Path {
        &self.inner.file
    }

    /// A fingerprint of the effective values: equal for files that mean the same.
    pub fn hash(&self) -> &str {
        &self.inner.hash
    }

    /// The `[runtime]` table.
    pub fn runtime(&self) -> &RuntimeSettings {
        &self.inner.runtime
    }

    /// The `[fleet]` table, if there is one.
    pub fn fleet(&self) -> Option<&FleetSettings> {
        self.inner.fleet.as_ref()
    }

    /// Every dependency and operation, by name (`payrail`, `payrail.refund`), sorted.
    pub fn dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.shared().map(Arc::as_ref)
    }

    /// The same, each to be kept without a copy.
    pub fn shared(&self) -> impl Iterator<Item = &Arc<Dependency>> {
        self.inner.dependencies.values()
    }

    /// A dependency, or an operation as `payrail.refund`.
    pub fn dependency(&self, name: &str) -> Option<&Dependency> {
        self.inner.dependencies.get(name).map(Arc::as_ref)
    }

    /// The `[resource.…]` tables, by name.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &Resource)> {
        self.inner
            .resources
            .each()
            .map(|(name, resource)| (name.as_str(), resource))
    }
}

/// The `[runtime]` table.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RuntimeSettings {
    /// The name of this instance, if the file gives one.
    pub instance: Option<String>,
    /// The overrides file, beside the policy file; the default is `resilience.overrides.toml`.
    pub overrides: PathBuf,
    /// Whether chaos tables act.
    pub chaos: bool,
}

/// A `[resource.…]` table: something that several dependencies share.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// Slots over all instances.
    pub capacity: u64,
    /// Where it stands.
    pub line: u32,
}

/// The effective numbers of a dependency or of one of its operations.
// The four `…_shared` flags are independent facts, one a layer; a set of them would say the same at more length.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Dependency {
    /// `payrail`, or `payrail.refund` for an operation.
    pub name: String,
    /// The dependency that this operation is a part of; `None` for a dependency.
    pub parent: Option<String>,
    /// What it is, for people.
    pub about: Option<String>,
    /// The decision.
    pub fail: Fail,
    /// Who made the decision, and when.
    pub agreed: Option<String>,
    /// The only name of it that a client may see.
    pub label: Option<String>,
    /// Resources it draws on.
    pub uses: Vec<String>,
    /// The mode that the file asks for.
    pub mode: Mode,
    /// Bound of one attempt.
    pub timeout: Option<Duration>,
    /// Bound of the whole call.
    pub deadline: Option<Duration>,
    /// Whom a throttling answer binds.
    pub throttle: Throttle,
    /// The longest time a throttling answer is obeyed.
    pub max_hold: Duration,
    /// Which failure kinds count and are retried.
    pub failures: FailureKinds,
    /// The breaker's numbers; `None` switches the layer off.
    pub breaker: Option<Breaker>,
    /// An operation without a `breaker` table of its own shares its dependency's breaker.
    pub breaker_shared: bool,
    /// The bulkhead's numbers; `None` switches the layer off.
    pub bulkhead: Option<Bulkhead>,
    /// An operation without `bulkhead.max_concurrent` of its own shares its dependency's slots.
    pub slots_shared: bool,
    /// The retry's numbers; `None` switches the layer off.
    pub retry: Option<Retry>,
    /// An operation without a `retry` table of its own shares its dependency's budget.
    pub budget_shared: bool,
    /// Bounds of fallbacks; always there.
    pub fallback: Fallback,
    /// An operation without a `fallback` table of its own shares its dependency's fallback slots.
    pub fallback_shared: bool,
    /// What traffic is expected; read by `check` and `simulate` only.
    pub traffic: Traffic,
    /// Faults injected on purpose.
    pub chaos: Option<Chaos>,
    /// The line of the dependency's (or operation's) header.
    pub line: u32,
    /// Where its values came from.
    pub(crate) provenance: Provenance,
    /// Keys whose written values are at fault and stand at what is built in; empty in a checked policy.
    pub(crate) doubtful: Vec<Id>,
}

/// A value in a form that every output can print.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A switch.
    Bool(bool),
    /// A count.
    Integer(i64),
    /// A rate or factor.
    Float(f64),
    /// A word or text.
    String(String),
    /// A duration; printed in the file's notation.
    Duration(Duration),
    /// A list.
    List(Vec<Value>),
}

/// The numbers of a breaker.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Breaker {
    /// What is looked at.
    pub window: Window,
    /// Results in the window before a rate is looked at.
    pub minimum_calls: u32,
    /// Share of failures that trips; `None` is `false` in the file.
    pub failure_rate: Option<f64>,
    /// An attempt that ran strictly longer is slow.
    pub slow_after: Option<Duration>,
    /// Share of slow attempts that trips.
    pub slow_rate: Option<f64>,
    /// Share of attempts that failed or were slow that trips.
    pub bad_rate: Option<f64>,
    /// Failures in a row that trip.
    pub consecutive_failures: Option<u32>,
    /// Attempts in flight that trip.
    pub in_flight: Option<u32>,
    /// How long open lasts at first.
    pub cooldown: Duration,
    /// How long open lasts at most.
    pub cooldown_max: Duration,
    /// What the cooldown is multiplied by for each further opening in a row.
    pub cooldown_factor: f64,
    /// How far each cooldown is spread, as a share of it.
    pub cooldown_jitter: f64,
    /// Probes at a time when half-open.
    pub probes: u32,
    /// Successes that end half-open, or start the ramp.
    pub probe_successes: u32,
    /// Shares of arrivals admitted after the probes, step by step.
    pub ramp: Vec<f64>,
    /// One call per this time is let through while open.
    pub sample_every: Option<Duration>,
}

/// What a breaker looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The last so many results.
    Calls(u32),
    /// The results of the last so much time.
    Time(Duration),
}

/// The numbers of a bulkhead.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Bulkhead {
    /// Slots.
    pub max_concurrent: u32,
    /// Waiters at a time.
    pub max_waiting: u32,
    /// How long one waits at most.
    pub max_wait: Duration,
    /// Slots per key.
    pub per_key: Option<u32>,
    /// Keys remembered at once.
    pub max_keys: u32,
    /// What a caller without a slot is told.
    pub retry_after: Duration,
}

/// The numbers of a retry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    /// Attempts, the first included.
    pub max_attempts: u32,
    /// The first pause.
    pub backoff: Duration,
    /// The longest pause.
    pub backoff_max: Duration,
    /// How a pause is spread.
    pub jitter: Jitter,
    /// Retries allowed as a share of calls.
    pub budget: f64,
    /// Retries allowed a second whatever the calls.
    pub budget_floor: f64,
}

/// The bounds of fallbacks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fallback {
    /// How old a stale answer may be.
    pub max_stale: Duration,
    /// Stale answers kept.
    pub max_entries: u32,
    /// Slots of `path` and `with`.
    pub max_concurrent: u32,
    /// Bound of `path` and `with`.
    pub timeout: Duration,
    /// Resources the fallback draws on.
    pub uses: Vec<String>,
}

/// What traffic is expected.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Traffic {
    /// Over all instances.
    pub calls_per_second: Option<f64>,
    /// Instances of this service.
    pub instances: Option<u32>,
    /// Median.
    pub latency: Option<Duration>,
    /// 99th percentile.
    pub latency_p99: Option<Duration>,
    /// What the far side can take at once, from all instances.
    pub capacity: Option<u64>,
}

/// Faults injected on purpose.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chaos {
    /// Share of attempts that fail without reaching the body.
    pub failure: f64,
    /// How much longer some attempts take.
    pub latency: Duration,
    /// Share of attempts that take longer.
    pub latency_share: f64,
}
