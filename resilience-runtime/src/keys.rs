//! Keys are kept as 128-bit hashes under a random key of the process, never as values.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

static STATES: LazyLock<(RandomState, RandomState)> = LazyLock::new(|| (RandomState::new(), RandomState::new()));

/// The hash of a key.
pub(crate) fn hash<K: Hash + ?Sized>(key: &K) -> u128 {
    let half = |state: &RandomState| u128::from(state.hash_one(key));
    half(&STATES.0) << 64 | half(&STATES.1)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn equal_keys_have_equal_hashes_and_others_do_not() {
        assert_eq!(hash("farm 7"), hash(&String::from("farm 7")));
        assert_ne!(hash(&7_u32), hash(&8_u32));
        assert_ne!(hash(&7_u32) >> 64, hash(&7_u32) & u128::from(u64::MAX));
    }
}
