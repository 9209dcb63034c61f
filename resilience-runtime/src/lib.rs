//! Resilience for Rust services that can be read in one place.
//!
//! Attributes on async client functions say what protects them and what their caller gets instead; every number stands
//! in one file, `resilience.toml`, which an operator edits while the service runs; and the compiler refuses a guarded
//! function that has not decided what its caller gets.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod available;
pub mod classify;
mod clock;
pub mod deadline;
pub mod degraded;
mod dependency;
mod event;
mod failure;
mod fallback;
mod guard;
mod identity;
mod init;
mod instance;
mod keys;
mod layer;
mod missing;
mod mode;
mod observe;
mod ops;
mod outcome;
#[doc(hidden)]
pub mod private;
mod rejection;
mod runtime;
mod served;
mod site;
mod sliding;
mod snapshot;
mod tally;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub mod testing;
mod watch;
mod words;

#[doc(hidden)]
pub use resilience_macros::__weave;
pub use resilience_macros::{Classify, breaker, bulkhead, fallback, retry, timeout};
pub use resilience_policy::{Change, Fault, Mode, Policy, PolicyError};

pub use available::available;
pub use failure::Failure;
pub use guard::{CallOnce, Guard};
pub use init::{InitError, Resilience, init, init_from};
pub use missing::Missing;
pub use mode::Override;
pub use outcome::{Classify, FailureKind, Outcome};
pub use rejection::{Reason, Rejection};
pub use runtime::{OverrideError, ReloadError, ReloadReport, Runtime, Scope, UnknownDependency};
pub use served::{Freshness, Served};
pub use snapshot::{DependencySnapshot, OverrideSnapshot, PolicySnapshot, Snapshot};
pub use words::State;
