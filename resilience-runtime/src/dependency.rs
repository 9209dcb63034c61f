//! A dependency at run time: state that belongs to it, and the numbers that a call pins.

#[cfg(all(test, resilience_loom))]
mod loom;
mod traits;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use resilience_policy::{Breaker as BreakerNumbers, Bulkhead as BulkheadNumbers, Dependency as Settings, Mode, Retry};

use crate::attempts::{Attempts, Counts, Ending};
use crate::clock::{self, NEVER, nanos};
use crate::fallback;
use crate::history::History;
use crate::identity::Identity;
use crate::layer::breaker::{Breaker, Transition};
use crate::layer::bulkhead::Bulkhead;
use crate::layer::hold::Hold;
use crate::layer::retry::Budget;
use crate::meter::Meter;
use crate::mode::Active;
use crate::recorder::Recorders;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::tally::{CallOutcome, Tally};
use crate::words::Cause;
pub(crate) use traits::Traits;

/// What belongs to one name whatever the numbers are. A reload keeps it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) breaker: OnceLock<Breaker>,
    /// It has room for nobody before numbers give it some, and nobody asks it before.
    pub(crate) bulkhead: Bulkhead,
    pub(crate) budget: Budget,
    pub(crate) hold: Hold,
    pub(crate) tally: Tally,
    pub(crate) attempts: Attempts,
    pub(crate) fallback: Arc<fallback::State>,
    /// What the breaker did.
    pub(crate) history: History,
    /// Operations that share the breaker.
    sharers: Mutex<Vec<Arc<State>>>,
}

/// The numbers of one name and where their state stands. A call holds one from begin to end, so a
/// reload never changes a running call.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) settings: Arc<Settings>,
    pub(crate) identity: &'static Identity,
    /// State of this name.
    pub(crate) own: Arc<State>,
    /// State of its dependency, which is its own unless this is an operation.
    pub(crate) parent: Arc<State>,
    pub(crate) fallback: Arc<fallback::State>,
    pub(crate) mode: Mode,
    /// The operator's hand, while it holds.
    pub(crate) active: Option<Arc<Active>>,
    /// Instant at which the hand lets go; [`NEVER`] without one.
    pub(crate) until: u64,
    /// Nanoseconds, [`NEVER`] for none.
    pub(crate) timeout: u64,
    pub(crate) instance: Arc<str>,
    /// The hash of the policy that these numbers stand in.
    pub(crate) policy: Arc<str>,
    /// Whether the chaos table acts.
    pub(crate) chaos: bool,
}

impl Pinned {
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// The breaker and its numbers, if the layer is on.
    pub(crate) fn breaker(&self) -> Option<(&Breaker, &BreakerNumbers)> {
        let numbers = self.settings.breaker.as_ref()?;
        Some((self.breaker_state().breaker.get()?, numbers))
    }

    /// The state that the breaker stands in, and its history.
    pub(crate) fn breaker_state(&self) -> &State {
        if self.settings.breaker_shared {
            &self.parent
        } else {
            &self.own
        }
    }

    /// The name that owns the breaker: its transitions are reported under it.
    pub(crate) fn breaker_name(&self) -> &str {
        match &self.settings.parent {
            Some(parent) if self.settings.breaker_shared => parent,
            _ => self.identity.name(),
        }
    }

    /// The slots and their numbers, if the layer is on.
    pub(crate) fn bulkhead(&self) -> Option<(&Bulkhead, &BulkheadNumbers)> {
        let numbers = self.settings.bulkhead.as_ref()?;
        let state = if self.settings.slots_shared {
            &self.parent
        } else {
            &self.own
        };
        Some((&state.bulkhead, numbers))
    }

    /// The budget and the numbers of retries, if the layer is on.
    pub(crate) fn retry(&self) -> Option<(&Budget, &Retry)> {
        let numbers = self.settings.retry.as_ref()?;
        let state = if self.settings.budget_shared {
            &self.parent
        } else {
            &self.own
        };
        Some((&state.budget, numbers))
    }

    /// How often each kind of fallback had the last word, for this name's fallbacks.
    #[inline]
    pub(crate) fn own_fallbacks(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let mut used = std::collections::BTreeMap::new();
        // Not collected: that would sort first, and be compiled for it.
        used.extend(self.fallback.used());
        used
    }

    /// A throttling answer speaks for the whole dependency, so the hold stands there.
    pub(crate) fn hold(&self) -> &Hold {
        &self.parent.hold
    }
}

/// One name in a runtime. Guards and annotated functions keep it; a reload swaps what it points to.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Box<str>,
    own: Arc<State>,
    parent: Arc<State>,
    /// What a plain call needs of the numbers, so that it pins nothing: it is over in one poll.
    traits: AtomicU32,
    slow_after: AtomicU64,
    identity: AtomicU32,
    pinned: ArcSwap<Pinned>,
    meter: Meter,
    recorders: Recorders,
    /// The dependency, of an operation.
    #[cfg(feature = "metrics")]
    dependency: Option<Arc<Entry>>,
    /// Set when a function or a guard first asks for it: its loss is then refused.
    pub(crate) used: AtomicBool,
}

