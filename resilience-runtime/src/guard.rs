//! The guard: THE order of the layers, and the one path by which a call is settled.
//!
//! ```text
//! fallback ( deadline ( bulkhead ( retry ( breaker ( timeout ( body ))))))
//! ```
//!
//! `Core::poll` in `attempt.rs` is THE order; `short.rs` goes the same way in one piece for a call with nothing
//! unusual about it, and gives way to it at the first thing that is not so. Layers answer, the guard reports: nothing
//! is emitted under a lock. When a call is dropped, its attempt drops with it and settles; a panic in the body settles
//! on its way up.

// The short way is one piece only if it is inlined whole: counted, a call costs a third more instructions otherwise.
#[allow(clippy::inline_always)]
mod attempt;
mod enter;
#[allow(clippy::inline_always)]
mod handle;
mod late;
mod look;
#[cfg(feature = "simulation")]
mod notes;
#[cfg(feature = "tower")]
mod owned;
mod recorded;
mod settle;
#[allow(clippy::inline_always)]
mod short;
#[allow(clippy::inline_always)]
mod woven;

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use resilience_policy::Mode;

pub use handle::{CallOnce, Guard};
pub(crate) use late::Late;
pub(crate) use look::{read_breaker, would_admit};
#[cfg(feature = "tower")]
pub(crate) use owned::Owned;
pub use woven::{Attempt, Call, Only, Whole, none, refuse, value};

use crate::attempts::Ending;
use crate::clock::{self, NEVER, nanos};
use crate::dependency::{Entry, Pinned, Traits};
use crate::event::{self, Served};
use crate::layer::breaker::{Kind, Mark, Permit, Transitions};
use crate::layer::bulkhead::{Key, Slot, Ticket};
use crate::meter;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT};
use crate::recorder::End;
use crate::rejection::{Reason, Rejection};
use crate::site::Site;
use crate::tally::CallOutcome;

/// A guard made by name has every layer whose table or key exists.
const EVERY_LAYER: u8 = LAYER_BREAKER | LAYER_BULKHEAD | LAYER_RETRY | LAYER_TIMEOUT;

/// One call: the numbers it began with, its slot, its attempts so far. Dropping it gives everything back and
/// counts it cancelled, unless it ended.
///
/// A plain call (nothing unusual in its numbers, no deadline, no retry) that is over in its first poll never makes one
/// of these, see [`short`]. As soon as it is pending, or anything but a good answer happens, it does, and holds the
/// numbers in force until its end. It stands in a room of its own, see [`late`].
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own, and all are read on the short way
pub(crate) struct Calling {
    entry: EntryRef,
    pinned: OnceCell<Arc<Pinned>>,
    site: Option<&'static Site>,
    slot: Option<Slot>,
    key: Key,
    /// The earlier of the policy's deadline and that of `deadline::within`.
    deadline: u64,
    within: u64,
    /// No attempt begins before: not before the call's own begin, where it is recorded, nor before the end of a pause.
    pause_until: u64,
    attempts: u32,
    traits: Traits,
    layers: u8,
    plain: bool,
    entered: bool,
    /// Whether it is counted among those that run.
    pending: bool,
    ended: Option<CallOutcome>,
    closed: bool,
    /// The attempt that is admitted and not settled.
    running: Option<Running>,
}

/// Where the entry of a call is kept.
#[derive(Debug)]
pub(crate) enum EntryRef {
    /// That of a function, in the runtime of the process.
    Installed(&'static Entry),
    Shared(Arc<Entry>),
}

impl Deref for EntryRef {
    type Target = Entry;

    #[inline]
    fn deref(&self) -> &Entry {
        match self {
            Self::Installed(entry) => entry,
            Self::Shared(entry) => entry,
        }
    }
}

/// What a call begins with.
#[derive(Debug)]
pub(crate) struct Start {
    entry: EntryRef,
    site: Option<&'static Site>,
    key: Key,
    layers: u8,
}

/// An admitted attempt, until it is settled.
#[derive(Debug)]
struct Running {
    permit: Option<Permit>,
    /// When it was admitted; 0 where nobody needs to know.
    started: u64,
    /// When it is cut; 0 until somebody needs to know.
    limit: u64,
    /// What the cut is called.
    reason: Reason,
}

impl Calling {
    /// A call of an annotated function, the long way.
    #[cfg(all(test, feature = "testing"))]
    pub(crate) fn of_site(site: &'static Site) -> Self {
        Self::new(Start {
            entry: site.entry(),
            site: Some(site),
            key: None,
            layers: site.spec().layers,
        })
    }

    fn new(start: Start) -> Self {
        let traits = start.entry.traits();
        Self::with(start, traits)
    }

    fn with(start: Start, traits: Traits) -> Self {
        let Start {
            entry,
            site,
            key,
            layers,
        } = start;
        let within = crate::deadline::current();
        let mut call = Self {
            entry,
            pinned: OnceCell::new(),
            site,
            slot: None,
            key,
            deadline: within,
            within,
            pause_until: 0,
            attempts: 0,
            traits,
            layers: traits.of_layers(layers),
            plain: traits.is_plain(),
            entered: false,
            pending: false,
            ended: None,
            closed: false,
            running: None,
        };
        if !call.plain {
            call.look_closer();
        }
        call
    }

    /// What a mode or a deadline of its own make of the call.
    #[cold]
    fn look_closer(&mut self) {
        if self.traits.is_recorded() {
            self.pause_until = clock::now();
        }
        let pinned = self.pin();
        if let Some(own) = pinned.settings.deadline {
            self.deadline = clock::now().saturating_add(nanos(own)).min(self.within);
        }
        match pinned.mode {
            Mode::Enforce | Mode::Isolate => {}
            // Nothing is cut and nothing is repeated.
            Mode::Observe => {
                self.layers &= !LAYER_RETRY;
                self.deadline = NEVER;
            }
            Mode::Off => {
                self.layers = 0;
                self.deadline = NEVER;
            }
        }
    }

