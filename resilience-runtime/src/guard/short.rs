//! The short way of nearly every call: nothing unusual in its numbers, no deadline, a free slot, a closed breaker, and a
//! body that is over in one poll with a good answer.
//!
//! It pins no numbers and makes no call: it reads the few numbers it needs where they stand, in the order of the long
//! way (bulkhead, retry budget, hold, breaker, body), and gives way to it at the first thing that is not so. A call that
//! was refused because its breaker is open ends here too, where no fallback follows.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::attempt::{Core, Stage, conclude};
use super::late::Late;
use super::settle::{Finish, of_call};
use super::{Calling, Running, Start, clock_for_counts};
use crate::attempts::Ending;
use crate::clock::{self, NEVER};
use crate::dependency::{Entry, Traits};
use crate::event::{self, Served};
use crate::layer::breaker::{Breaker, Gate, Mark, Permit};
use crate::layer::bulkhead::{Bulkhead, Key, Slot};
use crate::meter;
use crate::ops::{Answers, Turn};
use crate::outcome::Outcome;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY};
use crate::rejection::{Reason, Rejection};

/// How far the short way came.
pub(super) enum Early<R> {
    /// To the end, with a good answer, a business one included. All is counted.
    Answer(R),
    /// The breaker is open. All is counted, but for a function, whose fallbacks follow.
    Refused(Rejection),
    /// The body was polled, and what became of it went the long way.
    Attempted(Poll<Turn<R>>),
    /// The long way has to be gone, from where the call was made to stand.
    LongWay,
}

/// What a call on the short way holds.
struct Held {
    traits: Traits,
    slot: Option<Slot>,
    /// What the gate of its breaker said when it admitted it.
    gate: Gate,
    started: Started,
}

/// A slot, and the bulkhead that it goes back to.
type Taken<'e> = Option<(&'e Bulkhead, Slot)>;

/// When the body was first polled; 0 where nobody needs to know. With the highest bit set it is the reverse of a tick, a
/// few milliseconds off: a body that is over in one poll takes next to no time, unless it blocks its thread.
#[derive(Debug, Clone, Copy)]
struct Started(u64);

impl Started {
    const UNKNOWN: Self = Self(0);
    /// No clock here comes so far in 292 years.
    const ROUGHLY: u64 = 1 << 63;

    #[inline]
    fn now(exactly: bool, roughly: bool) -> Self {
        match (exactly, roughly) {
            (true, _) => Self(clock::now()),
            (false, true) => Self(!clock::tick()),
            (false, false) => Self::UNKNOWN,
        }
    }

    /// The tick, where it is one.
    #[inline]
    fn tick(self) -> Option<u64> {
        (self.0 & Self::ROUGHLY != 0).then_some(!self.0)
    }

    /// How long ago that was.
    #[inline]
    fn spent(self) -> u64 {
        match self.tick() {
            Some(tick) => clock::spent(tick),
            None => clock::now().saturating_sub(self.0),
        }
    }

    /// The same by the exact clock, for a body that is not over.
    fn exactly(self) -> u64 {
        match self.tick() {
            Some(tick) => clock::now().saturating_sub(clock::spent(tick)).max(1),
            None => self.0,
        }
    }
}

impl Held {
    /// The call that the long way goes on with: it holds what this one held.
    fn into_call(self, start: Start, attempted: bool) -> Calling {
        // Where the slot and the permit came from, not where a reload in between would look for them.
        let mut call = Calling::with(start, self.traits);
        call.entered = true;
        call.slot = self.slot;
        if attempted {
            call.attempts = 1;
            call.running = Some(Running {
                permit: self.gate.admits().then(|| Permit::ordinary(self.gate.period())),
                started: self.started.exactly(),
                limit: 0,
                reason: Reason::TimedOut,
            });
        }
        call
    }
}

