//! The layers. Each is a struct made from its own settings with one or two methods; none knows
//! another, and none knows who observes. Their order stands in [`guard`](crate::guard).

pub(crate) mod breaker;
pub(crate) mod bulkhead;
pub(crate) mod hold;
pub(crate) mod retry;
