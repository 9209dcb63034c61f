//! What a breaker did, and why: its last changes of state with what was known then, and counts of all of them. Written
//! only when something other than a good result happens; an idle or healthy dependency has none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use resilience_policy::reference::Id;
use resilience_policy::{Dependency as Settings, Effective};

use crate::attempts::{Counts, Ending};
use crate::layer::breaker::Totals;
use crate::outcome::FailureKind;
use crate::words::{Cause, State};

/// Changes of state that are kept.
const KEPT: usize = 32;
/// Kinds of bad results that are kept as samples.
const SAMPLES: u32 = 5;
/// Over how long openings are counted, to see flapping.
pub(crate) const STRETCH: u64 = 600 * 1_000_000_000;
/// So many openings from closed within [`STRETCH`] are flapping: it heals for a moment and falls again.
pub(crate) const FLAPPING: usize = 3;

/// Every change that can happen. Each is a series of its own, which stands at zero until it does.
pub(crate) const CHANGES: [(State, State, Cause); 17] = [
    (State::Closed, State::Open, Cause::FailureRate),
    (State::Closed, State::Open, Cause::SlowRate),
    (State::Closed, State::Open, Cause::BadRate),
    (State::Closed, State::Open, Cause::ConsecutiveFailures),
    (State::Closed, State::Open, Cause::InFlight),
    (State::Closed, State::Open, Cause::Trip),
    (State::Open, State::HalfOpen, Cause::CooldownOver),
    (State::HalfOpen, State::Open, Cause::ProbeFailed),
    (State::HalfOpen, State::Open, Cause::ProbeSlow),
    (State::HalfOpen, State::Open, Cause::ProbeTimedOut),
    (State::HalfOpen, State::Open, Cause::Trip),
    (State::HalfOpen, State::Closed, Cause::ProbesSucceeded),
    (State::HalfOpen, State::Closed, Cause::RampDone),
    (State::HalfOpen, State::Closed, Cause::Reset),
    (State::HalfOpen, State::Closed, Cause::Reload),
    (State::Open, State::Closed, Cause::Reset),
    (State::Open, State::Closed, Cause::Reload),
];

/// One change of state, with what was known at that moment. Made on the call path, so it allocates nothing: the number
/// that decided is read out of the settings by who asks for it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) change: Change,
    /// Attempts since the change before.
    pub(crate) counts: Counts,
    /// The last bad results, a byte each, the newest lowest.
    bad: u64,
    /// The numbers that were in force, and the policy they stand in.
    pub(crate) settings: Arc<Settings>,
    pub(crate) policy: Arc<str>,
}

/// What a breaker says of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// On the runtime's clock.
    pub(crate) at: u64,
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) cause: Cause,
    /// Results in the window.
    pub(crate) calls: u32,
    pub(crate) failure_rate: Option<f64>,
    pub(crate) slow_rate: Option<f64>,
    pub(crate) bad_rate: Option<f64>,
    pub(crate) cooldown: Option<u64>,
    /// Where the results come from, if not from this instance alone.
    pub(crate) pooled: Option<Pooled>,
}

/// Own results, and those of all instances together, that made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pooled {
    pub(crate) own: Totals,
    /// The own ones among them.
    pub(crate) fleet: Totals,
    /// Those that counted any, this one included.
    pub(crate) instances: usize,
}

impl Record {
    /// The number that decided, with its place.
    pub(crate) fn threshold(&self) -> Option<Effective> {
        let id = match self.change.cause {
            Cause::FailureRate => Id::FailureRate,
            Cause::SlowRate => Id::SlowRate,
            Cause::BadRate => Id::BadRate,
            Cause::ConsecutiveFailures => Id::ConsecutiveFailures,
            Cause::InFlight => Id::InFlight,
            Cause::ProbeSlow => Id::SlowAfter,
            Cause::ProbeTimedOut => Id::Timeout,
            Cause::CooldownOver => Id::Cooldown,
            Cause::ProbesSucceeded | Cause::ProbeFailed => Id::ProbeSuccesses,
            Cause::RampDone => Id::Ramp,
            Cause::Trip | Cause::Reset | Cause::Reload => return None,
        };
        self.settings.effective(id)
    }

