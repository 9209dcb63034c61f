//! The resilience policy file: text in, checked [`Policy`] out, every fault with its place.

mod policy;
mod words;

pub use policy::{
    Breaker, Bulkhead, Chaos, Dependency, Effective, Fallback, Origin, Policy, Resource, Retry, RuntimeSettings,
    Traffic, Value, Window,
};
pub use words::{Fail, FailureKind, FailureKinds, Jitter, Mode, Throttle};