    fn may_repeat(&self) -> bool {
        self.layer(LAYER_RETRY)
            && self
                .pinned()
                .retry()
                .is_some_and(|(_, numbers)| self.attempts + 1 < numbers.max_attempts)
    }

    /// The numbers of this call, in force until its end.
    #[inline]
    pub(crate) fn pinned(&self) -> &Pinned {
        self.pinned.get_or_init(|| self.entry.pin())
    }

    fn pin(&self) -> Arc<Pinned> {
        Arc::clone(self.pinned.get_or_init(|| self.entry.pin()))
    }

    pub(crate) fn site(&self) -> Option<&'static Site> {
        self.site
    }

    /// The instant of `deadline::within`, if there is one.
    pub(crate) fn deadline_within(&self) -> Option<u64> {
        (self.within != NEVER).then_some(self.within)
    }

    pub(crate) fn function(&self) -> &'static str {
        self.site.map_or("guard", |site| site.spec().function)
    }

    /// The last word on a call that did not simply end with its body's answer.
    pub(crate) fn close(&mut self, served: Served) {
        let outcome = self.ended.unwrap_or(CallOutcome::Failure);
        self.count(outcome, served);
    }

    fn layer(&self, layer: u8) -> bool {
        self.layers & layer != 0
    }

    /// Whether somebody wants to know how long an attempt takes.
    fn is_measured(&self) -> bool {
        self.entry.meter().is_on() || self.traits.is_recorded()
    }

    fn enforces(&self) -> bool {
        self.plain || self.pinned().mode == Mode::Enforce
    }

    #[inline]
    fn count(&mut self, outcome: CallOutcome, served: Served) {
        if !std::mem::replace(&mut self.closed, true) {
            if self.pending {
                self.entry.tally().done();
            }
            self.entry.tally().end(outcome, served, clock_for_counts());
            meter::tell(&self.entry);
        }
    }

    /// The body is pending: the call holds its numbers from now on, and is seen to run.
    fn pends(&mut self) {
        if !std::mem::replace(&mut self.pending, true) {
            self.pinned();
            if !self.closed {
                self.entry.tally().pending();
                meter::tell(&self.entry);
            }
        }
    }

    #[inline]
    fn release_slot(&mut self) {
        if let Some(slot) = self.slot.take()
            && let Some(bulkhead) = self.entry.bulkhead(self.traits)
        {
            bulkhead.release(slot, self.key);
        }
    }

    /// A call that ends without a body's result. It looks at who it speaks of and holds no numbers for that.
    fn reject(&mut self, reason: Reason, retry_after: Option<u64>) -> Rejection {
        self.ended = Some(CallOutcome::Rejected);
        self.release_slot();
        self.entry.tally().reject(reason);
        if self.traits.is_recorded() {
            self.record_refused(reason);
        }
        let rejection = Rejection::told(self.entry.identity_number(), reason, retry_after);
        event::rejected(self.function(), &rejection, false);
        meter::tell(&self.entry);
        rejection
    }

    /// The rejection of an attempt that was cut.
    fn cut(&mut self, reason: Reason) -> Rejection {
        self.entry.tally().reject(reason);
        let rejection = Rejection::told(self.pinned().identity.number(), reason, None);
        event::rejected(self.function(), &rejection, false);
        rejection
    }

    /// What would have happened if the mode let it.
    fn observe(&self, reason: Reason, retry_after: Option<u64>) {
        let rejection = Rejection::told(self.pinned().identity.number(), reason, retry_after);
        event::rejected(self.function(), &rejection, true);
    }

    fn report(&self, made: Transitions) {
        for transition in made.into_iter().flatten() {
            event::transition(self.pinned(), transition);
        }
    }

    /// Gives back the permit of an attempt that was dropped.
    fn abandon(&self, running: Running) {
        self.entry.attempts().end(Ending::Cancelled);
        if self.traits.is_recorded() {
            self.record_attempt(&running, End::Attempt(Ending::Cancelled));
        }
        if let Some(permit) = &running.permit
            && let Kind::Probe(_) = permit.kind()
        {
            self.entry.history(self.traits).probed(Ending::Cancelled);
        }
        self.give_back(running);
    }

    fn give_back(&self, running: Running) {
        if let Some(permit) = running.permit
            && let Some(breaker) = self.entry.breaker(self.traits)
        {
            #[cfg(feature = "simulation")]
            notes::abandoned(self.pinned(), &permit);
            if let Some(made) = breaker.settle(permit, Mark::Uncounted, clock::now) {
                event::transition(self.pinned(), made);
            }
        }
    }

    fn leave(&self, ticket: Ticket) {
        if let Some(bulkhead) = self.entry.bulkhead(self.traits) {
            bulkhead.leave(ticket);
        }
    }
}

impl Drop for Calling {
    #[inline]
    fn drop(&mut self) {
        if self.closed && self.slot.is_none() {
            return;
        }
        self.release_slot();
        self.count(CallOutcome::Cancelled, Served::Error);
    }
}

/// Counts by the second need the time; where the clock is not tokio's anyway, a call does not pay a
/// reading for them alone, and they use the second that the runtime saw last.
#[cfg_attr(feature = "testing", allow(clippy::unnecessary_wraps))] // only then it is always known
#[inline]
fn clock_for_counts() -> Option<u64> {
    #[cfg(feature = "testing")]
    return Some(clock::now());
    #[cfg(not(feature = "testing"))]
    crate::runtime::last_seen()
}