    /// The kinds of the last bad results, newest first.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        (0..SAMPLES).filter_map(|back| match (self.bad >> (8 * back)) & 0xff {
            0 => None,
            SLOW => Some("slow"),
            code => Ending::ALL
                .get(usize::try_from(code - FIRST).ok()?)
                .and_then(|ending| ending.kind()),
        })
    }

    /// Failures of kinds that do not count.
    #[inline]
    pub(crate) fn uncounted(&self) -> u64 {
        let unlisted = |kind: &&FailureKind| !self.settings.failures.contains(**kind);
        let kinds = FailureKind::ALL.iter().filter(unlisted);
        kinds.map(|kind| self.counts.of(Ending::Failure(*kind))).sum()
    }
}

// The byte of a slow result, and the first of those of endings.
const SLOW: u64 = 1;
const FIRST: u64 = 2;

/// The history of one breaker.
#[derive(Debug, Default)]
pub(crate) struct History {
    bad: AtomicU64,
    /// Made at the first change, so that an idle dependency stays small.
    changes: OnceLock<Box<Mutex<Changes>>>,
}

#[derive(Debug)]
struct Changes {
    last: Vec<Record>,
    /// Why it last left closed, however often it was half-open since.
    opened: Option<Record>,
    /// When it left closed, the last times.
    openings: Vec<u64>,
    /// The counts at the last change.
    base: Counts,
    counts: [u64; CHANGES.len()],
    probes: [u64; Ending::COUNT],
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            // One more than is kept: the new one comes before the oldest goes.
            last: Vec::with_capacity(KEPT + 1),
            opened: None,
            openings: Vec::with_capacity(KEPT + 1),
            base: Counts::default(),
            counts: [0; CHANGES.len()],
            probes: [0; Ending::COUNT],
        }
    }
}

impl History {
    /// A failure that counts.
    pub(crate) fn failed(&self, kind: FailureKind) {
        self.note(FIRST + Ending::Failure(kind).place() as u64);
    }

    /// An attempt that was slow and otherwise good.
    pub(crate) fn was_slow(&self) {
        self.note(SLOW);
    }

    fn note(&self, code: u64) {
        let push = |bad: u64| Some((bad << 8) | code);
        let _ = self.bad.fetch_update(Ordering::Relaxed, Ordering::Relaxed, push);
    }

    /// A probe ended.
    pub(crate) fn probed(&self, ending: Ending) {
        lock(self.changes.get_or_init(Box::default)).probes[ending.place()] += 1;
    }

    /// How probes ended.
    #[inline]
    pub(crate) fn probes(&self) -> [u64; Ending::COUNT] {
        self.read(|changes| changes.probes).unwrap_or_default()
    }

    /// Keeps a change of state, and gives what was kept. `counts` are all attempts so far.
    pub(crate) fn change(&self, change: Change, counts: Counts, settings: &Arc<Settings>, policy: &Arc<str>) -> Record {
        let Change {
            at, from, to, cause, ..
        } = change;
        let mut changes = lock(self.changes.get_or_init(Box::default));
        let record = Record {
            change,
            counts: counts.since(&changes.base),
            bad: self.bad.load(Ordering::Relaxed),
            settings: Arc::clone(settings),
            policy: Arc::clone(policy),
        };
        changes.base = counts;
        if let Some(place) = CHANGES.iter().position(|known| *known == (from, to, cause)) {
            changes.counts[place] += 1;
        }
        if from == State::Closed && to == State::Open {
            // Reports of two threads may overtake each other; the changes themselves were made one after the other.
            insert(&mut changes.openings, at, |at| *at);
            if changes.opened.as_ref().is_none_or(|opened| opened.change.at <= at) {
                changes.opened = Some(record.clone());
            }
        }
        insert(&mut changes.last, record.clone(), |record| record.change.at);
        record
    }

