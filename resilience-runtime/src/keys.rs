//! Keys are kept as 128-bit hashes under a random key of the process, never as values.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

static STATES: LazyLock<(RandomState, RandomState)> = LazyLock::new(|| (RandomState::new(), RandomState::new()));

/// The hash of a key, in two words.
pub(crate) fn hash<K: Hash + ?Sized>(key: &K) -> [u64; 2] {
    [STATES.0.hash_one(key), STATES.1.hash_one(key)]
}

/// The two words as one.
#[inline]
pub(crate) fn whole([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::{hash, whole};

    #[test]
    fn equal_keys_have_equal_hashes_and_others_do_not() {
        assert_eq!(hash("farm 7"), hash(&String::from("farm 7")));
        assert_ne!(hash(&7_u32), hash(&8_u32));
        let [high, low] = hash(&7_u32);
        assert_ne!(high, low);
        assert_eq!(whole([1, 2]), (1 << 64) + 2);
    }
}
