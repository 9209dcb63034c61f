//! The breaker: a pure machine in a thin shell that lets the common case pass without the lock.

pub(crate) mod state;
mod window;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use resilience_policy::Breaker as Numbers;

pub(crate) use state::{Kind, Mark, Reading, Refusal, Transition, Transitions, rate};
use state::{Machine, Permit as Inner};

use crate::words::{Cause, State};

const STATE: u64 = 0b11;
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const HALF_OPEN: u64 = 2;

/// Leave to make one attempt; handed back by [`Breaker::settle`], whatever happened.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    inner: Inner,
    /// Whether this attempt stands in the count that `in_flight` looks at.
    counted: bool,
}

impl Permit {
    pub(crate) fn kind(&self) -> Kind {
        self.inner.kind
    }
}

/// One breaker, shared by everything that names its dependency.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// State in the low bits, period above: what a closed admission needs, in one load.
    gate: AtomicU64,
    /// When open ends; read only while the gate says open.
    until: AtomicU64,
    in_flight: AtomicUsize,
    machine: Mutex<Machine>,
}

impl Breaker {
    pub(crate) fn new(numbers: &Numbers, now: u64) -> Self {
        Self {
            gate: AtomicU64::new(CLOSED),
            until: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            machine: Mutex::new(Machine::new(numbers, now, fastrand::f64)),
        }
    }

    /// Asks for leave to make an attempt. `clock` gives now and is read only if the state is not
    /// closed; `time` is how long the attempt may take.
    ///
    /// Transition and reservation are one step under the lock: nobody sees half-open without the
    /// probe that made it so being counted.
    pub(crate) fn admit(
        &self,
        numbers: &Numbers,
        clock: impl FnOnce() -> u64,
        time: u64,
    ) -> (Result<Permit, Refusal>, Transitions) {
        let gate = self.gate.load(Ordering::Acquire);
        if gate & STATE == CLOSED && numbers.in_flight.is_none() {
            let inner = Inner { period: gate >> 2, kind: Kind::Ordinary };
            return (Ok(Permit { inner, counted: false }), Transitions::default());
        }
        let now = clock();
        if gate & STATE == OPEN && numbers.sample_every.is_none() {
            let until = self.until.load(Ordering::Relaxed);
            if now < until {
                return (Err(Refusal::Open { retry_after: until - now }), Transitions::default());
            }
        }
        self.admit_locked(numbers, now, time)
    }

    fn admit_locked(&self, numbers: &Numbers, now: u64, time: u64) -> (Result<Permit, Refusal>, Transitions) {
        let mut machine = self.lock();
        let mut made = machine.tick(now, numbers);
        let answer = machine.admit(now, now.saturating_add(time), numbers);
        let mut counted = false;
        if answer.is_ok()
            && let Some(limit) = numbers.in_flight
        {
            counted = true;
            let running = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            // The attempt that makes it so many is admitted all the same.
            if machine.state() == State::Closed && running >= limit as usize {
                let trip = machine.trip(Cause::InFlight, now, numbers);
                if let Some(place) = made.iter_mut().find(|place| place.is_none()) {
                    *place = Some(trip);
                }
            }
        }
        self.publish(&machine);
        (answer.map(|inner| Permit { inner, counted }), made)
    }

    /// Takes an attempt's result and its permit back.
    pub(crate) fn settle(&self, permit: Permit, mark: Mark, numbers: &Numbers, clock: impl FnOnce() -> u64) -> Option<Transition> {
        if permit.counted {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
        // An ordinary attempt that does not count leaves no trace.
        if mark == Mark::Uncounted && permit.inner.kind == Kind::Ordinary {
            return None;
        }
        let mut machine = self.lock();
        let made = machine.settle(permit.inner, mark, clock, numbers);
        if made.is_some() {
            self.publish(&machine);
        }
        made
    }

    /// Whether an attempt would be admitted now, and what it would be told otherwise. Takes nothing.
    pub(crate) fn would_admit(&self, numbers: &Numbers, now: u64) -> (Result<(), Refusal>, Transitions) {
        if self.gate.load(Ordering::Acquire) & STATE == CLOSED {
            return (Ok(()), Transitions::default());
        }
        self.with(now, numbers, |machine| machine.would_admit(now, numbers))
    }

    pub(crate) fn read(&self, numbers: &Numbers, now: u64) -> (Reading, Transitions) {
        self.with(now, numbers, |machine| machine.read(now, numbers))
    }

    pub(crate) fn renumber(&self, numbers: &Numbers) -> bool {
        let mut machine = self.lock();
        let emptied = machine.renumber(numbers);
        self.publish(&machine);
        emptied
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test trips by hand
    pub(crate) fn trip(&self, cause: Cause, numbers: &Numbers, now: u64) -> Transition {
        let mut machine = self.lock();
        let made = machine.trip(cause, now, numbers);
        self.publish(&machine);
        made
    }

    pub(crate) fn reset(&self, now: u64) -> Option<Transition> {
        let mut machine = self.lock();
        let made = machine.reset(now);
        self.publish(&machine);
        made
    }

    fn with<T>(&self, now: u64, numbers: &Numbers, read: impl FnOnce(&mut Machine) -> T) -> (T, Transitions) {
        let mut machine = self.lock();
        let made = machine.tick(now, numbers);
        let answer = read(&mut machine);
        self.publish(&machine);
        (answer, made)
    }

    /// No user code runs under this lock, so a panic in it is impossible short of a bug of ours;
    /// even then the next caller is served.
    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, machine: &Machine) {
        let state = match machine.state() {
            State::Closed => CLOSED,
            State::Open => OPEN,
            State::HalfOpen => HALF_OPEN,
        };
        self.until.store(machine.open_until(), Ordering::Relaxed);
        self.gate.store((machine.period() << 2) | state, Ordering::Release);
    }
}
