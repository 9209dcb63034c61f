//! A dependency at run time: state that belongs to it, and the numbers that a call pins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use resilience_policy::{Breaker as BreakerNumbers, Bulkhead as BulkheadNumbers, Dependency as Settings, Mode, Retry};

use crate::clock::{self, NEVER, nanos};
use crate::fallback;
use crate::identity::Identity;
use crate::layer::breaker::Breaker;
use crate::layer::bulkhead::Bulkhead;
use crate::layer::hold::Hold;
use crate::layer::retry::Budget;
use crate::mode::Active;
use crate::tally::Tally;

/// What belongs to one name whatever the numbers are. A reload keeps it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) breaker: OnceLock<Breaker>,
    pub(crate) bulkhead: OnceLock<Bulkhead>,
    pub(crate) budget: Budget,
    pub(crate) hold: Hold,
    pub(crate) tally: Tally,
    pub(crate) fallback: Arc<fallback::State>,
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
        let state = if self.settings.breaker_shared { &self.parent } else { &self.own };
        Some((state.breaker.get()?, numbers))
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
        let state = if self.settings.slots_shared { &self.parent } else { &self.own };
        Some((state.bulkhead.get()?, numbers))
    }

    /// The budget and the numbers of retries, if the layer is on.
    pub(crate) fn retry(&self) -> Option<(&Budget, &Retry)> {
        let numbers = self.settings.retry.as_ref()?;
        let state = if self.settings.budget_shared { &self.parent } else { &self.own };
        Some((&state.budget, numbers))
    }

    /// How often each kind of fallback had the last word, for this name's fallbacks.
    pub(crate) fn own_fallbacks(&self) -> std::collections::BTreeMap<&'static str, u64> {
        self.fallback.used().collect()
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
    pinned: ArcSwap<Pinned>,
    /// Set when a function or a guard first asks for it: its loss is then refused.
    pub(crate) used: AtomicBool,
}

impl Entry {
    pub(crate) fn new(pinned: Pinned) -> Self {
        Self {
            name: pinned.identity.name().into(),
            pinned: ArcSwap::from_pointee(pinned),
            used: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// The numbers of a call that begins now.
    pub(crate) fn pin(&self) -> Arc<Pinned> {
        let pinned = self.pinned.load_full();
        if pinned.until != NEVER && clock::now() >= pinned.until {
            return self.let_go(&pinned);
        }
        pinned
    }

    pub(crate) fn swap(&self, pinned: Pinned) {
        self.pinned.store(Arc::new(pinned));
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
            chaos: held.chaos,
        }));
        // A reload in between wins; it has looked at the overrides itself.
        let _ = self.pinned.compare_and_swap(held, Arc::clone(&free));
        free
    }
}

/// What a pinned set of numbers is made of.
pub(crate) struct Parts {
    pub(crate) settings: Arc<Settings>,
    pub(crate) own: Arc<State>,
    pub(crate) parent: Arc<State>,
    pub(crate) active: Option<Arc<Active>>,
    pub(crate) instance: Arc<str>,
    pub(crate) chaos: bool,
}

impl Pinned {
    pub(crate) fn assemble(parts: Parts) -> Self {
        let Parts { settings, own, parent, active, instance, chaos } = parts;
        let answer = active.as_ref().and_then(|active| active.set.answer.as_deref());
        let fallback = if settings.fallback_shared { &parent.fallback } else { &own.fallback };
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
            chaos,
        }
    }
}

impl State {
    /// Makes the state that these numbers need, or gives it the new numbers. Says whether the
    /// breaker's window was emptied.
    pub(crate) fn take_numbers(&self, settings: &Settings, now: u64) -> bool {
        let mut emptied = false;
        if let Some(numbers) = settings.breaker.as_ref().filter(|_| !settings.breaker_shared) {
            let mut new = false;
            let breaker = self.breaker.get_or_init(|| {
                new = true;
                Breaker::new(numbers, now)
            });
            emptied = !new && breaker.renumber(numbers);
        }
        if let Some(numbers) = settings.bulkhead.as_ref().filter(|_| !settings.slots_shared) {
            let bulkhead = self.bulkhead.get_or_init(|| Bulkhead::new(numbers.max_concurrent, numbers.per_key));
            bulkhead.renumber(numbers.max_concurrent, numbers.per_key);
        }
        emptied
    }
}
