//! The guard: THE order of the layers, and the one path by which a call is settled.
//!
//! ```text
//! fallback ( deadline ( bulkhead ( retry ( breaker ( timeout ( body ))))))
//! ```
//!
//! [`Attempt::poll`](Attempt) is the only place that names two layers. Layers answer, the guard reports:
//! nothing is emitted under a lock. When a call is dropped, its attempt drops with it and settles; a
//! panic in the body settles on its way up.

mod attempt;
mod handle;

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use resilience_policy::Mode;

pub use attempt::{Attempt, Only};
pub use handle::Guard;

use crate::clock::{self, NEVER, nanos};
use crate::dependency::{Entry, Pinned};
use crate::event::{self, Served};
use crate::keys;
use crate::layer::breaker::{self, Kind, Mark, Permit, Refusal, Transitions};
use crate::layer::bulkhead::{Key, LineFull, Slot, Ticket};
use crate::layer::retry;
use crate::ops::{End, Ops};
use crate::outcome::{FailureKind, Outcome};
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT};
use crate::rejection::{Reason, Rejection};
use crate::site::Site;
use crate::tally::CallOutcome;

/// A guard made by name has every layer whose table or key exists.
const EVERY_LAYER: u8 = LAYER_BREAKER | LAYER_BULKHEAD | LAYER_RETRY | LAYER_TIMEOUT;

/// One call: the numbers it began with, its slot, its attempts so far. Dropping it gives everything back and
/// counts it cancelled, unless it ended.
#[derive(Debug)]
pub struct Call {
    pinned: Arc<Pinned>,
    site: Option<&'static Site>,
    slot: Option<Slot>,
    key: Key,
    /// The earlier of the policy's deadline and that of `deadline::within`.
    deadline: u64,
    within: u64,
    /// No attempt begins before.
    pause_until: u64,
    attempts: u32,
    layers: u8,
    entered: bool,
    ended: Option<CallOutcome>,
    closed: bool,
}

/// What the bulkhead and what stands before it say of a call.
enum Entered {
    Go,
    Wait { ticket: Ticket, end: u64, reason: Reason },
    Rejected(Rejection),
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

/// What the layers round an attempt say before its body begins.
enum Admitted {
    Run(Running),
    Delayed(Running, u64),
    /// Chaos: the attempt failed before the body.
    Failed(Running),
    Rejected(Rejection),
}

/// How an attempt ended.
#[derive(Clone, Copy)]
enum Finish {
    Judged(Outcome),
    TimedOut(Reason),
    Panicked,
    Chaos,
}

impl Call {
    /// A call of an annotated function.
    pub fn begin(site: &'static Site) -> Self {
        Self::new(site.pin(), Some(site), site.spec().layers, None)
    }

    /// The same with a key for the slots per key.
    pub fn begin_keyed<K: Hash + ?Sized>(site: &'static Site, key: &K) -> Self {
        Self::new(site.pin(), Some(site), site.spec().layers, Some(keys::hash(key)))
    }

    pub(crate) fn of(entry: &Entry, layers: u8) -> Self {
        Self::new(entry.pin(), None, layers, None)
    }

    fn new(pinned: Arc<Pinned>, site: Option<&'static Site>, layers: u8, key: Key) -> Self {
        pinned.own.tally.begin();
        let within = crate::deadline::current();
        let deadline = match pinned.settings.deadline {
            Some(own) => clock::now().saturating_add(nanos(own)).min(within),
            None => within,
        };
        let (layers, deadline) = match pinned.mode {
            Mode::Enforce | Mode::Isolate => (layers, deadline),
            // Nothing is cut and nothing is repeated.
            Mode::Observe => (layers & !LAYER_RETRY, NEVER),
            Mode::Off => (0, NEVER),
        };
        Self {
            pinned,
            site,
            slot: None,
            key,
            deadline,
            within,
            pause_until: 0,
            attempts: 0,
            layers,
            entered: false,
            ended: None,
            closed: false,
        }
    }

    /// One attempt of a call whose function has no `#[retry]`. The future's output is how the call ended.
    pub fn only<O: Ops, B: Future<Output = O::Return>>(&mut self, ops: O, body: B) -> Only<'_, O, B> {
        self.layers &= !LAYER_RETRY;
        Only::new(self.attempt(ops, body))
    }

