//! What stands before the body: the mode, the deadline, the bulkhead, once a call; the hold, the breaker and chaos, for
//! each attempt.

use resilience_policy::Mode;

use super::{Calling, Running};
use crate::clock::{self, NEVER, nanos};
use crate::layer::breaker::Refusal;
use crate::layer::bulkhead::{LineFull, Ticket};
use crate::meter;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT};
use crate::rejection::{Reason, Rejection};

/// What the bulkhead and what stands before it say of a call.
pub(super) enum Entered {
    Go,
    Wait { ticket: Ticket, end: u64, reason: Reason },
    Rejected(Rejection),
}

/// What the layers round an attempt say before its body begins.
pub(super) enum Admitted {
    Run,
    /// Chaos: the body begins later.
    Delayed(u64),
    /// Chaos: the attempt failed before the body.
    Failed,
    Rejected(Rejection),
}

impl Calling {
    pub(super) fn enter(&mut self) -> Entered {
        self.entered = true;
        let pinned = self.pin();
        match pinned.mode {
            Mode::Off => return Entered::Go,
            Mode::Isolate => {
                let left = (pinned.until != NEVER).then(|| pinned.until.saturating_sub(clock::now()));
                return Entered::Rejected(self.reject(Reason::Isolated, left));
            }
            Mode::Enforce | Mode::Observe => {}
        }
        if self.past_deadline() {
            return Entered::Rejected(self.reject(Reason::DeadlineExceeded, None));
        }
        if self.layer(LAYER_RETRY)
            && let Some((budget, _)) = pinned.retry()
        {
            budget.call(clock::about());
        }
        self.take_slot()
    }

    fn take_slot(&mut self) -> Entered {
        if !self.layer(LAYER_BULKHEAD) {
            return Entered::Go;
        }
        let pinned = self.pin();
        // Where a state stands is what it was when the call began, whatever a reload in between says.
        let (Some(bulkhead), Some(numbers)) = (self.entry.bulkhead(self.traits), &pinned.settings.bulkhead) else {
            return Entered::Go;
        };
        if let Some(slot) = bulkhead.try_acquire(self.key) {
            self.slot = Some(slot);
            return Entered::Go;
        }
        let waits = numbers.max_waiting > 0 && !numbers.max_wait.is_zero();
        if !self.enforces() {
            // Who would have had to wait is not known to be rejected.
            if !waits || bulkhead.waiting() >= numbers.max_waiting {
                self.observe(Reason::BulkheadFull, Some(nanos(numbers.retry_after)));
            }
            return Entered::Go;
        }
        if waits && let Some(retry_after) = self.is_open() {
            return Entered::Rejected(self.reject(Reason::Open, Some(retry_after)));
        }
        let joined = if waits {
            bulkhead.join(self.key, numbers.max_waiting)
        } else {
            Err(LineFull)
        };
        match joined {
            Ok(Ok(slot)) => {
                self.slot = Some(slot);
                Entered::Go
            }
            Ok(Err(ticket)) => {
                meter::tell(&self.entry);
                let end = clock::now().saturating_add(nanos(numbers.max_wait));
                if end <= self.deadline {
                    Entered::Wait {
                        ticket,
                        end,
                        reason: Reason::WaitTimedOut,
                    }
                } else {
                    Entered::Wait {
                        ticket,
                        end: self.deadline,
                        reason: Reason::DeadlineExceeded,
                    }
                }
            }
            Err(LineFull) => Entered::Rejected(self.reject(Reason::BulkheadFull, Some(nanos(numbers.retry_after)))),
        }
    }

    /// A waiter's time is up.
    pub(super) fn waited_too_long(&mut self, reason: Reason) -> Rejection {
        let told = match (reason, self.pinned().bulkhead()) {
            (Reason::WaitTimedOut, Some((_, numbers))) => Some(nanos(numbers.retry_after)),
            _ => None,
        };
        self.reject(reason, told)
    }

