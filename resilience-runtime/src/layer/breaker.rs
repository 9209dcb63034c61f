//! The breaker: a pure machine in a thin shell that lets the common case pass without the lock.

mod held;
mod pending;
mod pooled;
pub(crate) mod state;
mod window;

#[cfg(all(test, not(resilience_loom)))]
mod beside;
#[cfg(all(test, resilience_loom))]
mod loom;

use resilience_policy::Breaker as Numbers;

use held::{Held, Locked};
use pending::Pending;
pub(crate) use state::{Kind, Look, Mark, Reading, Refusal, Transition, Transitions, rate};
use state::{Machine, Permit as Inner};
pub(crate) use window::Totals;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::words::{Cause, State};

// The gate, from its lowest bit on: state, two marks, period.
const STATE: u64 = 0b11;
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const HALF_OPEN: u64 = 2;
/// Admission has to count or to sample, under the lock.
const INTRICATE: u64 = 0b100;
/// The window is full of good results: one more changes nothing, exactly.
const CLEAN: u64 = 0b1000;
const PERIOD: u32 = 4;

/// Leave to make one attempt; handed back by [`Breaker::settle`], whatever happened.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    inner: Inner,
    /// Whether this attempt stands in the count that `in_flight` looks at.
    counted: bool,
}

impl Permit {
    /// That of an ordinary attempt which a closed breaker admitted in `period`.
    pub(crate) fn ordinary(period: u64) -> Self {
        Self {
            inner: Inner {
                period,
                kind: Kind::Ordinary,
            },
            counted: false,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.inner.kind
    }
}

/// What [`Breaker::gate`] said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate(u64);

impl Gate {
    /// That of no breaker, which admits nobody.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// Leave in the common case, closed and nothing to count.
    #[inline]
    pub(crate) fn admits(self) -> bool {
        self.0 & (STATE | INTRICATE) == CLOSED
    }

    /// The period that gives leave.
    #[inline]
    pub(crate) fn period(self) -> u64 {
        self.0 >> PERIOD
    }
}

/// One breaker, shared by everything that names its dependency.
///
/// In the order of the fields, so that what every admission reads and what nearly every good result writes while the
/// window holds a bad one are first and last, and never on one line of a core's cache.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Breaker {
    /// What a closed admission and a good result need, in one load.
    gate: AtomicU64,
    /// When open ends; read only while the gate says open.
    until: AtomicU64,
    in_flight: AtomicUsize,
    locked: Mutex<Locked>,
    /// Good results that are not in the window yet; whoever takes the lock puts them there.
    pending: Pending,
}

impl Breaker {
    pub(crate) fn new(numbers: &Numbers, now: u64) -> Self {
        let machine = Machine::new(numbers, now, fastrand::f64);
        let breaker = Self {
            gate: AtomicU64::new(CLOSED),
            until: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            locked: Mutex::new(Locked { machine, room: 0 }),
            pending: Pending::new(),
        };
        drop(breaker.lock());
        breaker
    }