    /// One attempt, with the pause before it if it is a repeat. The future's output says whether to run the body
    /// again.
    pub fn attempt<O: Ops, B: Future<Output = O::Return>>(&mut self, ops: O, body: B) -> Attempt<'_, O, B> {
        Attempt::new(self, ops, body)
    }

    /// Whether the attempt that is made next may be followed by another: then its arguments have to be kept.
    pub fn may_repeat(&self) -> bool {
        self.layer(LAYER_RETRY)
            && self.pinned.retry().is_some_and(|(_, numbers)| self.attempts + 1 < numbers.max_attempts)
    }

    /// The chain of fallbacks of a call that failed or was rejected.
    pub fn fall<O: Ops>(self, ops: O, end: End<O::Return>) -> crate::fallback::Chain<O> {
        crate::fallback::fall(self, ops, end)
    }

    /// Keeps a good answer for the `stale` form.
    pub fn keep<O: Ops>(&self, ops: O, key: crate::fallback::StaleKey, answer: &O::Return)
    where
        O::Value: Clone + Send + Sync + 'static,
    {
        crate::fallback::keep(self, ops, key, answer);
    }

    pub(crate) fn pinned(&self) -> &Pinned {
        &self.pinned
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
    pub(crate) fn close(mut self, served: Served) {
        let outcome = self.ended.unwrap_or(CallOutcome::Failure);
        self.count(outcome, served);
    }

    fn layer(&self, layer: u8) -> bool {
        self.layers & layer != 0
    }

    fn enforces(&self) -> bool {
        self.pinned.mode == Mode::Enforce
    }

    fn count(&mut self, outcome: CallOutcome, served: Served) {
        if !std::mem::replace(&mut self.closed, true) {
            self.pinned.own.tally.end(outcome, served, clock_for_counts());
        }
    }

    // ---- before the first attempt: mode, deadline, bulkhead ----

    fn enter(&mut self) -> Entered {
        self.entered = true;
        match self.pinned.mode {
            Mode::Off => return Entered::Go,
            Mode::Isolate => {
                let left = (self.pinned.until != NEVER).then(|| self.pinned.until.saturating_sub(clock::now()));
                return Entered::Rejected(self.reject(Reason::Isolated, left));
            }
            Mode::Enforce | Mode::Observe => {}
        }
        if self.past_deadline() {
            return Entered::Rejected(self.reject(Reason::DeadlineExceeded, None));
        }
        if self.layer(LAYER_RETRY)
            && let Some((budget, _)) = self.pinned.retry()
        {
            budget.call(clock::now());
        }
        self.take_slot()
    }

    fn take_slot(&mut self) -> Entered {
        if !self.layer(LAYER_BULKHEAD) {
            return Entered::Go;
        }
        let pinned = Arc::clone(&self.pinned);
        let Some((bulkhead, numbers)) = pinned.bulkhead() else { return Entered::Go };
        if let Some(slot) = bulkhead.try_acquire(self.key) {
            self.slot = Some(slot);
            return Entered::Go;
        }
        let waits = numbers.max_waiting > 0 && !numbers.max_wait.is_zero();
        if !self.enforces() {
            if !waits {
                self.observe(Reason::BulkheadFull, Some(nanos(numbers.retry_after)));
            }
            return Entered::Go;
        }
        if waits && let Some(retry_after) = self.is_open() {
            return Entered::Rejected(self.reject(Reason::Open, Some(retry_after)));
        }
        let joined = if waits { bulkhead.join(self.key, numbers.max_waiting) } else { Err(LineFull) };
        match joined {
            Ok(Ok(slot)) => {
                self.slot = Some(slot);
                Entered::Go
            }
            Ok(Err(ticket)) => {
                let end = clock::now().saturating_add(nanos(numbers.max_wait));
                if end <= self.deadline {
                    Entered::Wait { ticket, end, reason: Reason::WaitTimedOut }
                } else {
                    Entered::Wait { ticket, end: self.deadline, reason: Reason::DeadlineExceeded }
                }
            }
            Err(LineFull) => Entered::Rejected(self.reject(Reason::BulkheadFull, Some(nanos(numbers.retry_after)))),
        }
    }

    /// A waiter's time is up.
    fn waited_too_long(&mut self, reason: Reason) -> Rejection {
        let told = match (reason, self.pinned.bulkhead()) {
            (Reason::WaitTimedOut, Some((_, numbers))) => Some(nanos(numbers.retry_after)),
            _ => None,
        };
        self.reject(reason, told)
    }

    fn release_slot(&mut self) {
        if let Some(slot) = self.slot.take()
            && let Some((bulkhead, _)) = self.pinned.bulkhead()
        {
            bulkhead.release(slot);
        }
    }

    // ---- each attempt: deadline, hold, breaker, chaos ----

    fn admit(&mut self) -> Admitted {
        if self.pinned.mode == Mode::Off {
            self.attempts += 1;
            return Admitted::Run(Running { permit: None, started: 0, limit: NEVER, reason: Reason::TimedOut });
        }
        if self.past_deadline() {
            return Admitted::Rejected(self.reject(Reason::DeadlineExceeded, None));
        }
        let pinned = Arc::clone(&self.pinned);
        if let Some(left) = pinned.hold().left(clock::now) {
            if self.enforces() {
                return Admitted::Rejected(self.reject(Reason::Held, Some(left)));
            }
            self.observe(Reason::Held, Some(left));
        }
        let mut permit = None;
        let mut started = 0;
        if self.layer(LAYER_BREAKER)
            && let Some((breaker, numbers)) = pinned.breaker()
        {
            let (answer, made) = breaker.admit(numbers, clock::now, pinned.timeout);
            self.report(made);
            match answer {
                Ok(given) => permit = Some(given),
                Err(refusal) => {
                    let (reason, left) = split(refusal);
                    if self.enforces() {
                        return Admitted::Rejected(self.reject(reason, Some(left)));
                    }
                    self.observe(reason, Some(left));
                }
            }
            if numbers.slow_after.is_some() || !self.enforces() {
                started = clock::now();
            }
        }
        self.attempts += 1;
        self.chaos(&pinned, Running { permit, started, limit: 0, reason: Reason::TimedOut })
    }

    fn chaos(&self, pinned: &Pinned, mut running: Running) -> Admitted {
        let Some(chaos) = pinned.settings.chaos.as_ref().filter(|_| pinned.chaos && self.enforces()) else {
            return Admitted::Run(running);
        };
        if fastrand::f64() < chaos.failure {
            return Admitted::Failed(running);
        }
        if fastrand::f64() < chaos.latency_share {
            if running.started == 0 {
                running.started = clock::now();
            }
            let until = running.started.saturating_add(nanos(chaos.latency));
            return Admitted::Delayed(running, until);
        }
        Admitted::Run(running)
    }

    /// Fixes when the attempt is cut: its timeout, or the deadline where that is the shorter.
    fn bound(&self, running: &mut Running) {
        if running.limit != 0 {
            return;
        }
        running.limit = NEVER;
        if !self.enforces() {
            return;
        }
        if self.layer(LAYER_TIMEOUT | LAYER_BREAKER) && self.pinned.timeout != NEVER {
            let start = if running.started == 0 { clock::now() } else { running.started };
            running.limit = start.saturating_add(self.pinned.timeout);
        }
        if self.deadline < running.limit {
            running.limit = self.deadline;
            running.reason = Reason::DeadlineExceeded;
        }
    }

    // ---- after each attempt ----

    /// Settles an attempt with the breaker and the hold. Says whether the body is to run again.
    fn settle(&mut self, running: Running, finish: Finish) -> bool {
        let pinned = Arc::clone(&self.pinned);
        let outcome = finish.outcome();
        if pinned.mode != Mode::Off {
            self.settle_breaker(&pinned, running, finish);
            self.hold(&pinned, outcome);
        }
        self.ended = Some(match finish {
            Finish::Panicked => CallOutcome::Panicked,
            Finish::TimedOut(_) | Finish::Chaos => CallOutcome::Failure,
            Finish::Judged(outcome) => of_call(outcome),
        });
        let again = !matches!(finish, Finish::Panicked) && self.repeats(&pinned, finish, outcome);
        if !again {
            self.release_slot();
            match finish {
                Finish::Judged(Outcome::Success) => self.count(CallOutcome::Success, Served::Primary),
                Finish::Judged(Outcome::Business) => self.count(CallOutcome::Business, Served::Primary),
                Finish::Panicked => self.count(CallOutcome::Panicked, Served::Error),
                _ => {}
            }
        }
        again
    }

    fn settle_breaker(&self, pinned: &Pinned, running: Running, finish: Finish) {
        let Some(permit) = running.permit else { return };
        let Some((breaker, numbers)) = pinned.breaker() else { return };
        let mut late = false;
        let slow = match (finish, numbers.slow_after) {
            (Finish::TimedOut(_), _) => numbers.slow_after.is_some(),
            (_, Some(slow_after)) if running.started != 0 => {
                clock::now().saturating_sub(running.started) > nanos(slow_after)
            }
            _ => false,
        };
        if !self.enforces() && running.started != 0 && self.layer(LAYER_TIMEOUT | LAYER_BREAKER) {
            // What would have been cut counts as cut.
            late = clock::now().saturating_sub(running.started) > pinned.timeout;
        }
        let outcome = finish.outcome();
        let mark = match (finish, outcome) {
            _ if late => Mark::Failure { slow: numbers.slow_after.is_some(), timed_out: true },
            (Finish::Panicked, _) => Mark::Failure { slow, timed_out: false },
            (_, Outcome::Success | Outcome::Business) => Mark::Success { slow },
            (_, Outcome::Failure(kind)) if pinned.settings.failures.contains(kind) => {
                Mark::Failure { slow, timed_out: matches!(finish, Finish::TimedOut(_)) }
            }
            _ => Mark::Uncounted,
        };
        if permit.kind() == Kind::Sample {
            event::sample(pinned, outcome, slow);
        }
        if let Some(made) = breaker.settle(permit, mark, numbers, clock::now) {
            event::transition(pinned, made);
        }
    }

    /// A throttling answer that speaks for everybody.
    fn hold(&self, pinned: &Pinned, outcome: Outcome) {
        if let Outcome::Throttled { retry_after: Some(wait) } = outcome
            && pinned.settings.throttle == resilience_policy::Throttle::Dependency
            && self.enforces()
        {
            let wait = wait.min(pinned.settings.max_hold);
            pinned.hold().set(clock::now().saturating_add(nanos(wait)));
        }
    }

    fn repeats(&mut self, pinned: &Pinned, finish: Finish, outcome: Outcome) -> bool {
        if !self.layer(LAYER_RETRY) {
            return false;
        }
        let Some((budget, numbers)) = pinned.retry() else { return false };
        let listed = match outcome {
            Outcome::Failure(kind) => pinned.settings.failures.contains(kind),
            Outcome::Throttled { .. } => true,
            Outcome::Success | Outcome::Business | Outcome::Ignored => false,
        };
        let cut_for_good = matches!(finish, Finish::TimedOut(Reason::DeadlineExceeded));
        if !listed || cut_for_good || self.attempts >= numbers.max_attempts {
            return false;
        }
        let pause = match outcome {
            Outcome::Throttled { retry_after: Some(wait) } => wait.min(pinned.settings.max_hold),
            _ => retry::pause(numbers, self.attempts, fastrand::f64()),
        };
        let now = clock::now();
        let until = now.saturating_add(nanos(pause));
        // A pause that would reach the deadline is not begun.
        if (self.deadline != NEVER && until >= self.deadline) || !budget.take(numbers, now) {
            return false;
        }
        self.pause_until = if pause.is_zero() { 0 } else { until };
        true
    }

    /// A call that ends without a body's result.
    fn reject(&mut self, reason: Reason, retry_after: Option<u64>) -> Rejection {
        let rejection = Rejection::new(self.pinned.identity, reason, retry_after.map(Duration::from_nanos));
        if !matches!(reason, Reason::TimedOut) && self.ended.is_none_or(|_| !self.closed) {
            self.ended = Some(CallOutcome::Rejected);
        }
        event::rejected(&self.pinned, self.function(), &rejection, false);
        self.release_slot();
        rejection
    }

    /// The rejection of an attempt that was cut.
    fn cut(&mut self, reason: Reason) -> Rejection {
        let rejection = Rejection::new(self.pinned.identity, reason, None);
        event::rejected(&self.pinned, self.function(), &rejection, false);
        rejection
    }

    /// What would have happened if the mode let it.
    fn observe(&self, reason: Reason, retry_after: Option<u64>) {
        let rejection = Rejection::new(self.pinned.identity, reason, retry_after.map(Duration::from_nanos));
        event::rejected(&self.pinned, self.function(), &rejection, true);
    }

    fn past_deadline(&self) -> bool {
        self.deadline != NEVER && clock::now() >= self.deadline
    }

    /// What is left of open, if the breaker of this call is open.
    fn is_open(&self) -> Option<u64> {
        if !self.layer(LAYER_BREAKER) {
            return None;
        }
        let (breaker, numbers) = self.pinned.breaker()?;
        let (answer, made) = breaker.would_admit(numbers, clock::now());
        self.report(made);
        match answer {
            Err(Refusal::Open { retry_after }) => Some(retry_after),
            _ => None,
        }
    }

    fn report(&self, made: Transitions) {
        for transition in made.into_iter().flatten() {
            event::transition(&self.pinned, transition);
        }
    }

    /// Gives back the permit of an attempt that was dropped.
    fn abandon(&self, running: Running) {
        if let Some(permit) = running.permit
            && let Some((breaker, numbers)) = self.pinned.breaker()
            && let Some(made) = breaker.settle(permit, Mark::Uncounted, numbers, clock::now)
        {
            event::transition(&self.pinned, made);
        }
    }

    fn leave(&self, ticket: Ticket) {
        if let Some((bulkhead, _)) = self.pinned.bulkhead() {
            bulkhead.leave(ticket);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.release_slot();
        self.count(CallOutcome::Cancelled, Served::Error);
    }
}

impl Finish {
    fn outcome(self) -> Outcome {
        match self {
            Self::Judged(outcome) => outcome,
            Self::TimedOut(_) => Outcome::Failure(FailureKind::Timeout),
            Self::Panicked | Self::Chaos => Outcome::Failure(FailureKind::Other),
        }
    }
}

/// Whether a call of this name would be admitted now, with every layer that it has. Takes nothing.
pub(crate) fn would_admit(entry: &Entry) -> Result<(), Reason> {
    let pinned = entry.pin();
    match pinned.mode {
        Mode::Observe | Mode::Off => return Ok(()),
        Mode::Isolate => return Err(Reason::Isolated),
        Mode::Enforce => {}
    }
    if pinned.hold().left(clock::now).is_some() {
        return Err(Reason::Held);
    }
    if let Some((breaker, numbers)) = pinned.breaker() {
        let (answer, made) = breaker.would_admit(numbers, clock::now());
        for transition in made.into_iter().flatten() {
            event::transition(&pinned, transition);
        }
        if let Err(refusal) = answer {
            return Err(split(refusal).0);
        }
    }
    if let Some((bulkhead, numbers)) = pinned.bulkhead() {
        let may_wait = !numbers.max_wait.is_zero() && bulkhead.waiting() < numbers.max_waiting;
        if !bulkhead.has_room() && !may_wait {
            return Err(Reason::BulkheadFull);
        }
    }
    Ok(())
}

/// The state of a breaker as it is now, transitions reported.
pub(crate) fn read_breaker(pinned: &Pinned) -> Option<breaker::Reading> {
    let (breaker, numbers) = pinned.breaker()?;
    let (reading, made) = breaker.read(numbers, clock::now());
    for transition in made.into_iter().flatten() {
        event::transition(pinned, transition);
    }
    Some(reading)
}

fn of_call(outcome: Outcome) -> CallOutcome {
    match outcome {
        Outcome::Success => CallOutcome::Success,
        Outcome::Business => CallOutcome::Business,
        Outcome::Failure(_) => CallOutcome::Failure,
        Outcome::Throttled { .. } => CallOutcome::Throttled,
        Outcome::Ignored => CallOutcome::Ignored,
    }
}

fn split(refusal: Refusal) -> (Reason, u64) {
    match refusal {
        Refusal::Open { retry_after } => (Reason::Open, retry_after),
        Refusal::ProbesBusy { retry_after } => (Reason::ProbesBusy, retry_after),
    }
}

/// Counts by the second need the time; where the clock is not tokio's anyway, a call does not pay a
/// reading for them alone, and they use the second that the runtime saw last.
fn clock_for_counts() -> Option<u64> {
    #[cfg(feature = "testing")]
    return Some(clock::now());
    #[cfg(not(feature = "testing"))]
    crate::runtime::last_seen()
}
