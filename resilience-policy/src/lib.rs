//! The resilience policy file: text in, checked [`Policy`] out, every fault with its place.

mod build;
mod chain;
mod check;
mod diff;
mod environment;
mod fault;
mod hash;
mod level;
mod locate;
pub mod lookup;
mod name;
pub mod overrides;
mod policy;
pub mod reference;
mod rules;
mod syntax;
mod unite;
mod units;
mod unknown;
mod value;
mod words;

pub use check::{Inspection, inspect};
pub use diff::Change;
pub use environment::environment;
pub use fault::{Fault, PolicyError, Related};
pub use name::nearest;
pub use policy::{
    Breaker, Bulkhead, Chaos, Dependency, Effective, Fallback, Origin, Policy, Resource, Retry, RuntimeSettings,
    Traffic, Value, Window,
};
pub use units::format_duration;
pub use words::{Fail, FailureKind, FailureKinds, Jitter, Mode, Throttle};
