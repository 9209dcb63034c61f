//! What the instances of a service tell each other of what they counted, so that breakers too quiet to judge alone can
//! judge together.

mod pool;
#[cfg(feature = "serde")]
mod wire;

pub(crate) use pool::{Others, Pool};

use crate::layer::breaker::Totals;

/// What one instance counted of the dependencies that are too quiet there to be judged alone, to be carried to the others
/// by whatever they meet at: see [`Runtime::counted`](crate::Runtime::counted).
///
/// It holds names of dependencies and counts with their ages: no payload, no key, no moment by anybody's clock. What it
/// looks like when it is serialized is for other instances of the same version to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// One runtime of one process; another one after a restart.
    from: u64,
    instance: String,
    breakers: Vec<(String, Vec<Part>)>,
}

/// Counts that belong together, and how long ago the first of them was made, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part(u64, u32, u32, u32, u32);

impl Part {
    #[inline]
    fn new(age: u64, counts: Totals) -> Self {
        Self(age / MILLI, counts.calls, counts.failed, counts.slow, counts.bad)
    }

    /// In nanoseconds.
    #[inline]
    fn age(self) -> u64 {
        self.0.saturating_mul(MILLI)
    }

    /// The counts, if they can be counts at all: they may come from anywhere.
    #[inline]
    fn counts(self) -> Option<Totals> {
        let Self(_, calls, failed, slow, bad) = self;
        let makes_sense = bad <= calls && failed.max(slow) <= bad && bad <= failed.saturating_add(slow);
        makes_sense.then(|| [calls, failed, slow, bad].into())
    }
}

const MILLI: u64 = 1_000_000;