impl Entry {
    /// `dependency` is that of an operation.
    #[cfg_attr(not(feature = "metrics"), allow(unused_variables, clippy::needless_pass_by_value))] // who tells of it, needs it
    pub(crate) fn new(pinned: Pinned, dependency: Option<Arc<Self>>) -> Self {
        let entry = Self {
            name: pinned.identity.name().into(),
            own: Arc::clone(&pinned.own),
            parent: Arc::clone(&pinned.parent),
            traits: AtomicU32::new(0),
            slow_after: AtomicU64::new(NEVER),
            identity: AtomicU32::new(pinned.identity.number()),
            pinned: ArcSwap::from_pointee(pinned),
            meter: Meter::default(),
            recorders: Recorders::default(),
            #[cfg(feature = "metrics")]
            dependency,
            used: AtomicBool::new(false),
        };
        entry.publish();
        entry
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn traits(&self) -> Traits {
        // Whoever sees that there are slots sees how many, which was written before.
        Traits(self.traits.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn slow_after(&self) -> u64 {
        self.slow_after.load(Ordering::Relaxed)
    }

    /// The states that it draws on.
    #[inline]
    pub(crate) fn states(&self) -> States<'_> {
        States {
            own: &self.own,
            parent: &self.parent,
        }
    }

    /// The breaker, as the traits say where it stands.
    #[inline]
    pub(crate) fn breaker(&self, traits: Traits) -> Option<&Breaker> {
        if traits.has(Traits::BREAKER) {
            self.states().breaker(traits)
        } else {
            None
        }
    }

    /// The slots, as the traits say where they stand.
    #[inline]
    pub(crate) fn bulkhead(&self, traits: Traits) -> Option<&Bulkhead> {
        traits.has(Traits::BULKHEAD).then(|| self.states().bulkhead(traits))
    }

    /// What the breaker did, which stands where the breaker stands.
    pub(crate) fn history(&self, traits: Traits) -> &History {
        &self.states().at(traits, Traits::BREAKER_SHARED).history
    }

    pub(crate) fn attempts(&self) -> &Attempts {
        &self.own.attempts
    }

    #[inline]
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    #[inline]
    pub(crate) fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    /// From now on these record its calls.
    #[cfg(feature = "record")]
    pub(crate) fn record_on(&self, tapes: Vec<Arc<crate::recorder::Tape>>) {
        if self.recorders.is_on() || !tapes.is_empty() {
            self.recorders.set(tapes);
            self.publish();
        }
    }

    /// The dependency, of an operation that shares something with it.
    #[cfg(feature = "metrics")]
    pub(crate) fn shares_with(&self) -> Option<&Arc<Self>> {
        self.dependency.as_ref()
    }

    #[inline]
    pub(crate) fn tally(&self) -> &Tally {
        &self.own.tally
    }

    /// The numbers of a call that begins now.
    pub(crate) fn pin(&self) -> Arc<Pinned> {
        let pinned = self.pinned.load_full();
        if pinned.until != NEVER && clock::now() >= pinned.until {
            return self.let_go(&pinned);
        }
        pinned
    }

    /// Who this is now, whatever the numbers are that a call holds.
    pub(crate) fn identity(&self) -> &'static Identity {
        Identity::numbered(self.identity_number())
    }

    /// Who a rejection speaks of, by the number of the identity.
    #[inline]
    pub(crate) fn identity_number(&self) -> u32 {
        // Whoever has the number sees the place in the list that was filled before it was published.
        self.identity.load(Ordering::Acquire)
    }

    pub(crate) fn swap(&self, pinned: Pinned) {
        self.pinned.store(Arc::new(pinned));
        self.publish();
    }

    fn publish(&self) {
        follow(
            || (self.pinned.load(), self.recorders.is_on()),
            |(pinned, recorded)| {
                let slow_after = pinned.settings.breaker.as_ref().and_then(|numbers| numbers.slow_after);
                let slow_after = slow_after.map_or(NEVER, nanos);
                // Exchanges, as `follow` needs them.
                self.slow_after.swap(slow_after, Ordering::AcqRel);
                self.identity.swap(pinned.identity.number(), Ordering::AcqRel);
                self.traits.swap(Traits::of(pinned, *recorded).0, Ordering::AcqRel);
            },
            |before, now| Arc::ptr_eq(&before.0, &now.0) && before.1 == now.1,
        );
    }

    /// The hand's time is over: the file's mode holds again.
    #[cold]
    fn let_go(&self, held: &Arc<Pinned>) -> Arc<Pinned> {
        let free = Arc::new(Pinned::assemble(Parts {
            settings: Arc::clone(&held.settings),
            own: Arc::clone(&held.own),
            parent: Arc::clone(&held.parent),
            active: None,
            instance: Arc::clone(&held.instance),
            policy: Arc::clone(&held.policy),
            chaos: held.chaos,
        }));
        // A reload in between wins; it has looked at the overrides itself.
        let _ = self.pinned.compare_and_swap(held, Arc::clone(&free));
        self.publish();
        free
    }
}

/// The states that a call draws on: of its name, and of its dependency, which is the same unless it is an operation.
///
/// Found once a call: whoever looks for them where they are needed has to keep the entry at hand for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct States<'e> {
    own: &'e State,
    parent: &'e State,
}

