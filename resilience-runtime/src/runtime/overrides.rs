//! The operator's hand over the policy: set in code or by the overrides file, the later one counts.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use resilience_policy::names::Names;

use super::{Runtime, UnknownDependency};
use crate::clock::{self, nanos};
use crate::event::{self, Event};
use crate::mode::{Active, Override};

/// An override holds at most this long.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Its end is announced this long before.
const NOTICE: u64 = 60_000_000_000;

/// The overrides of one runtime.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    active: Names<Held>,
    /// What the file said last: an entry that did not change is not a new hand.
    file: Names<Override>,
}

#[derive(Debug)]
struct Held {
    active: Arc<Active>,
    from_file: bool,
    announced: bool,
}

impl Overrides {
    /// The hand over a name: its own, else its dependency's.
    #[inline]
    pub(crate) fn active(&self, name: &str, parent: Option<&str>, now: u64) -> Option<Arc<Active>> {
        let of = |name: &str| self.active.get(name).filter(|held| now < held.active.until);
        of(name).or_else(|| of(parent?)).map(|held| Arc::clone(&held.active))
    }

    #[inline]
    fn hold(&mut self, name: &str, set: Override, from_file: bool) {
        let left = set.until.duration_since(clock::wall()).unwrap_or_default();
        let until = clock::now().saturating_add(nanos(left));
        let held = Held {
            active: Arc::new(Active { set, until }),
            from_file,
            announced: false,
        };
        self.active.insert(name.to_owned(), held);
    }
}

impl Runtime {
    /// Sets the mode of a dependency, or of an operation, by hand. Isolating a dependency isolates its operations.
    ///
    /// # Errors
    ///
    /// When the policy has no such name, and when the override has no `by` or no `reason`, is over already, or
    /// holds for more than seven days.
    #[inline]
    pub fn set_mode(&self, dependency: &str, set: Override) -> Result<(), OverrideError> {
        self.entry(dependency).map_err(OverrideError::unknown)?;
        check(&set)?;
        let seconds = set.until.duration_since(clock::wall()).unwrap_or_default().as_secs();
        let (mode, by, reason) = (set.mode.as_str(), set.by.clone(), set.reason.clone());
        self.with_overrides(|overrides| overrides.hold(dependency, set, false));
        self.repin();
        event::emit(&Event::OverrideSet {
            dependency,
            mode,
            by: &by,
            reason: &reason,
            seconds,
        });
        Ok(())
    }

    /// Takes the hand off a dependency: the mode of the file holds again.
    ///
    /// # Errors
    ///
    /// When the policy has no such name.
    #[inline]
    pub fn clear_mode(&self, dependency: &str) -> Result<(), UnknownDependency> {
        self.entry(dependency)?;
        self.with_overrides(|overrides| overrides.active.remove(dependency));
        self.repin();
        Ok(())
    }

    /// Takes what the overrides file says now. Only what changed there is a new hand; an entry that went away
    /// takes its hand off, unless a later one was set in code.
    #[cfg_attr(not(feature = "watch"), allow(dead_code))]
    #[inline]
    pub(crate) fn take_overrides(&self, entries: Names<Override>) {
        let (changed, over) = self.with_overrides(|overrides| {
            let gone: Vec<_> = overrides
                .file
                .names()
                .filter(|name| !entries.has(name))
                .cloned()
                .collect();
            for name in gone {
                if overrides.active.get(&name).is_some_and(|held| held.from_file) {
                    overrides.active.remove(&name);
                }
            }
            let now = clock::wall();
            let (changed, over): (Vec<_>, Vec<_>) = entries
                .each()
                .filter(|(name, set)| overrides.file.get(name) != Some(*set))
                .map(|(name, set)| (name.clone(), set.clone()))
                .partition(|(_, set)| set.until > now);
            for (name, set) in &changed {
                overrides.hold(name, set.clone(), true);
            }
            overrides.file = entries;
            (changed, over)
        });
        self.repin();
        for (name, set) in changed.iter().filter(|(name, _)| self.entry(name).is_ok()) {
            let seconds = set.until.duration_since(clock::wall()).unwrap_or_default().as_secs();
            event::emit(&Event::OverrideSet {
                dependency: name,
                mode: set.mode.as_str(),
                by: &set.by,
                reason: &set.reason,
                seconds,
            });
        }
        // It ended while nobody watched: it is void, and that is said.
        for (dependency, set) in &over {
            event::emit(&Event::OverrideExpired {
                dependency,
                mode: set.mode.as_str(),
                by: &set.by,
            });
        }
    }

    /// Announces ends that are near, and takes off the hands whose time is over.
    #[inline]
    pub(crate) fn tick_overrides(&self) {
        let now = clock::now();
        let (near, over) = self.with_overrides(|overrides| {
            let over: Vec<_> = overrides
                .active
                .each()
                .filter(|(_, held)| now >= held.active.until)
                .map(|(name, _)| name.clone())
                .collect();
            let over: Vec<_> = over
                .into_iter()
                .filter_map(|name| overrides.active.remove(&name).map(|held| (name, held.active)))
                .collect();
            let mut near = Vec::new();
            overrides.active.change(|name, held| {
                let left = held.active.until - now;
                if left <= NOTICE && !held.announced {
                    held.announced = true;
                    near.push((name.clone(), Arc::clone(&held.active), left / 1_000_000_000));
                }
            });
            (near, over)
        });
        if !over.is_empty() {
            self.repin();
        }
        for (dependency, active, seconds) in &near {
            let (mode, by) = (active.set.mode.as_str(), active.set.by.as_str());
            event::emit(&Event::OverrideExpiring {
                dependency,
                mode,
                by,
                seconds: *seconds,
            });
        }
        for (dependency, active) in &over {
            let (mode, by) = (active.set.mode.as_str(), active.set.by.as_str());
            event::emit(&Event::OverrideExpired { dependency, mode, by });
        }
    }

    #[inline]
    fn with_overrides<T>(&self, act: impl FnOnce(&mut Overrides) -> T) -> T {
        act(&mut self.inner.overrides.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn repin(&self) {
        self.assemble(&self.policy());
        #[cfg(feature = "metrics")]
        self.refresh_metrics();
    }
}

#[inline]
fn check(set: &Override) -> Result<(), OverrideError> {
    let refused = |why: &str| {
        Err(OverrideError {
            kind: Kind::Refused(why.to_owned()),
        })
    };
    if set.by.trim().is_empty() {
        return refused("an override needs `by`: who answers for it");
    }
    if set.reason.trim().is_empty() {
        return refused("an override needs `reason`: why it is set");
    }
    match set.until.duration_since(clock::wall()) {
        Ok(left) if left.is_zero() => refused("the override's `until` has passed already"),
        Ok(left) if left > LONGEST => {
            refused("an override holds for 7 days at most; what is to stay belongs in the policy file")
        }
        Ok(_) => Ok(()),
        Err(_) => refused("the override's `until` has passed already"),
    }
}

/// Why a mode was not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideError {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Unknown(UnknownDependency),
    Refused(String),
}

impl OverrideError {
    #[inline]
    fn unknown(unknown: UnknownDependency) -> Self {
        Self {
            kind: Kind::Unknown(unknown),
        }
    }

    /// The name that the policy does not have, if that is the reason.
    #[inline]
    pub fn unknown_dependency(&self) -> Option<&UnknownDependency> {
        match &self.kind {
            Kind::Unknown(unknown) => Some(unknown),
            Kind::Refused(_) => None,
        }
    }
}

impl fmt::Display for OverrideError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unknown(unknown) => unknown.fmt(f),
            Kind::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for OverrideError {}