    /// What an admission goes by.
    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        Gate(self.gate.load(Ordering::Acquire))
    }

    /// What is left of open, in the common case of a refusal: nothing to sample, and the end not reached, by a clock that
    /// may be `off` by so much.
    #[inline]
    pub(crate) fn is_surely_open(&self, gate: Gate, clock: impl FnOnce() -> u64, off: u64) -> Option<u64> {
        if gate.0 & (STATE | INTRICATE) != OPEN {
            return None;
        }
        let until = self.until.load(Ordering::Relaxed);
        let left = until.checked_sub(clock())?;
        (left > off).then_some(left)
    }

    /// Asks for leave to make an attempt. `clock` gives now and is read only if the state is not
    /// closed; `time` is how long the attempt may take.
    ///
    /// Transition and reservation are one step under the lock: nobody sees half-open without the
    /// probe that made it so being counted.
    pub(crate) fn admit(&self, clock: impl FnOnce() -> u64, time: u64) -> (Result<Permit, Refusal>, Transitions) {
        let gate = self.gate();
        if gate.admits() {
            return (Ok(Permit::ordinary(gate.period())), Transitions::default());
        }
        let now = clock();
        if let Some(retry_after) = self.is_surely_open(gate, || now, 0) {
            return (Err(Refusal::Open { retry_after }), Transitions::default());
        }
        self.admit_locked(now, time)
    }

    fn admit_locked(&self, now: u64, time: u64) -> (Result<Permit, Refusal>, Transitions) {
        let mut machine = self.lock();
        let mut made = machine.tick(now);
        let answer = machine.admit(now, now.saturating_add(time));
        let mut counted = false;
        if answer.is_ok()
            && let Some(limit) = machine.numbers().in_flight
        {
            counted = true;
            let running = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            // The attempt that makes it so many is admitted all the same.
            if machine.state() == State::Closed && running >= limit as usize {
                let trip = machine.trip(Cause::InFlight, now);
                if let Some(place) = made.iter_mut().find(|place| place.is_none()) {
                    *place = Some(trip);
                }
            }
        }
        (answer.map(|inner| Permit { inner, counted }), made)
    }

    /// Whether a good and quick result of an ordinary attempt that `gate` admitted would change nothing, so that it need
    /// not be settled: its period still holds, and the window is full of results just like it.
    #[inline]
    pub(crate) fn is_clean_since(&self, gate: Gate) -> bool {
        self.gate.load(Ordering::Acquire) == gate.0 | CLEAN
    }

    /// The same by the period that admitted it.
    fn is_clean_in(&self, period: u64) -> bool {
        self.is_clean_since(Gate((period << PERIOD) | CLOSED))
    }

    /// Takes a good and quick result of an ordinary attempt of `period` without the lock, if it opens nothing whatever
    /// comes beside it. `clock` gives now or later, and is read only for a window of time.
    pub(crate) fn settle_good(&self, period: u64, clock: impl FnOnce() -> u64) -> bool {
        self.is_clean_in(period) || self.pending.add(period, clock)
    }

    /// Takes an attempt's result and its permit back.
    #[allow(clippy::needless_pass_by_value)] // a permit is used once, so it ends here
    pub(crate) fn settle(&self, permit: Permit, mark: Mark, clock: impl Fn() -> u64) -> Option<Transition> {
        if permit.counted {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
        if permit.inner.kind == Kind::Ordinary {
            match mark {
                Mark::Uncounted => return None,
                Mark::Success { slow: false } if self.settle_good(permit.inner.period, &clock) => return None,
                _ => {}
            }
        }
        self.lock().settle(permit.inner, mark, clock)
    }

    /// Whether an attempt would be admitted now, and what it would be told otherwise. Takes nothing.
    pub(crate) fn would_admit(&self, now: u64) -> (Result<(), Refusal>, Transitions) {
        if self.gate.load(Ordering::Acquire) & STATE == CLOSED {
            return (Ok(()), Transitions::default());
        }
        self.with(now, |machine| machine.would_admit(now))
    }

    #[inline]
    pub(crate) fn read(&self, now: u64) -> (Reading, Transitions) {
        self.with(now, |machine| machine.read(now))
    }

    /// Whether a permit belongs to a period that is over.
    #[cfg(feature = "simulation")]
    pub(crate) fn is_over(&self, permit: &Permit) -> bool {
        self.gate.load(Ordering::Acquire) >> PERIOD != permit.inner.period
    }

    /// Whether a half-open state admits by share.
    #[cfg(feature = "simulation")]
    pub(crate) fn is_ramping(&self) -> bool {
        self.lock().is_ramping()
    }

    /// What the breaker last knew, whatever the clock has changed since: nothing is reported.
    #[cfg_attr(not(feature = "metrics"), allow(dead_code))] // only metrics look away from the clock
    pub(crate) fn peek(&self, now: u64) -> Reading {
        self.lock().read(now)
    }

    pub(crate) fn renumber(&self, numbers: &Numbers) -> bool {
        self.lock().renumber(numbers)
    }

    #[cfg_attr(not(any(feature = "testing", feature = "simulation")), allow(dead_code))] // only a test trips by hand
    pub(crate) fn trip(&self, cause: Cause, now: u64) -> Transition {
        self.lock().trip(cause, now)
    }

    pub(crate) fn reset(&self, cause: Cause, now: u64) -> Option<Transition> {
        self.lock().reset(cause, now)
    }

    fn with<T>(&self, now: u64, read: impl FnOnce(&mut Machine) -> T) -> (T, Transitions) {
        let mut machine = self.lock();
        let made = machine.tick(now);
        (read(&mut machine), made)
    }

    fn lock(&self) -> Held<'_> {
        Held::new(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn breaker(text: &str) -> Breaker {
        let file = format!(
            "version = 1\n[dependency.a]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.a.breaker]\ncooldown_jitter = 0.0\n{text}\n"
        );
        let policy = resilience_policy::Policy::from_toml(&file).unwrap();
        Breaker::new(policy.dependency("a").unwrap().breaker.as_ref().unwrap(), 0)
    }

    fn call(breaker: &Breaker, mark: Mark) -> Option<Transition> {
        let permit = breaker.admit(|| 0, 1).0.unwrap();
        breaker.settle(permit, mark, || 0)
    }

    const GOOD: Mark = Mark::Success { slow: false };
    const BAD: Mark = Mark::Failure {
        slow: false,
        timed_out: false,
    };

    /// A good result that is not recorded has to be one that would have changed nothing.
    #[test]
    fn skipping_good_results_in_a_clean_window_is_exact() {
        let mut random = fastrand::Rng::with_seed(7);
        let with = breaker("window = \"7 calls\"\nminimum_calls = 3\nfailure_rate = 0.5");
        let policy_numbers = with.lock().numbers().clone();
        let mut without = Machine::new(&policy_numbers, 0, || 0.5);
        for _ in 0..20_000 {
            let mark = if random.u8(..) < 40 { BAD } else { GOOD };
            let permit = without.admit(0, 1).unwrap();
            let expected = without.settle(permit, mark, || 0).map(|made| (made.cause, made.totals));
            assert_eq!(call(&with, mark).map(|made| (made.cause, made.totals)), expected);
            if expected.is_some() {
                without.reset(Cause::Reset, 0);
                with.reset(Cause::Reset, 0);
            }
        }
    }

    #[test]
    fn in_flight_trips_on_the_attempt_that_makes_it_so_many_and_admits_it() {
        let breaker = breaker("in_flight = 3\nfailure_rate = false");
        let first = breaker.admit(|| 0, 1).0.unwrap();
        let _second = breaker.admit(|| 0, 1).0.unwrap();
        let (third, made) = breaker.admit(|| 0, 1);
        assert_eq!(made[0].unwrap().cause, Cause::InFlight);
        assert!(breaker.admit(|| 0, 1).0.is_err());
        assert_eq!(
            breaker.settle(third.unwrap(), GOOD, || 0),
            None,
            "its result belongs to the period before"
        );
        let _ = breaker.settle(first, GOOD, || 0);
        assert_eq!(breaker.in_flight.load(Ordering::Relaxed), 1);
    }

    /// What `act` gives while somebody else holds the lock, as it does in a service with many threads.
    fn beside_who_holds_the_lock<T: Send>(breaker: &Breaker, act: impl FnOnce(&Breaker) -> T + Send) -> T {
        let held = breaker.lock();
        std::thread::scope(|scope| {
            let (told, hears) = mpsc::channel();
            scope.spawn(move || told.send(act(breaker)));
            let answer = hears.recv_timeout(Duration::from_secs(10));
            // Who waits for it goes on, so that the thread ends.
            drop(held);
            answer.expect("it waits for the lock")
        })
    }

    /// A breaker in whose period there were others before, with a window full of good results.
    fn clean() -> Breaker {
        let breaker = breaker("window = \"4 calls\"\ncooldown = \"1s\"");
        let _ = breaker.trip(Cause::Trip, 0);
        let _ = breaker.reset(Cause::Reset, 0);
        for _ in 0..4 {
            assert_eq!(call(&breaker, GOOD), None);
        }
        breaker
    }

    #[test]
    fn while_it_is_closed_nobody_waits_to_be_admitted() {
        let breaker = breaker("window = \"4 calls\"");
        let answers = beside_who_holds_the_lock(&breaker, |breaker| {
            let admitted = breaker.admit(|| 0, 1);
            (admitted.0.is_ok(), breaker.would_admit(0).0, breaker.gate().admits())
        });
        assert_eq!(answers, (true, Ok(()), true));
    }

    #[test]
    fn a_good_result_among_its_like_and_one_that_does_not_count_wait_for_nobody() {
        let breaker = clean();
        let (good, uncounted) = (breaker.admit(|| 0, 1).0.unwrap(), breaker.admit(|| 0, 1).0.unwrap());
        let settled = beside_who_holds_the_lock(&breaker, |breaker| {
            let clean = breaker.is_clean_in(good.inner.period);
            let settled = breaker.settle(good, GOOD, || 0);
            (clean, settled, breaker.settle(uncounted, Mark::Uncounted, || 0))
        });
        assert_eq!(settled, (true, None, None));
        assert_eq!(call(&breaker, BAD), None);
        let uncounted = breaker.admit(|| 0, 1).0.unwrap();
        let settled = beside_who_holds_the_lock(&breaker, |breaker| breaker.settle(uncounted, Mark::Uncounted, || 0));
        assert_eq!(settled, None);
    }

    #[test]
    fn while_it_is_surely_open_nobody_waits_to_be_refused() {
        let breaker = clean();
        let _ = breaker.trip(Cause::Trip, 0);
        let refused = beside_who_holds_the_lock(&breaker, |breaker| breaker.admit(|| 999_999_999, 1).0.unwrap_err());
        assert_eq!(refused, Refusal::Open { retry_after: 1 });
    }

    #[test]
    fn an_idle_breaker_is_small() {
        assert!(size_of::<Breaker>() <= 512, "{}", size_of::<Breaker>());
    }
}