impl<'e> States<'e> {
    /// The breaker of who is known to have one.
    #[inline]
    pub(crate) fn breaker(self, traits: Traits) -> Option<&'e Breaker> {
        self.at(traits, Traits::BREAKER_SHARED).breaker.get()
    }

    /// The slots of who is known to have some.
    #[inline]
    pub(crate) fn bulkhead(self, traits: Traits) -> &'e Bulkhead {
        &self.at(traits, Traits::SLOTS_SHARED).bulkhead
    }

    /// The retry budget.
    #[inline]
    pub(crate) fn budget(self, traits: Traits) -> &'e Budget {
        &self.at(traits, Traits::BUDGET_SHARED).budget
    }

    #[inline]
    pub(crate) fn hold(self) -> &'e Hold {
        &self.parent.hold
    }

    /// Where something stands of which a trait says whether it is the dependency's.
    #[inline]
    fn at(self, traits: Traits, shared: u32) -> &'e State {
        if traits.has(shared) { self.parent } else { self.own }
    }
}

/// Writes down what follows from what `load` gives. A reload and a hand that lets go may do so at once: who writes last
/// looks again, so that what follows from numbers that are gone never stays. `write` has to exchange and not to store,
/// or it would not see what the other had loaded before it wrote there.
fn follow<P>(load: impl Fn() -> P, write: impl Fn(&P), same: impl Fn(&P, &P) -> bool) {
    let mut pinned = load();
    loop {
        write(&pinned);
        let now = load();
        if same(&pinned, &now) {
            return;
        }
        pinned = now;
    }
}

/// What a pinned set of numbers is made of.
pub(crate) struct Parts {
    pub(crate) settings: Arc<Settings>,
    pub(crate) own: Arc<State>,
    pub(crate) parent: Arc<State>,
    pub(crate) active: Option<Arc<Active>>,
    pub(crate) instance: Arc<str>,
    pub(crate) policy: Arc<str>,
    pub(crate) chaos: bool,
}

impl Pinned {
    pub(crate) fn assemble(parts: Parts) -> Self {
        let Parts {
            settings,
            own,
            parent,
            active,
            instance,
            policy,
            chaos,
        } = parts;
        let answer = active.as_ref().and_then(|active| active.set.answer.as_deref());
        let fallback = if settings.fallback_shared {
            &parent.fallback
        } else {
            &own.fallback
        };
        Self {
            identity: Identity::intern(&settings.name, settings.label.as_deref(), answer),
            fallback: Arc::clone(fallback),
            mode: active.as_ref().map_or(settings.mode, |active| active.set.mode),
            until: active.as_ref().map_or(NEVER, |active| active.until),
            timeout: settings.timeout.map_or(NEVER, nanos),
            settings,
            own,
            parent,
            active,
            instance,
            policy,
            chaos,
        }
    }
}

impl State {
    /// How attempts of this name ended.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.attempts.counts();
        let ended = self.tally.ended();
        // A good attempt ends its call, and a call has one at most.
        for (ending, outcome) in [
            (Ending::Success, CallOutcome::Success),
            (Ending::Business, CallOutcome::Business),
        ] {
            counts.ended[ending.place()] = ended[outcome as usize].iter().sum();
        }
        counts
    }

    /// How attempts ended of all names that share this breaker.
    pub(crate) fn breaker_counts(&self) -> Counts {
        let mut counts = self.counts();
        for sharer in &*self.sharers.lock().unwrap_or_else(PoisonError::into_inner) {
            counts.add(&sharer.counts());
        }
        counts
    }

    pub(crate) fn shared_by(&self, sharers: Vec<Arc<Self>>) {
        *self.sharers.lock().unwrap_or_else(PoisonError::into_inner) = sharers;
    }

    /// Makes the state that these numbers need, or gives it the new numbers.
    pub(crate) fn take_numbers(&self, settings: &Settings, now: u64) -> Renumbered {
        let mut done = Renumbered::default();
        match (
            settings.breaker.as_ref().filter(|_| !settings.breaker_shared),
            self.breaker.get(),
        ) {
            (Some(numbers), Some(breaker)) => done.emptied = breaker.renumber(numbers),
            (Some(numbers), None) => {
                let _ = self.breaker.set(Breaker::new(numbers, now));
            }
            // Its table is gone: should it come back, it begins closed and knows nothing of old times.
            (None, Some(breaker)) => done.closed = breaker.reset(Cause::Reload, now),
            (None, None) => {}
        }
        if let Some(numbers) = settings.bulkhead.as_ref().filter(|_| !settings.slots_shared) {
            self.bulkhead.renumber(numbers.max_concurrent, numbers.per_key);
        }
        done
    }
}

/// What new numbers did to running state.
#[derive(Debug, Default)]
pub(crate) struct Renumbered {
    /// The window changed and starts empty.
    pub(crate) emptied: bool,
    /// A breaker that was not closed lost its table.
    pub(crate) closed: Option<Transition>,
}
