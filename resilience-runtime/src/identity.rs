//! Who a rejection speaks of. Interned, so that a rejection is a pointer and is made without allocating.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// A dependency's name, what a client may call it, and the word an operator prepared for its fallbacks.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// Its place in the list of all, by which an atomic can name it.
    number: u32,
    name: Box<str>,
    label: Option<Box<str>>,
    answer: Option<Box<str>>,
}

/// An identity that is not interned yet, so that looking one up allocates nothing.
type Parts<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

struct Interned(&'static Identity);

static INTERNED: LazyLock<Mutex<HashSet<Interned>>> = LazyLock::new(|| Mutex::new(HashSet::new()));

/// Every identity by its number, in chunks that double, so that none ever moves and a reader takes no lock.
static NUMBERED: [OnceLock<Box<[OnceLock<&'static Identity>]>>; 27] = [const { OnceLock::new() }; 27];
/// The first chunk's length, as a power of two.
const FIRST: u32 = 6;

/// The chunk of a number, its length, and the place inside it.
#[inline]
fn place(number: u32) -> (usize, usize, usize) {
    let shifted = u64::from(number) + (1 << FIRST);
    let chunk = shifted.ilog2() - FIRST;
    let length = 1_usize << (FIRST + chunk);
    #[allow(clippy::cast_possible_truncation)] // below the chunk's length
    let inside = shifted as usize & (length - 1);
    (chunk as usize, length, inside)
}

impl Identity {
    /// The one identity of these three. What it leaks is bounded by the distinct triples that a process ever sees:
    /// they change with the policy and with overrides, never with calls. Not for the call path: it takes a lock.
    pub(crate) fn intern(name: &str, label: Option<&str>, answer: Option<&str>) -> &'static Self {
        let parts: Parts<'_> = (name, label, answer);
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = interned.get(&parts as &dyn Triple) {
            return known.0;
        }
        // Memory ends long before the numbers do.
        let number = u32::try_from(interned.len()).unwrap_or(u32::MAX);
        let identity: &'static Self = Box::leak(Box::new(Self {
            number,
            name: name.into(),
            label: label.map(Into::into),
            answer: answer.map(Into::into),
        }));
        interned.insert(Interned(identity));
        let (chunk, length, inside) = place(number);
        if let Some(chunk) = NUMBERED.get(chunk) {
            let chunk = chunk.get_or_init(|| (0..length).map(|_| OnceLock::new()).collect());
            let _ = chunk[inside].set(identity);
        }
        identity
    }

    /// The identity of this number, which another one gave. No lock is taken.
    pub(crate) fn numbered(number: u32) -> &'static Self {
        let (chunk, _, inside) = place(number);
        let find = || NUMBERED.get(chunk)?.get()?.get(inside)?.get().copied();
        find().unwrap_or_else(|| unreachable!("a number is given after its place was filled"))
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// `payrail`, or `payrail.refund` for an operation.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The only name of it that a client may see.
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The `answer` of the override in force.
    pub(crate) fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }
}

/// What both an interned identity and borrowed parts are to the set.
trait Triple {
    fn parts(&self) -> Parts<'_>;
}

impl Triple for Interned {
    fn parts(&self) -> Parts<'_> {
        (self.0.name(), self.0.label(), self.0.answer())
    }
}

impl Triple for Parts<'_> {
    fn parts(&self) -> Parts<'_> {
        *self
    }
}

impl Hash for dyn Triple + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for dyn Triple + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Triple + '_ {}

impl Hash for Interned {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for Interned {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Interned {}

impl<'a> Borrow<dyn Triple + 'a> for Interned {
    fn borrow(&self) -> &(dyn Triple + 'a) {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_are_one_identity() {
        let first = Identity::intern("identity_a", Some("payments"), None);
        let again = Identity::intern(&String::from("identity_a"), Some("payments"), None);
        assert!(std::ptr::eq(first, again));
        assert_eq!(
            (first.name(), first.label(), first.answer()),
            ("identity_a", Some("payments"), None)
        );
    }

    #[test]
    fn each_is_found_by_its_number() {
        for number in [0, 1, 63, 64, 191, 192, 1_000_000, u32::MAX] {
            let (chunk, length, inside) = place(number);
            assert!(chunk < 27 && inside < length, "{number}");
        }
        for name in 0..300 {
            let identity = Identity::intern(&format!("numbered_{name}"), None, None);
            assert!(std::ptr::eq(Identity::numbered(identity.number()), identity));
        }
    }

    #[test]
    fn any_other_part_is_another_identity() {
        let plain = Identity::intern("identity_b", None, None);
        assert!(!std::ptr::eq(plain, Identity::intern("identity_b", Some("b"), None)));
        assert!(!std::ptr::eq(plain, Identity::intern("identity_b", None, Some("b"))));
        assert!(!std::ptr::eq(plain, Identity::intern("identity_c", None, None)));
    }
}
