//! The resilience policy file: text in, checked [`Policy`] out, every fault with its place.
//!
//! ```
//! use resilience_policy::Policy;
//!
//! let policy = Policy::from_toml(
//!     r#"
//!     version = 1
//!
//!     [dependency.payrail]
//!     fail    = "closed"
//!     timeout = "3s"
//!     breaker = { failure_rate = 0.5 }
//!     "#,
//! )?;
//! let payrail = policy.dependency("payrail").expect("it stands in the text");
//! assert_eq!(payrail.breaker.as_ref().and_then(|breaker| breaker.failure_rate), Some(0.5));
//!
//! let error = Policy::from_toml("version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = 3\n").unwrap_err();
//! assert_eq!(error.faults()[0].line(), Some(4));
//! assert_eq!(error.faults()[0].suggestion(), Some("\"3ms\" or \"3s\""));
//! # Ok::<(), resilience_policy::PolicyError>(())
//! ```
//!
//! A text is taken through four steps, each with its own module: the bytes become a tree (`syntax`), the tree is
//! walked against the one table of keys (`walk`, [`mod@reference`]), levels become chains and the rules between keys are
//! applied (`chain`, `rules`), and chains become numbers that know where they came from (`build`). The faults of all
//! steps are collected; none of them stops the next where that can be helped.

mod build;
mod chain;
mod check;
mod diff;
#[cfg(feature = "tools")]
#[doc(hidden)]
pub mod document;
mod effective;
mod environment;
mod error;
mod fault;
#[cfg(feature = "tools")]
mod figures;
mod fleet;
mod hash;
mod level;
mod likeness;
#[cfg(feature = "tools")]
mod lint;
mod locate;
pub mod lookup;
mod name;
#[doc(hidden)]
pub mod names;
pub mod overrides;
mod policy;
mod provenance;
pub mod reference;
mod rules;
mod syntax;
mod unite;
mod units;
mod unknown;
mod value;
mod walk;
mod words;

pub use check::{Inspection, inspect};
pub use diff::{Change, grouped};
pub use environment::environment;
pub use error::PolicyError;
pub use fault::{Fault, Related};
#[cfg(feature = "tools")]
pub use figures::{Figures, pauses};
pub use fleet::FleetSettings;
#[cfg(feature = "tools")]
pub use lint::lint;
pub use name::nearest;
pub use policy::{
    Breaker, Bulkhead, Chaos, Dependency, Fallback, Policy, Resource, Retry, RuntimeSettings, Traffic, Value, Window,
};
pub use provenance::{Effective, Origin};
pub use units::{format_duration, parse_duration};
pub use words::{Evidence, Fail, FailureKind, FailureKinds, Jitter, Mode, Throttle};
