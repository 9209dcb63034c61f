//! What the instances of a service tell each other of what they counted, so that breakers too quiet to judge alone can
//! judge together.

mod pool;

use serde_core::de::{Deserialize, Deserializer};
use serde_core::ser::{Serialize, Serializer};

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
    fn new(age: u64, counts: Totals) -> Self {
        Self(age / MILLI, counts.calls, counts.failed, counts.slow, counts.bad)
    }

    /// In nanoseconds.
    fn age(self) -> u64 {
        self.0.saturating_mul(MILLI)
    }

    /// The counts, if they can be counts at all: they may come from anywhere.
    fn counts(self) -> Option<Totals> {
        let Self(_, calls, failed, slow, bad) = self;
        let makes_sense = bad <= calls && failed.max(slow) <= bad && bad <= failed.saturating_add(slow);
        makes_sense.then(|| [calls, failed, slow, bad].into())
    }
}

/// What travels: a sequence, whose parts serde can write and read without a derived implementation.
type Wire<Name, Breakers> = (u64, Name, Breakers);
/// A `Part`, as it travels.
type WirePart = (u64, u32, u32, u32, u32);

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire: Wire<_, _> = (self.from, &self.instance, &self.breakers);
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (from, instance, breakers) = Wire::<String, Vec<(String, Vec<Part>)>>::deserialize(deserializer)?;
        Ok(Self {
            from,
            instance,
            breakers,
        })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(age, calls, failed, slow, bad) = *self;
        (age, calls, failed, slow, bad).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (age, calls, failed, slow, bad) = WirePart::deserialize(deserializer)?;
        Ok(Self(age, calls, failed, slow, bad))
    }
}

const MILLI: u64 = 1_000_000;
