//! An answer that says how it came about.

use std::time::Duration;

/// An answer and its freshness. A guarded function that returns `Result<Served<T>, E>` writes [`Served::fresh`]; its
/// fallbacks set the mark, whatever they wrote themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served<T> {
    /// The answer.
    pub value: T,
    /// How it came about.
    pub freshness: Freshness,
}

impl<T> Served<T> {
    /// An answer that the dependency gave just now.
    pub const fn fresh(value: T) -> Self {
        Self {
            value,
            freshness: Freshness::Fresh,
        }
    }
}

/// How an answer came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The dependency gave it just now.
    Fresh,
    /// The dependency gave it some time ago.
    Stale {
        /// How long ago.
        age: Duration,
    },
    /// A fallback gave it.
    Fallback,
}