impl<O: Answers, B: Future<Output = O::Return>> Core<O, B> {
    /// The first poll of a call. `start` makes what the long way begins with.
    #[inline(always)]
    pub(super) fn poll_short(
        mut self: Pin<&mut Self>,
        entry: &Entry,
        (layers, key): (u8, impl Fn() -> Key),
        has_fallbacks: bool,
        start: impl Fn() -> Start + Copy,
        late: &mut Late,
        cx: &mut Context<'_>,
    ) -> Early<O::Return> {
        let traits = entry.traits();
        let layers = traits.of_layers(layers);
        if !traits.is_plain() || crate::deadline::current() != NEVER {
            begin(start, late);
            return Early::LongWay;
        }
        // In registers as long as nothing unusual happens, so they are put together only where they leave.
        let held = |taken: Taken<'_>, gate, started| Held {
            traits,
            slot: taken.map(|(_, slot)| slot),
            gate,
            started,
        };
        let states = entry.states();
        let mut taken = None;
        if layers & LAYER_BULKHEAD != 0 {
            let bulkhead = states.bulkhead(traits);
            let Some(slot) = bulkhead.try_acquire(key()) else {
                begin(start, late);
                return Early::LongWay;
            };
            taken = Some((bulkhead, slot));
        }
        if layers & LAYER_RETRY != 0 {
            states.budget(traits).call(clock::about());
        }
        if states.hold().left(clock::now).is_some() {
            leave(held(taken, Gate::NONE, Started::UNKNOWN), start, late);
            return Early::LongWay;
        }
        let (mut watching, mut gate) = (None, Gate::NONE);
        if layers & LAYER_BREAKER != 0
            && let Some(breaker) = states.breaker(traits)
        {
            gate = breaker.gate();
            if !gate.admits() {
                if let Some(retry_after) = breaker.is_surely_open(gate, clock::about, clock::OFF) {
                    *self.project().over = true;
                    if has_fallbacks {
                        let held = held(taken, Gate::NONE, Started::UNKNOWN);
                        return Early::Refused(refuse_function(held, start, retry_after, late));
                    }
                    release(taken, &key);
                    return Early::Refused(refuse(entry, retry_after));
                }
                leave(held(taken, Gate::NONE, Started::UNKNOWN), start, late);
                return Early::LongWay;
            }
            watching = Some(breaker);
        }
        let turn = entry.meter().turn();
        let watched = watching.is_some() && traits.is_timed();
        let roughly = watched && traits.is_timed_roughly();
        let started = Started::now(turn.is_timed() || (watched && !roughly), roughly);
        let this = self.as_mut().project();
        let ops = *this.ops;
        let Some(body) = this.body.as_pin_mut() else {
            return Early::Attempted(Poll::Pending);
        };
        let mut fuse = Fuse {
            traits,
            taken,
            gate,
            started,
            start,
            lit: true,
        };
        let polled = body.poll(cx).map(|answer| (ops.judge(&answer), answer));
        fuse.lit = false;
        let taken = fuse.taken.take();
        if let Poll::Ready((outcome @ (Outcome::Success | Outcome::Business), answer)) = polled {
            *this.over = true;
            if let Some(breaker) = watching {
                settle_good(entry, traits, (breaker, gate), started, outcome);
            }
            release(taken, &key);
            entry.tally().end(of_call(outcome), Served::Primary, clock_for_counts());
            meter::after(entry, turn, started.0);
            return Early::Answer(answer);
        }
        attempted(held(taken, gate, started), start, late);
        match late.parts() {
            Some(parts) => Early::Attempted(conclude(self.project(), parts, polled, cx)),
            None => Early::LongWay,
        }
    }
}

// What leaves the short way stands by itself, or the short way would have to keep its registers for it.

/// The long way from its begin.
#[inline(never)]
fn begin(start: impl Fn() -> Start, late: &mut Late) {
    late.make(Calling::new(start()), Stage::Enter);
}

/// The long way before the breaker.
#[inline(never)]
fn leave(held: Held, start: impl Fn() -> Start, late: &mut Late) {
    late.make(held.into_call(start(), false), Stage::Admit);
}

/// The long way after the body's first poll.
#[inline(never)]
fn attempted(held: Held, start: impl Fn() -> Start, late: &mut Late) {
    late.make(held.into_call(start(), true), Stage::Run);
}

/// A good answer: nothing to repeat, nothing to hold, and in a clean window nothing to record.
#[inline(always)]
fn settle_good(entry: &Entry, traits: Traits, (breaker, gate): (&Breaker, Gate), started: Started, outcome: Outcome) {
    let slow = traits.is_timed() && started.spent() > entry.slow_after();
    #[cfg(feature = "simulation")]
    super::notes::result(
        &entry.pin(),
        breaker,
        &Permit::ordinary(gate.period()),
        Mark::Success { slow },
    );
    if slow || !breaker.is_clean_since(gate) {
        settle_counted(entry, traits, breaker, (gate.period(), slow), outcome.into());
    }
}

