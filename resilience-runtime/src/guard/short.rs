//! The short way of nearly every call: nothing unusual in its numbers, no deadline, no retry, a free slot, a closed
//! breaker, and a body that is over in one poll with a good answer.
//!
//! It pins no numbers and makes no call: it reads the few numbers it needs where they stand, in the order of the long
//! way (bulkhead, hold, breaker, body), and gives way to it at the first thing that is not so. What it holds meanwhile
//! is given back by `Drop`, on a panic too.

use super::settle::{Finish, of_call};
use super::{Calling, EntryRef, Running, Start, clock_for_counts};
use crate::clock::{self, NEVER};
use crate::dependency::{Entry, Traits};
use crate::event::{self, Served};
use crate::layer::breaker::{Breaker, Mark, Permit};
use crate::layer::bulkhead::Slot;
use crate::meter::{self, Turn};
use crate::outcome::Outcome;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY};
use crate::rejection::{Reason, Rejection};
use crate::tally::CallOutcome;

/// A call on the short way, with what it holds.
pub(super) struct Short<'s, 'e> {
    start: &'s Start<'e>,
    entry: &'e Entry,
    traits: Traits,
    slot: Option<Slot>,
    /// The breaker's period that admitted it; [`NEVER`] without a breaker.
    period: u64,
    started: u64,
    /// What it has to do for the metrics.
    turn: Turn,
    /// How far it is; dropped before its end, it gives back what it holds.
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    Entered,
    Attempted,
    /// The body is being polled: dropped here, a panic is on its way up.
    Polling,
    Ended,
}

/// What the short way says of a call.
#[derive(Clone, Copy)]
pub(super) enum Enter {
    /// Admitted: poll the body.
    Go,
    /// Nothing was taken; the long way, from its begin.
    LongWay,
    /// It has its slot; the long way, from the admission of the attempt.
    Admit,
    /// The breaker is open for so long.
    Open(u64),
}

impl<'s, 'e> Short<'s, 'e> {
    /// `None` for a call that lives in a scope: its entry has to be kept.
    #[inline(always)]
    pub(super) fn new(start: &'s Start<'e>) -> Option<Self> {
        let EntryRef::Borrowed(entry) = start.entry else {
            return None;
        };
        let traits = entry.traits();
        Some(Self {
            start,
            entry,
            traits,
            slot: None,
            period: NEVER,
            started: 0,
            turn: Turn::Nothing,
            at: At::Begin,
        })
    }

    #[inline(always)]
    pub(super) fn enter(&mut self) -> Enter {
        let traits = self.traits;
        let layers = traits.of_layers(self.start.layers);
        if !traits.is_plain() || layers & LAYER_RETRY != 0 || crate::deadline::current() != NEVER {
            return Enter::LongWay;
        }
        if layers & LAYER_BULKHEAD != 0
            && let Some(bulkhead) = self.entry.bulkhead(traits)
        {
            self.slot = bulkhead.try_acquire(self.start.key);
            if self.slot.is_none() {
                return Enter::LongWay;
            }
        }
        self.at = At::Entered;
        if self.entry.hold().left(clock::now).is_some() {
            return Enter::Admit;
        }
        if layers & LAYER_BREAKER != 0
            && let Some(breaker) = self.entry.breaker(traits)
        {
            match breaker.admit_closed() {
                Some(period) => self.period = period,
                None => return breaker.is_surely_open(clock::now).map_or(Enter::Admit, Enter::Open),
            }
            if traits.is_timed() {
                self.started = clock::now();
            }
        }
        self.turn = self.entry.meter().turn();
        if self.turn.is_timed() && self.started == 0 {
            self.started = clock::now();
        }
        self.at = At::Attempted;
        Enter::Go
    }

