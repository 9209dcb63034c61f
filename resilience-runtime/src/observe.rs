//! The observers. Each is the only one here that knows the crate it reports to.

pub(crate) mod tracing;
