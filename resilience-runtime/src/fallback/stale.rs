//! The last good answers of a dependency's functions: a bounded number, the oldest leaving first.

use std::any::{Any, TypeId};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::key::StaleKey;

/// The type counts, because a generic function has one static for all its types.
pub(super) type Key = (StaleKey, TypeId);
type Value = Arc<dyn Any + Send + Sync>;

/// What the policy allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) entries: usize,
    /// Nanoseconds.
    pub(super) age: u64,
}

#[derive(Default)]
pub(super) struct Cache {
    entries: Mutex<Entries>,
    came: AtomicU64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    /// Oldest first. An answer that was replaced leaves its line behind, which no longer fits its entry's number.
    by_age: VecDeque<(Key, u64)>,
}

/// When an answer came. It is copied after that, which takes as long as the user's `Clone` does: of two answers for a key
/// that are copied at once, the one that came last is the one that stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    at: u64,
    number: u64,
}

struct Entry {
    at: u64,
    number: u64,
    value: Value,
}

/// Lines left behind that are not worth a pass over the queue.
const SLACK: usize = 32;

impl Cache {
    /// An answer came now.
    #[inline]
    pub(super) fn comes(&self, now: u64) -> Came {
        Came {
            at: now,
            number: self.came.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Keeps `value` as the newest answer for `key`, unless a newer one is there. Values that leave are dropped outside
    /// the lock: their `Drop` is the user's.
    #[inline]
    pub(super) fn put(&self, key: Key, came: Came, value: Value, limits: Limits) {
        if limits.entries == 0 {
            return;
        }
        let now = came.at;
        let mut entries = self.lock();
        let replaced = entries.insert(key, came, value);
        let mut left = entries.evict(now, limits);
        drop(entries);
        drop(replaced);
        // One leaves for one that comes; more only after the limit was lowered or answers grew too old.
        while left.take().is_some() {
            left = self.lock().evict(now, limits);
        }
    }

    /// The answer for `key` and its age, if it is at most `max_age` nanoseconds old.
    #[inline]
    pub(super) fn get(&self, key: Key, now: u64, max_age: u64) -> Option<(Value, Duration)> {
        let entries = self.lock();
        let entry = entries.by_key.get(&key)?;
        let age = now.saturating_sub(entry.at);
        (age <= max_age).then(|| (Arc::clone(&entry.value), Duration::from_nanos(age)))
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cache {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("entries", &self.lock().by_key.len())
            .finish()
    }
}

impl Entries {
    /// The entry that is not kept, if there is one.
    #[inline]
    fn insert(&mut self, key: Key, came: Came, value: Value) -> Option<Entry> {
        let Came { at, number } = came;
        let entry = Entry { at, number, value };
        if self.by_key.get(&key).is_some_and(|newer| newer.number > number) {
            return Some(entry);
        }
        self.by_age.push_back((key, number));
        let replaced = self.by_key.insert(key, entry);
        if self.by_age.len() > 2 * self.by_key.len() + SLACK {
            let by_key = &self.by_key;
            self.by_age
                .retain(|(key, number)| by_key.get(key).is_some_and(|entry| entry.number == *number));
        }
        replaced
    }

    /// Takes out the oldest entry if there are too many, or if it is too old to be served.
    #[inline]
    fn evict(&mut self, now: u64, limits: Limits) -> Option<Entry> {
        while let Some(&(key, number)) = self.by_age.front() {
            if let Some(entry) = self.by_key.get(&key).filter(|entry| entry.number == number) {
                let leaves = self.by_key.len() > limits.entries || now.saturating_sub(entry.at) > limits.age;
                if !leaves {
                    return None;
                }
                self.by_age.pop_front();
                return self.by_key.remove(&key);
            }
            self.by_age.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fallback::key::StaleKey;

    const LIMITS: Limits = Limits { entries: 3, age: 100 };

    fn key(number: u64) -> Key {
        (StaleKey::of_number(number), TypeId::of::<u64>())
    }

    fn got(cache: &Cache, number: u64, now: u64) -> Option<(u64, u64)> {
        let (value, age) = cache.get(key(number), now, LIMITS.age)?;
        Some((
            *value.downcast_ref::<u64>().unwrap(),
            u64::try_from(age.as_nanos()).unwrap(),
        ))
    }

    fn put(cache: &Cache, number: u64, now: u64, value: u64) {
        cache.put(key(number), cache.comes(now), Arc::new(value), LIMITS);
    }

    #[test]
    fn an_answer_is_served_until_it_is_exactly_max_stale_old() {
        let cache = Cache::default();
        put(&cache, 1, 1_000, 7);
        assert_eq!(got(&cache, 1, 1_000), Some((7, 0)));
        assert_eq!(got(&cache, 1, 1_100), Some((7, 100)));
        assert_eq!(got(&cache, 1, 1_101), None);
        assert_eq!(got(&cache, 2, 1_000), None);
    }

    #[test]
    fn a_success_overwrites_and_is_new_again() {
        let cache = Cache::default();
        put(&cache, 1, 0, 7);
        put(&cache, 1, 90, 8);
        assert_eq!(got(&cache, 1, 150), Some((8, 60)));
    }

    #[test]
    fn an_answer_that_was_copied_slowly_does_not_replace_one_that_came_after_it() {
        let cache = Cache::default();
        let (slow, quick) = (cache.comes(10), cache.comes(20));
        cache.put(key(1), quick, Arc::new(8_u64), LIMITS);
        cache.put(key(1), slow, Arc::new(7_u64), LIMITS);
        assert_eq!(got(&cache, 1, 30), Some((8, 10)));
        assert_eq!(cache.lock().by_key.len(), 1);
    }

    #[test]
    fn the_oldest_leaves_first_and_a_refreshed_one_is_not_old() {
        let cache = Cache::default();
        for number in 1..=3 {
            put(&cache, number, number, number);
        }
        put(&cache, 1, 4, 10);
        put(&cache, 4, 5, 4);
        assert_eq!(got(&cache, 2, 5), None);
        assert_eq!(got(&cache, 1, 5), Some((10, 1)));
        assert!(got(&cache, 3, 5).is_some() && got(&cache, 4, 5).is_some());
    }

    #[test]
    fn one_too_old_to_be_served_is_not_kept() {
        let cache = Cache::default();
        put(&cache, 1, 0, 1);
        put(&cache, 2, 0, 2);
        put(&cache, 3, 101, 3);
        assert_eq!(cache.lock().by_key.len(), 1);
    }

    #[test]
    fn a_lowered_limit_is_obeyed_at_the_next_answer() {
        let cache = Cache::default();
        for number in 0..100 {
            cache.put(
                key(number),
                cache.comes(0),
                Arc::new(number),
                Limits {
                    entries: 1_000,
                    ..LIMITS
                },
            );
        }
        put(&cache, 100, 0, 100);
        assert_eq!(cache.lock().by_key.len(), 3);
        cache.put(
            key(101),
            cache.comes(0),
            Arc::new(0_u64),
            Limits { entries: 0, ..LIMITS },
        );
        assert_eq!(got(&cache, 101, 0), None);
    }

    #[test]
    fn refreshing_one_key_for_ever_stays_small() {
        let cache = Cache::default();
        for now in 0..10_000 {
            put(&cache, 1, now, now);
        }
        assert!(cache.lock().by_age.len() <= 2 + SLACK + 1);
    }

    #[test]
    fn values_are_dropped_outside_the_lock() {
        struct Looks(Arc<Cache>);
        impl Drop for Looks {
            fn drop(&mut self) {
                assert!(self.0.entries.try_lock().is_ok());
            }
        }
        let cache = Arc::new(Cache::default());
        for number in 0..10 {
            cache.put(
                key(number % 4),
                cache.comes(number),
                Arc::new(Looks(Arc::clone(&cache))),
                LIMITS,
            );
        }
        let rest = std::mem::take(&mut *cache.lock());
        drop(rest);
    }
}