    pub(super) fn admit(&mut self) -> Admitted {
        if self.pinned().mode == Mode::Off {
            self.attempts += 1;
            self.running = Some(Running {
                permit: None,
                started: if self.is_measured() { clock::now() } else { 0 },
                limit: NEVER,
                reason: Reason::TimedOut,
            });
            return Admitted::Run;
        }
        if self.past_deadline() {
            return Admitted::Rejected(self.reject(Reason::DeadlineExceeded, None));
        }
        let pinned = self.pin();
        if let Some(left) = pinned.hold().left(clock::now) {
            if self.enforces() {
                return Admitted::Rejected(self.reject(Reason::Held, Some(left)));
            }
            self.observe(Reason::Held, Some(left));
        }
        let mut permit = None;
        let mut started = 0;
        if self.layer(LAYER_BREAKER)
            && let Some(breaker) = self.entry.breaker(self.traits)
        {
            // A probe is over at the deadline too, and those who are told to come back rely on it.
            let time = if self.deadline == NEVER {
                pinned.timeout
            } else {
                pinned.timeout.min(self.deadline.saturating_sub(clock::now()))
            };
            let (answer, made) = breaker.admit(clock::now, time);
            self.report(made);
            match answer {
                Ok(given) => {
                    #[cfg(feature = "simulation")]
                    super::notes::admitted(&pinned, breaker, &given);
                    permit = Some(given);
                }
                Err(refusal) => {
                    let (reason, left) = split(refusal);
                    if self.enforces() {
                        return Admitted::Rejected(self.reject(reason, Some(left)));
                    }
                    self.observe(reason, Some(left));
                }
            }
            if self.traits.is_timed() {
                started = clock::now();
            }
        }
        if started == 0 && (!self.enforces() || self.is_measured()) {
            started = clock::now();
        }
        self.attempts += 1;
        let running = Running {
            permit,
            started,
            limit: 0,
            reason: Reason::TimedOut,
        };
        self.running = Some(running);
        match pinned
            .settings
            .chaos
            .as_ref()
            .filter(|_| pinned.chaos && self.enforces())
        {
            Some(chaos) => self.suffer(chaos),
            None => Admitted::Run,
        }
    }

    fn suffer(&mut self, chaos: &resilience_policy::Chaos) -> Admitted {
        if fastrand::f64() < chaos.failure {
            return Admitted::Failed;
        }
        if fastrand::f64() < chaos.latency_share
            && let Some(running) = &mut self.running
        {
            if running.started == 0 {
                running.started = clock::now();
            }
            return Admitted::Delayed(running.started.saturating_add(nanos(chaos.latency)));
        }
        Admitted::Run
    }

    /// When the running attempt is cut: at its timeout, or at the deadline where that is the shorter. Fixed at the
    /// first look.
    pub(super) fn limit(&mut self) -> u64 {
        let (timeout, enforces, timed) = (self.pinned().timeout, self.enforces(), self.layer(LAYER_TIMEOUT));
        let deadline = self.deadline;
        let Some(running) = &mut self.running else { return NEVER };
        if running.limit == 0 {
            running.limit = NEVER;
            if enforces && timed && timeout != NEVER {
                let start = if running.started == 0 {
                    clock::now()
                } else {
                    running.started
                };
                running.limit = start.saturating_add(timeout);
            }
            if enforces && deadline < running.limit {
                running.limit = deadline;
                running.reason = Reason::DeadlineExceeded;
            }
        }
        running.limit
    }

    fn past_deadline(&self) -> bool {
        self.deadline != NEVER && clock::now() >= self.deadline
    }

    /// What is left of open, if the breaker of this call is open.
    fn is_open(&self) -> Option<u64> {
        if !self.layer(LAYER_BREAKER) {
            return None;
        }
        let (answer, made) = self.entry.breaker(self.traits)?.would_admit(clock::now());
        self.report(made);
        match answer {
            Err(Refusal::Open { retry_after }) => Some(retry_after),
            _ => None,
        }
    }
}

pub(super) fn split(refusal: Refusal) -> (Reason, u64) {
    match refusal {
        Refusal::Open { retry_after } => (Reason::Open, retry_after),
        Refusal::ProbesBusy { retry_after } => (Reason::ProbesBusy, retry_after),
    }
}
