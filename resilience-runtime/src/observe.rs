//! The observers. Each is the only one here that knows the crate it reports to.

#[cfg(feature = "metrics")]
pub(crate) mod metrics;
pub(crate) mod tracing;