    /// Polls the body; a panic in it settles on its way up.
    #[inline(always)]
    pub(super) fn polling<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        self.at = At::Polling;
        let polled = poll();
        self.at = At::Attempted;
        polled
    }

    /// A good answer: nothing to repeat, nothing to hold, and in a clean window nothing to record.
    #[inline(always)]
    pub(super) fn settle_good(mut self, outcome: Outcome) {
        self.at = At::Ended;
        if self.period != NEVER
            && let Some(breaker) = self.entry.breaker(self.traits)
        {
            let slow = self.started != 0 && clock::now().saturating_sub(self.started) > self.entry.slow_after();
            #[cfg(feature = "simulation")]
            super::notes::result(
                &self.entry.pin(),
                breaker,
                &Permit::ordinary(self.period),
                Mark::Success { slow },
            );
            if slow || !breaker.is_clean_in(self.period) {
                self.settle_counted(breaker, slow, outcome);
            }
        }
        self.release();
        self.entry
            .tally()
            .end(of_call(outcome), Served::Primary, clock_for_counts());
        meter::after(self.entry, self.turn, self.started);
    }

    /// Refuses the call: the breaker is open for `retry_after`. A guard's call ends here; an annotated function's goes
    /// on to its fallback.
    #[inline]
    pub(super) fn refuse(mut self, retry_after: u64, call: &mut Option<Calling<'e>>) -> Rejection {
        if self.start.site.is_some() {
            return call.insert(self.lengthen()).reject(Reason::Open, Some(retry_after));
        }
        self.at = At::Ended;
        self.release();
        let rejection = Rejection::told(self.entry.identity(), Reason::Open, Some(retry_after));
        self.entry.attempts().reject(Reason::Open);
        event::rejected("guard", &rejection, false);
        self.entry
            .tally()
            .end(CallOutcome::Rejected, Served::Error, clock_for_counts());
        meter::tell(self.entry);
        rejection
    }

    /// The call that the long way goes on with: it holds what this one held.
    #[inline(never)]
    pub(super) fn lengthen(mut self) -> Calling<'e> {
        self.hand_over()
    }

    #[inline(never)]
    fn settle_counted(&self, breaker: &Breaker, slow: bool, outcome: Outcome) {
        if slow {
            self.entry.attempts().was_slow();
            self.entry.history(self.traits).was_slow();
        }
        if let Some(made) = breaker.settle(Permit::ordinary(self.period), Mark::Success { slow }, clock::now) {
            event::transition_by(&self.entry.pin(), made, Some(outcome.into()));
        }
    }

    #[inline(always)]
    fn release(&mut self) {
        if let Some(slot) = self.slot.take()
            && let Some(bulkhead) = self.entry.bulkhead(self.traits)
        {
            bulkhead.release(slot, self.start.key);
        }
    }

    fn hand_over(&mut self) -> Calling<'e> {
        let at = std::mem::replace(&mut self.at, At::Ended);
        let Start { site, key, layers, .. } = *self.start;
        let start = Start {
            entry: EntryRef::Borrowed(self.entry),
            site,
            key,
            layers,
        };
        if at == At::Begin {
            return Calling::new(start);
        }
        // Where the slot and the permit came from, not where a reload in between would look for them.
        let mut call = Calling::with(start, self.traits);
        call.entered = true;
        call.slot = self.slot.take();
        if at != At::Entered {
            let permit = (self.period != NEVER).then(|| Permit::ordinary(self.period));
            call.attempts = 1;
            call.running = Some(Running {
                permit,
                started: self.started,
                limit: 0,
                reason: Reason::TimedOut,
            });
        }
        call
    }

    #[cold]
    fn blow(&mut self) {
        let panics = self.at == At::Polling;
        let mut call = self.hand_over();
        if panics {
            call.settle(Finish::Panicked);
        } else if let Some(running) = call.running.take() {
            call.abandon(running);
        }
    }
}

impl Drop for Short<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.at, At::Begin | At::Ended) {
            self.blow();
        }
    }
}
