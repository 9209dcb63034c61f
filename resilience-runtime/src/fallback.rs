//! The chain of fallbacks: what a caller gets when the dependency did not answer.
//!
//! It begins after the call gave its slot back, runs in the caller's task, and ends the call. A form that has nothing
//! to give declines, and the next one is tried.

mod answer;
mod chain;
mod flights;
mod key;
mod one_per;
mod run;
mod slots;
mod stale;

// A paused clock drives them.
#[cfg(all(test, feature = "testing"))]
mod tests;

pub use chain::Chain;
pub use key::{StaleKey, stale_key};

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::clock;
use crate::dependency::Pinned;
use crate::guard::Late;
use crate::ops::{End, Ops};
use crate::outcome::Outcome;

/// The forms of a fallback, as metrics and the snapshot name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Value,
    Path,
    With,
    Stale,
    Refuse,
    None,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Value,
        Self::Path,
        Self::With,
        Self::Stale,
        Self::Refuse,
        Self::None,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Path => "path",
            Self::With => "with",
            Self::Stale => "stale",
            Self::Refuse => "refuse",
            Self::None => "none",
        }
    }
}

/// What the fallbacks of one dependency share. Its parts allocate when they are first used.
#[derive(Debug, Default)]
pub(crate) struct State {
    slots: slots::Slots,
    stale: stale::Cache,
    flights: flights::Flights,
    used: OnceLock<Box<Used>>,
}

/// How often each kind of form had the last word, by why it was asked.
type Used = [[AtomicU64; REASONS.len()]; Kind::ALL.len()];

/// Why a chain may begin: the reason of a rejection, or what the body's failure was.
pub(crate) const REASONS: [&str; 15] = [
    "open",
    "probes_busy",
    "held",
    "isolated",
    "bulkhead_full",
    "wait_timed_out",
    "timed_out",
    "deadline_exceeded",
    "timeout",
    "connect",
    "server",
    "protocol",
    "other",
    "throttled",
    "ignored",
];

impl State {
    #[cfg(test)]
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// How often each kind of form had the last word, by the kind's name.
    #[inline]
    pub(crate) fn used(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.used_by_reason();
        Kind::ALL
            .into_iter()
            .map(move |kind| (kind.as_str(), counts[kind as usize].iter().sum()))
    }

    /// The same, by why it was asked, in the order of [`REASONS`].
    #[inline]
    pub(crate) fn used_by_reason(&self) -> [[u64; REASONS.len()]; Kind::ALL.len()] {
        let mut counts = [[0; REASONS.len()]; Kind::ALL.len()];
        if let Some(used) = self.used.get() {
            for (count, cell) in counts.iter_mut().flatten().zip(used.iter().flatten()) {
                *count = cell.load(Ordering::Relaxed);
            }
        }
        counts
    }

    /// Slots of `path` and `with` that are taken now.
    #[cfg(test)]
    pub(crate) fn slots_taken(&self) -> u32 {
        self.slots.taken()
    }

    fn count(&self, kind: Kind, reason: &str) {
        let row = &self.used.get_or_init(Box::default)[kind as usize];
        let place = REASONS.iter().position(|known| *known == reason);
        // Every word of an outcome or a rejection that begins a chain is in the list; a test says so.
        row[place.unwrap_or(REASONS.len() - 1)].fetch_add(1, Ordering::Relaxed);
    }
}

/// The chain of a call that ended without an answer.
pub(crate) fn fall<O: Ops>(call: Late, ops: O, end: End<O::Return>) -> Chain<O> {
    Chain::new(call, ops, end)
}

/// Keeps a good answer for a `stale` form.
pub(crate) fn keep<O>(pinned: &Pinned, ops: O, key: StaleKey, answer: &O::Return)
where
    O: Ops<Value: Clone + Send + Sync + 'static>,
{
    // A business answer says no; the answer to serve later is the last good one.
    if let Some(value) = O::success(answer)
        && ops.judge(answer) == Outcome::Success
    {
        let settings = &pinned.settings.fallback;
        let limits = stale::Limits {
            entries: usize::try_from(settings.max_entries).unwrap_or(usize::MAX),
            age: clock::nanos(settings.max_stale),
        };
        let cache = &pinned.fallback.stale;
        let came = cache.comes(clock::now());
        // The caller has an answer; a `Clone` that panics may cost the next one a stale answer, and nobody this one.
        if let Ok(value) = catch_unwind(AssertUnwindSafe(|| Arc::new(value.clone()))) {
            cache.put((key, TypeId::of::<O::Value>()), came, value, limits);
        }
    }
}