#[inline(always)]
fn release(taken: Taken<'_>, key: &impl Fn() -> Key) {
    if let Some((bulkhead, slot)) = taken {
        bulkhead.release(slot, key());
    }
}

#[inline(never)]
fn settle_counted(entry: &Entry, traits: Traits, breaker: &Breaker, (period, slow): (u64, bool), ending: Ending) {
    if slow {
        entry.attempts().was_slow();
        entry.history(traits).was_slow();
    } else if breaker.settle_good(period, || clock::about().saturating_add(clock::OFF)) {
        return;
    }
    if let Some(made) = breaker.settle(Permit::ordinary(period), Mark::Success { slow }, clock::now) {
        event::transition_by(&entry.pin(), made, Some(ending));
    }
}

/// Refuses a guard's call, which ends here: the breaker is open for `retry_after`.
#[inline(always)]
fn refuse(entry: &Entry, retry_after: u64) -> Rejection {
    let rejection = || Rejection::open(entry.identity_number(), retry_after);
    event::rejected_as("guard", rejection, false);
    entry.tally().end_open(clock_for_counts());
    meter::tell(entry);
    rejection()
}

/// Refuses a function's call, which goes on to its fallback.
#[inline(never)]
fn refuse_function(held: Held, start: impl Fn() -> Start, retry_after: u64, late: &mut Late) -> Rejection {
    let mut call = held.into_call(start(), false);
    let rejection = call.reject(Reason::Open, Some(retry_after));
    late.make(call, Stage::Ended);
    rejection
}

/// Holds what the call holds while its body is polled, or its answer judged: dropped while lit, a panic is on its way
/// up, and settles there.
///
/// It stands in registers, and nothing of it is written where no panic is: each of its fields is a plain value, and what
/// its drop does is one call.
struct Fuse<'e, S: Fn() -> Start + Copy> {
    traits: Traits,
    taken: Taken<'e>,
    gate: Gate,
    started: Started,
    start: S,
    lit: bool,
}

impl<S: Fn() -> Start + Copy> Drop for Fuse<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.lit {
            let slot = self.taken.take().map(|(_, slot)| slot);
            panicked(self.traits, slot, self.gate, self.started, self.start);
        }
    }
}

// With what it needs one by one: put together they would have to be written, and the fuse with them.
#[cold]
#[inline(never)]
fn panicked(traits: Traits, slot: Option<Slot>, gate: Gate, started: Started, start: impl Fn() -> Start) {
    let held = Held {
        traits,
        slot,
        gate,
        started,
    };
    held.into_call(start(), true).settle(Finish::Panicked);
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use crate::clock::now;
    use crate::{Policy, Runtime};

    /// The share of slow calls, of one whose body blocks its thread for so long in its first poll, and is then polled `more` times.
    fn slow_share(blocks: u64, more: u32) -> Option<f64> {
        let text = "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"9s\"\n\
            [dependency.far.breaker]\nslow_after = \"60ms\"\nslow_rate = 1.0\nminimum_calls = 1\n";
        let runtime = Runtime::new(Policy::from_toml(text).unwrap());
        let guard = runtime.guard("far").unwrap();
        let mut left = more + 1;
        let body = std::future::poll_fn(|_| {
            if left > more {
                let end = now() + blocks * 1_000_000;
                while now() < end {}
            }
            left -= 1;
            if left == 0 {
                Poll::Ready(Ok::<_, std::io::Error>(()))
            } else {
                Poll::Pending
            }
        });
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let _context = tokio.enter();
        let mut call = std::pin::pin!(guard.call_once(body));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..more {
            assert!(call.as_mut().poll(&mut cx).is_pending());
        }
        assert!(call.as_mut().poll(&mut cx).is_ready());
        runtime.snapshot().dependency("far").unwrap().slow_rate
    }

    #[test]
    fn a_body_that_blocks_its_thread_is_slow_whether_or_not_that_is_all_it_does() {
        for more in [0, 1, 2] {
            assert_eq!(slow_share(120, more), Some(1.0), "and then polled {more} times");
        }
    }
}
