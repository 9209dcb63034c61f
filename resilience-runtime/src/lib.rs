//! Resilience for Rust services that can be read in one place.
//!
//! Attributes on async client functions say what protects them and what their caller gets instead; every number stands
//! in one file, `resilience.toml`, which an operator edits while the service runs; and the compiler refuses a guarded
//! function that has not decided what its caller gets.
//!
//! ```
//! use resilience_runtime::{Failure, Reason, breaker, bulkhead, fallback};
//!
//! #[breaker("payrail")]
//! #[bulkhead]
//! #[fallback(none = "the order stays pending; the buyer is told when to come back")]
//! async fn charge(order: u32) -> Result<String, Failure<std::io::Error>> {
//!     // Here your client calls Payrail.
//!     Ok(format!("receipt of order {order}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! match charge(7).await {
//!     Ok(receipt) => println!("{receipt}"),
//!     // `Display` names no host and no dependency: it may be shown to a client.
//!     Err(Failure::Rejected(refused)) => println!("503, Retry-After {:?}: {refused}", refused.retry_after()),
//!     Err(Failure::Error(error)) => println!("502: {error}"),
//! }
//! # assert!(charge(7).await.is_ok());
//! # }
//! ```
//!
//! with this in `resilience.toml`, in the package's folder or its workspace's root:
//!
//! ```toml
//! version = 1
//!
//! [dependency.payrail]
//! fail    = "closed"       # a fallback may only refuse
//! timeout = "1s"           # of one attempt
//! breaker.window          = "20 calls"
//! bulkhead.max_concurrent = 12
//! ```
//!
//! # The order of the layers
//!
//! ```text
//! fallback ( deadline ( bulkhead ( retry ( breaker ( timeout ( body ))))))
//! ```
//!
//! It is fixed, in whatever order the attributes stand. A call keeps one slot of the bulkhead until it ends; each attempt
//! goes through the breaker, which refuses before the body is polled; the fallback sees a rejection or a failure, never a
//! business answer. The body, the pauses and the fallback are polled in the caller's task.
//!
//! # What counts
//!
//! The error type says it, once: [`Classify`], by hand or derived. [`std::io::Error`] is classified here; those of `http`,
//! `reqwest`, `tonic`, `sqlx` and `redis` are behind the features of these names. `classify = path` on an attribute judges the return value
//! instead, and is the way for functions that do not return a `Result`.
//!
//! # At start
//!
//! [`init`] finds the policy file, loads it, makes it the process's own and watches it. Without it the guards work with
//! the numbers of the build. [`Runtime`] and [`Guard`] do the same without macros and without a file:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use resilience_runtime::{Policy, Runtime};
//!
//! let policy = Policy::from_toml("version = 1\n[dependency.disk]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = {}\n")?;
//! let disk = Runtime::new(policy).guard("disk")?;
//! let answer = disk.call(|| async { std::fs::read("no such file") }).await;
//! assert!(answer.unwrap_err().error().is_some());
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `coarse-clock` (default): on Linux, bodies that are over in one poll are timed by the system's tick where that is fine
//!   enough, which costs less than a reading of the exact clock.
//! - `serde` (default): a [`Snapshot`] is `serde::Serialize`, and [`Counted`] both ways.
//! - `watch` (default): the operating system announces edits of the file; without it the content is polled.
//! - `testing`: time follows tokio's clock, and `testing` sets states by hand. For users' own tests.
//! - `record`: single calls can be recorded, see `Runtime::record`; brings `serde`.
//! - `metrics`: what is counted goes to the recorder of the `metrics` crate (0.24).
//! - `http`, `reqwest`, `tonic`, `sqlx`, `redis`: their errors and statuses are classified; with `http` a rejection is
//!   also a whole response, see `Rejection::problem`.
//! - `tower`: the module `tower`, guards as layers.
//! - `axum`: a handler may return a rejection or a failure; brings `http` and `tower`.
//!
//! # Cancel safety
//!
//! Dropping a guarded call at any await gives its slot, its probe and its place in the line back, counts it neither as
//! success nor as failure, and runs no fallback.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempts;
mod available;
#[cfg(feature = "axum")]
mod axum;
mod bell;
mod circle;
pub mod classify;
mod clock;
pub mod deadline;
pub mod degraded;
mod dependency;
mod event;
mod failure;
mod fallback;
mod fleet;
mod guard;
mod history;
mod identity;
mod init;
mod instance;
mod keys;
mod layer;
mod meter;
mod missing;
mod mode;
mod observe;
mod ops;
mod outcome;
#[doc(hidden)]
pub mod private;
#[cfg(feature = "http")]
mod problem;
mod recorder;
mod rejection;
mod runtime;
mod served;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation;
mod site;
mod sliding;
mod snapshot;
mod sync;
mod tally;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub mod testing;
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub mod tower;
mod watch;
mod words;

#[doc(hidden)]
pub use resilience_macros::__weave;
pub use resilience_macros::{Classify, breaker, bulkhead, fallback, retry, timeout};
pub use resilience_policy::{Change, Fault, Mode, Policy, PolicyError};

pub use available::available;
pub use circle::Circle;
pub use failure::Failure;
pub use fleet::Counted;
pub use guard::{CallOnce, Guard};
pub use init::{InitError, Resilience, init, init_from};
pub use missing::Missing;
pub use mode::Override;
pub use outcome::{Classify, FailureKind, Outcome};
#[cfg(feature = "record")]
#[cfg_attr(docsrs, doc(cfg(feature = "record")))]
pub use recorder::RecordedCall;
pub use rejection::{Reason, Rejection};
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use runtime::KeptMetrics;
#[cfg(feature = "record")]
#[cfg_attr(docsrs, doc(cfg(feature = "record")))]
pub use runtime::Recording;
pub use runtime::{OverrideError, ReloadError, ReloadReport, Runtime, Scope, UnknownDependency};
pub use served::{Freshness, Served};
pub use snapshot::{
    DependencySnapshot, NumberSnapshot, NumberValue, OthersSnapshot, OverrideSnapshot, PolicySnapshot, PooledSnapshot,
    ReloadsSnapshot, RequestsSnapshot, ResultsSnapshot, Snapshot, ThresholdSnapshot, TransitionSnapshot,
    UntriedSnapshot,
};
pub use words::State;
