//! Who a rejection speaks of. Interned, so that a rejection is a pointer and is made without allocating.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A dependency's name, what a client may call it, and the word an operator prepared for its fallbacks.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    name: Box<str>,
    label: Option<Box<str>>,
    answer: Option<Box<str>>,
}

/// An identity that is not interned yet, so that looking one up allocates nothing.
type Parts<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

struct Interned(&'static Identity);

static INTERNED: LazyLock<Mutex<HashSet<Interned>>> = LazyLock::new(|| Mutex::new(HashSet::new()));

impl Identity {
    /// The one identity of these three. What it leaks is bounded by the distinct triples that a process ever sees:
    /// they change with the policy and with overrides, never with calls. Not for the call path: it takes a lock.
    pub(crate) fn intern(name: &str, label: Option<&str>, answer: Option<&str>) -> &'static Self {
        let parts: Parts<'_> = (name, label, answer);
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = interned.get(&parts as &dyn Triple) {
            return known.0;
        }
        let identity: &'static Self = Box::leak(Box::new(Self {
            name: name.into(),
            label: label.map(Into::into),
            answer: answer.map(Into::into),
        }));
        interned.insert(Interned(identity));
        identity
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
    fn any_other_part_is_another_identity() {
        let plain = Identity::intern("identity_b", None, None);
        assert!(!std::ptr::eq(plain, Identity::intern("identity_b", Some("b"), None)));
        assert!(!std::ptr::eq(plain, Identity::intern("identity_b", None, Some("b"))));
        assert!(!std::ptr::eq(plain, Identity::intern("identity_c", None, None)));
    }
}
