//! What follows the body: the breaker hears of it, a throttling answer binds, and the retry decides.

use resilience_policy::{Mode, Throttle};

use super::{Calling, Running};
use crate::clock::{self, NEVER, nanos};
use crate::dependency::Pinned;
use crate::event::{self, Served};
use crate::layer::breaker::{Kind, Mark, Permit};
use crate::layer::retry;
use crate::outcome::{FailureKind, Outcome};
use crate::private::{LAYER_RETRY, LAYER_TIMEOUT};
use crate::rejection::Reason;
use crate::tally::CallOutcome;

/// How an attempt ended.
#[derive(Clone, Copy)]
pub(super) enum Finish {
    Judged(Outcome),
    TimedOut(Reason),
    Panicked,
    Chaos,
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

impl Calling<'_> {
    /// Settles a good answer of a plain call: nothing to repeat, nothing to hold.
    #[inline]
    pub(super) fn settle_good(&mut self, outcome: Outcome) {
        if let Some(Running { permit: Some(permit), started, .. }) = self.running.take()
            && let Some(breaker) = self.entry.breaker(self.traits)
        {
            let slow = started != 0 && clock::now().saturating_sub(started) > self.slow_after();
            if slow || !breaker.is_clean_for(&permit) {
                self.settle_good_counted(permit, outcome, slow);
            }
        }
        self.release_slot();
        let outcome = of_call(outcome);
        self.ended = Some(outcome);
        self.count(outcome, Served::Primary);
    }

    #[inline(never)]
    fn settle_good_counted(&self, permit: Permit, outcome: Outcome, slow: bool) {
        let Some(breaker) = self.entry.breaker(self.traits) else { return };
        if permit.kind() == Kind::Sample {
            event::sample(self.pinned(), outcome, slow);
        }
        if let Some(made) = breaker.settle(permit, Mark::Success { slow }, clock::now) {
            event::transition(self.pinned(), made);
        }
    }

    /// A call that was pending ends on the numbers it began with.
    fn slow_after(&self) -> u64 {
        self.pinned.get().map_or_else(|| self.entry.slow_after(), |pinned| pinned.slow_after())
    }

    /// Settles an attempt with the breaker and the hold. Says whether the body is to run again.
    #[inline(never)]
    pub(super) fn settle(&mut self, finish: Finish) -> bool {
        let Some(running) = self.running.take() else { return false };
        let pinned = self.pin();
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
        let Running { permit, started, limit, reason } = running;
        let Some(permit) = permit else { return };
        let (Some(breaker), Some(numbers)) = (self.entry.breaker(self.traits), &pinned.settings.breaker) else {
            return self.abandon(Running { permit: Some(permit), started, limit, reason });
        };
        let mut late = false;
        let slow = match (finish, numbers.slow_after) {
            (Finish::TimedOut(_), _) => numbers.slow_after.is_some(),
            (_, Some(slow_after)) if started != 0 => {
                clock::now().saturating_sub(started) > nanos(slow_after)
            }
            _ => false,
        };
        if !self.enforces() && started != 0 && self.layer(LAYER_TIMEOUT) {
            // What would have been cut counts as cut.
            late = clock::now().saturating_sub(started) > pinned.timeout;
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
        if let Some(made) = breaker.settle(permit, mark, clock::now) {
            event::transition(pinned, made);
        }
    }

    /// A throttling answer that speaks for everybody.
    fn hold(&self, pinned: &Pinned, outcome: Outcome) {
        if let Outcome::Throttled { retry_after: Some(wait) } = outcome
            && pinned.settings.throttle == Throttle::Dependency
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
