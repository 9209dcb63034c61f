//! Counts as they travel, for serde. By hand: every user would compile its derive.

use serde_core::de::{Deserialize, Deserializer};
use serde_core::ser::{Serialize, Serializer};

use super::{Counted, Part};

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
