//! For users' own tests: states by hand, rejections made up, events recorded. Behind the feature `testing`, with which
//! time follows tokio's clock.
//!
//! Everything acts on the current runtime. Inside [`Runtime::scope`] and with paused time a
//! test is alone and exact.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use resilience_runtime::{Policy, Runtime, State, testing};
//!
//! let policy = Policy::from_toml(
//!     "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.payrail.breaker]\n",
//! )?;
//! let runtime = Runtime::new(policy);
//! runtime.scope(async {
//!     testing::trip("payrail");
//!     assert_eq!(testing::state("payrail"), State::Open);
//!     assert!(!resilience_runtime::available("payrail"));
//!     testing::reset("payrail");
//!     assert_eq!(testing::state("payrail"), State::Closed);
//! }).await;
//! # Ok(()) }
//! ```

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock;
use crate::dependency::Pinned;
use crate::event;
use crate::identity::Identity;
use crate::rejection::{Reason, Rejection};
use crate::runtime::Runtime;
use crate::snapshot;
use crate::words::{Cause, State};

type Events = Arc<Mutex<Vec<Event>>>;

tokio::task_local! {
    static RECORD: Events;
}

/// Opens the breaker of a dependency for its policy's cooldown.
///
/// # Panics
///
/// When the current runtime has no such name, or the dependency no breaker.
pub fn trip(dependency: &str) {
    let pinned = pinned(dependency);
    let Some((breaker, _)) = pinned.breaker() else {
        panic!("`{dependency}` has no breaker; add [dependency.{dependency}.breaker] to the policy of this test");
    };
    let made = breaker.trip(Cause::Trip, clock::now());
    // Open for another cooldown is no change of state.
    if made.from != made.to {
        event::transition(&pinned, made);
    }
    tell();
}

/// Closes the breaker of a dependency and empties its window, its count of openings, its hold and its retry budget.
///
/// # Panics
///
/// When the current runtime has no such name.
pub fn reset(dependency: &str) {
    let pinned = pinned(dependency);
    if let Some((breaker, _)) = pinned.breaker()
        && let Some(made) = breaker.reset(Cause::Reset, clock::now())
    {
        event::transition(&pinned, made);
    }
    pinned.hold().clear();
    if let Some((budget, _)) = pinned.retry() {
        budget.clear();
    }
    tell();
}

/// Brings the metrics up to date with what was done by hand.
fn tell() {
    #[cfg(feature = "metrics")]
    Runtime::current().refresh_metrics();
}

/// The state of a dependency's breaker now; closed where it has none.
///
/// # Panics
///
/// When the current runtime has no such name.
pub fn state(dependency: &str) -> State {
    snapshot::state(&pinned(dependency))
}

/// The slots that are taken; without a bulkhead, the calls that run.
///
/// # Panics
///
/// When the current runtime has no such name.
pub fn in_flight(dependency: &str) -> usize {
    usize::try_from(snapshot::in_flight(&pinned(dependency))).unwrap_or(usize::MAX)
}

/// A rejection made up, for tests of what a caller does with it. The name need not exist.
pub fn rejection(dependency: &str, reason: Reason, retry_after: Option<Duration>) -> Rejection {
    let identity = match Runtime::current().entry(dependency) {
        Ok(entry) => entry.pin().identity,
        Err(_) => Identity::intern(dependency, None, None),
    };
    Rejection::new(identity, reason, retry_after)
}

/// Runs `future` and records the events that its guarded calls make.
///
/// # Cancel safety
///
/// As cancel safe as `future`; the record is lost when it is dropped.
pub async fn record<F: Future>(future: F) -> (F::Output, Vec<Event>) {
    let events = Events::default();
    let output = RECORD.scope(Arc::clone(&events), future).await;
    let recorded = std::mem::take(&mut *events.lock().unwrap_or_else(PoisonError::into_inner));
    (output, recorded)
}

/// One recorded event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    name: &'static str,
    fields: Vec<(&'static str, String)>,
}

impl Event {
    /// The name, as `breaker.transition`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The dependency that it is about; empty for events of the policy.
    pub fn dependency(&self) -> &str {
        self.field("dependency").unwrap_or_default()
    }

    /// A field by its name, as text.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.fields
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

pub(crate) fn note(event: &event::Event<'_>) {
    let _ = RECORD.try_with(|events| {
        let fields = event
            .fields()
            .into_iter()
            .map(|(name, value)| (name, value.to_string()))
            .collect();
        let event = Event {
            name: event.name(),
            fields,
        };
        events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    });
}

fn pinned(dependency: &str) -> Arc<Pinned> {
    match Runtime::current().entry(dependency) {
        Ok(entry) => entry.pin(),
        Err(unknown) => panic!("{unknown}"),
    }
}
