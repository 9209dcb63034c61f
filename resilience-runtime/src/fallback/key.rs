//! Keys as 128-bit hashes under a random key per process: what was asked for is never stored, and two callers cannot
//! be made to meet.

use std::any::type_name;
use std::collections::hash_map::{DefaultHasher, RandomState};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use crate::site::Site;

/// The key of a stale answer, function and type mixed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaleKey(u128);

/// The key of an answer of `site` for the arguments in `key`.
pub fn stale_key<K: Hash + ?Sized>(site: &'static Site, key: &K) -> StaleKey {
    StaleKey(digest(|twin| mix(twin, Some(site), key)))
}

/// The key of a run of form number `form` of `site`, for `key`, giving a `R`.
pub(super) fn flight_key<K: Hash + ?Sized, R: 'static>(site: Option<&'static Site>, form: usize, key: &K) -> u128 {
    digest(|twin| {
        form.hash(twin);
        std::any::TypeId::of::<R>().hash(twin);
        mix(twin, site, key);
    })
}

fn mix<K: Hash + ?Sized>(twin: &mut Twin, site: Option<&'static Site>, key: &K) {
    // The address tells functions apart: each has a static of its own.
    site.map(std::ptr::from_ref).hash(twin);
    type_name::<K>().hash(twin);
    key.hash(twin);
}

fn digest(write: impl FnOnce(&mut Twin)) -> u128 {
    static RANDOM: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);
    let [high, low] = &*RANDOM;
    let mut twin = Twin {
        high: high.build_hasher(),
        low: low.build_hasher(),
    };
    write(&mut twin);
    u128::from(twin.high.finish()) << 64 | u128::from(twin.low.finish())
}

/// Two hashers fed at once, so that the user's `Hash` runs once.
struct Twin {
    high: DefaultHasher,
    low: DefaultHasher,
}

impl Hasher for Twin {
    fn write(&mut self, bytes: &[u8]) {
        self.high.write(bytes);
        self.low.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.low.finish()
    }
}

#[cfg(test)]
impl StaleKey {
    pub(super) const fn of_number(number: u64) -> Self {
        Self(number as u128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<K: Hash + ?Sized>(key: &K) -> u128 {
        flight_key::<K, u32>(None, 0, key)
    }

    #[test]
    fn equal_keys_are_equal_and_others_are_not() {
        assert_eq!(plain("42"), plain("42"));
        assert_ne!(plain("42"), plain("43"));
        assert_ne!(plain(&("a", "bc")), plain(&("ab", "c")));
    }

    #[test]
    fn the_type_of_the_key_and_of_the_answer_and_the_form_count() {
        assert_ne!(plain(&1_u32), plain(&1_i32));
        assert_ne!(plain(&1_u32), flight_key::<u32, u64>(None, 0, &1));
        assert_ne!(plain(&1_u32), flight_key::<u32, u32>(None, 1, &1));
    }

    #[test]
    fn both_halves_depend_on_the_key() {
        let (first, second) = (plain(&1), plain(&2));
        assert_ne!(first >> 64, second >> 64);
        assert_ne!(first & u128::from(u64::MAX), second & u128::from(u64::MAX));
        assert_ne!(first >> 64, first & u128::from(u64::MAX));
    }
}
