//! Values by name, and order, for as little code as they can be had.
//!
//! A map for every type of value, and a sort for every type of list, are compiled anew for each, by everybody who builds
//! this crate: they were half of its code in an unoptimised build. Here one tree holds places for all of them, and one
//! sort works on places.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Values by name, in the order of the names.
#[derive(Debug, Clone)]
pub struct Names<V> {
    places: BTreeMap<String, usize>,
    values: Vec<V>,
}

impl<V> Default for Names<V> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            values: Vec::new(),
        }
    }
}

impl<V> Names<V> {
    /// Gives a name its value; what it had before is over.
    pub fn insert(&mut self, name: String, value: V) {
        if let Some(at) = self.places.get(&name) {
            self.values[*at] = value;
        } else {
            self.places.insert(name, self.values.len());
            self.values.push(value);
        }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.places.get(name).map(|at| &self.values[*at])
    }

    /// The value of a name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.places.get(name).map(|at| &mut self.values[*at])
    }

    /// The value of a name, from now on at least the default.
    pub fn get_or_default(&mut self, name: &str) -> &mut V
    where
        V: Default,
    {
        let at = self.places.get(name).copied().unwrap_or_else(|| {
            self.places.insert(name.to_owned(), self.values.len());
            self.values.push(V::default());
            self.values.len() - 1
        });
        &mut self.values[at]
    }

    /// Takes a name out. Looks at all of them to do so.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let at = *self.places.get(name)?;
        // The tree is made anew: what takes one place out of a tree is a lot of code, and nothing else here needs it.
        for (name, place) in std::mem::take(&mut self.places) {
            if place != at {
                self.places.insert(name, place);
            }
        }
        let value = self.values.swap_remove(at);
        // The last value now stands where the one taken out did.
        let moved = self.values.len();
        for place in self.places.values_mut().filter(|place| **place == moved) {
            *place = at;
        }
        Some(value)
    }

    /// Whether it has a name.
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Whether it has no name at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many names it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.places.keys()
    }

    /// The values, in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.places.values().map(|at| &self.values[*at])
    }

    /// Names and values, in the order of the names.
    pub fn each(&self) -> impl Iterator<Item = (&String, &V)> {
        self.places.iter().map(|(name, at)| (name, &self.values[*at]))
    }

    /// The same names with other values.
    pub fn map<W>(self, change: impl Fn(V) -> W) -> Names<W> {
        let Self { places, values } = self;
        let values = values.into_iter().map(change).collect();
        Names { places, values }
    }

    /// Changes each value, in the order of the names.
    pub fn change(&mut self, mut change: impl FnMut(&String, &mut V)) {
        for (name, at) in &self.places {
            change(name, &mut self.values[*at]);
        }
    }

    /// Takes out all names but those whose value is to be kept.
    pub fn keep(&mut self, keep: impl Fn(&V) -> bool) {
        let names = std::mem::take(&mut self.places);
        let mut values = Vec::with_capacity(self.values.len());
        for value in self.values.drain(..) {
            values.push(Some(value));
        }
        for (name, at) in names {
            if let Some(value) = values[at].take().filter(|value| keep(value)) {
                self.places.insert(name, self.values.len());
                self.values.push(value);
            }
        }
    }
}

/// The places of `count` things in the order of the things; what is equal keeps its order.
pub fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places = Vec::with_capacity(count);
    places.extend(0..count);
    places.sort_by(|left, right| compare(*left, *right));
    places
}

/// The things in their order; what is equal keeps its order.
pub fn sorted<T>(things: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let order = order(things.len(), &|left, right| compare(&things[left], &things[right]));
    let mut left = Vec::with_capacity(things.len());
    for thing in things {
        left.push(Some(thing));
    }
    let mut sorted = Vec::with_capacity(left.len());
    for at in order {
        sorted.extend(left[at].take());
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::{Names, sorted};

    fn shown(names: &Names<u32>) -> String {
        let each = names.each().map(|(name, value)| format!("{name}={value}"));
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_are_in_their_order_and_the_later_value_counts() {
        let mut names = Names::default();
        for (name, value) in [("c", 1), ("a", 2), ("b", 3), ("a", 4)] {
            names.insert(name.to_owned(), value);
        }
        assert_eq!(shown(&names), "a=4 b=3 c=1");
        *names.get_or_default("0") += 7;
        *names.get_or_default("b") += 7;
        *names.get_mut("c").unwrap() += 7;
        assert_eq!(shown(&names), "0=7 a=4 b=10 c=8");
        assert_eq!(names.values().copied().collect::<Vec<_>>(), [7, 4, 10, 8]);
        assert_eq!(
            (names.len(), names.has("a"), names.has("d"), names.get("d")),
            (4, true, false, None)
        );
    }

    #[test]
    fn who_is_taken_out_moves_no_other_value() {
        let mut names = Names::default();
        for (name, value) in [("c", 1), ("a", 2), ("b", 3)] {
            names.insert(name.to_owned(), value);
        }
        assert_eq!((names.remove("c"), names.remove("c")), (Some(1), None));
        assert_eq!(shown(&names), "a=2 b=3");
        assert_eq!((names.remove("b"), names.remove("a")), (Some(3), Some(2)));
        assert!(names.is_empty());
    }

    #[test]
    fn what_is_kept_keeps_its_name() {
        let mut names = Names::default();
        for (name, value) in [("d", 1), ("c", 2), ("b", 3), ("a", 4)] {
            names.insert(name.to_owned(), value);
        }
        names.change(|name, value| *value += u32::from(name == "b"));
        names.keep(|value| value % 2 == 0);
        names.insert("c".to_owned(), 6);
        assert_eq!(shown(&names.map(|value| value * 10)), "a=40 b=40 c=60");
    }

    #[test]
    fn what_is_equal_keeps_its_order() {
        let words = vec!["bb", "a", "aa", "b", "ab", ""];
        assert_eq!(
            sorted(words, |left, right| left.len().cmp(&right.len())),
            ["", "a", "b", "bb", "aa", "ab"]
        );
    }
}