    /// The last changes, oldest first.
    #[inline]
    pub(crate) fn last(&self) -> Vec<Record> {
        self.read(|changes| changes.last.clone()).unwrap_or_default()
    }

    /// Why it last left closed.
    #[inline]
    pub(crate) fn opened(&self) -> Option<Record> {
        self.read(|changes| changes.opened.clone()).flatten()
    }

    /// How often it left closed within [`STRETCH`].
    #[inline]
    pub(crate) fn openings(&self, now: u64) -> usize {
        self.read(|changes| {
            let recent = |at: &&u64| now.saturating_sub(**at) < STRETCH;
            changes.openings.iter().filter(recent).count()
        })
        .unwrap_or_default()
    }

    /// How often each of [`CHANGES`] happened.
    #[cfg_attr(not(feature = "metrics"), allow(dead_code))] // only metrics count them
    pub(crate) fn changes(&self) -> [u64; CHANGES.len()] {
        self.read(|changes| changes.counts).unwrap_or_default()
    }

    #[inline]
    fn read<T>(&self, read: impl FnOnce(&Changes) -> T) -> Option<T> {
        self.changes.get().map(|changes| read(&lock(changes)))
    }
}

fn insert<T>(kept: &mut Vec<T>, new: T, at: impl Fn(&T) -> u64) {
    let later = kept.iter().rev().take_while(|old| at(old) > at(&new)).count();
    kept.insert(kept.len() - later, new);
    if kept.len() > KEPT {
        kept.remove(0);
    }
}

/// Held for a push or a copy; no code of a user runs under it.
fn lock(changes: &Mutex<Changes>) -> MutexGuard<'_, Changes> {
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(history: &History, at: u64, to: State, counts: Counts, failures: &str) -> Record {
        let file = format!("version = 1\n[dependency.a]\nfail = \"closed\"\nfailures = {failures}\n");
        let policy = resilience_policy::Policy::from_toml(&file).unwrap();
        let change = Change {
            at,
            from: if to == State::Open { State::Closed } else { State::Open },
            to,
            cause: Cause::Reset,
            calls: 0,
            failure_rate: None,
            slow_rate: None,
            bad_rate: None,
            cooldown: None,
            pooled: None,
        };
        let settings = policy.shared().next().unwrap();
        history.change(change, counts, settings, &policy.hash().into())
    }

    #[test]
    fn the_last_changes_are_kept_in_the_order_in_which_they_were_made() {
        let history = History::default();
        for at in [2, 1, 3] {
            keep(&history, at, State::Open, Counts::default(), "[]");
        }
        let at: Vec<_> = history.last().iter().map(|record| record.change.at).collect();
        assert_eq!(
            (at, history.opened().map(|record| record.change.at)),
            (vec![1, 2, 3], Some(3))
        );
        for at in 4..100 {
            keep(&history, at, State::Closed, Counts::default(), "[]");
        }
        let last = history.last();
        assert_eq!((last.len(), last[0].change.at), (KEPT, 100 - KEPT as u64));
        assert_eq!(
            history.opened().map(|record| record.change.at),
            Some(3),
            "why it opened outlives the list"
        );
        assert_eq!((history.openings(STRETCH), history.openings(STRETCH + 3)), (3, 0));
    }

    #[test]
    fn counts_are_those_since_the_change_before_and_kinds_the_last_five() {
        let history = History::default();
        let mut counts = Counts::default();
        for kind in FailureKind::ALL {
            history.failed(*kind);
            counts.ended[Ending::Failure(*kind).place()] += 1;
        }
        history.was_slow();
        let first = keep(&history, 1, State::Open, counts, "[\"timeout\"]");
        counts.ended[Ending::Failure(FailureKind::Connect).place()] += 2;
        let second = keep(&history, 2, State::Closed, counts, "[]");
        let kinds: Vec<_> = first.kinds().collect();
        assert_eq!(kinds, ["slow", "other", "protocol", "server", "connect"]);
        assert_eq!((first.uncounted(), second.uncounted()), (4, 2));
        assert_eq!(second.counts.of(Ending::Failure(FailureKind::Connect)), 2);
    }
}
