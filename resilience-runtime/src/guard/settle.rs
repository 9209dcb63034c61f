//! What follows the body: the breaker hears of it, a throttling answer binds, and the retry decides.

use resilience_policy::{Mode, Throttle};

use super::{Calling, Running};
use crate::attempts::Ending;
use crate::clock::{self, NEVER, nanos};
use crate::dependency::Pinned;
use crate::event::{self, Served};
use crate::layer::breaker::{Kind, Mark};
use crate::layer::retry;
use crate::meter;
use crate::outcome::{FailureKind, Outcome};
use crate::private::{LAYER_RETRY, LAYER_TIMEOUT};
use crate::recorder::End;
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
    fn ending(self) -> Ending {
        match self {
            Self::Panicked => Ending::Panicked,
            finish => finish.outcome().into(),
        }
    }

    fn recorded(self) -> End {
        match self {
            Self::TimedOut(reason) => End::Cut(reason),
            Self::Chaos => End::Chaos,
            finish => End::Attempt(finish.ending()),
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Judged(outcome) => outcome,
            Self::TimedOut(_) => Outcome::Failure(FailureKind::Timeout),
            Self::Panicked | Self::Chaos => Outcome::Failure(FailureKind::Other),
        }
    }
}

impl Calling {
    /// Settles an attempt with the breaker and the hold. Says whether the body is to run again.
    pub(super) fn settle(&mut self, finish: Finish) -> bool {
        let Some(running) = self.running.take() else {
            return false;
        };
        let pinned = self.pin();
        let outcome = self.obeyed(&pinned, finish.outcome());
        self.entry.attempts().end(finish.ending());
        if self.traits.is_recorded() {
            self.record_attempt(&running, finish.recorded());
        }
        if running.started != 0 && self.entry.meter().is_on() {
            self.entry.meter().took(clock::now().saturating_sub(running.started));
        }
        if pinned.mode != Mode::Off {
            let late = self.is_late(&pinned, &running);
            if late {
                self.observe(Reason::TimedOut, None);
            }
            self.settle_breaker(&pinned, running, finish, late);
            self.hold(&pinned, outcome);
        }
        self.ended = Some(match finish {
            Finish::Panicked => CallOutcome::Panicked,
            Finish::TimedOut(_) | Finish::Chaos => CallOutcome::Failure,
            Finish::Judged(outcome) => of_call(outcome),
        });
        let again = !matches!(finish, Finish::Panicked) && self.repeats(&pinned, finish, outcome);
        if again {
            meter::tell(&self.entry);
            return true;
        }
        self.release_slot();
        match finish {
            Finish::Judged(Outcome::Success) => self.count(CallOutcome::Success, Served::Primary),
            Finish::Judged(Outcome::Business) => self.count(CallOutcome::Business, Served::Primary),
            Finish::Panicked => self.count(CallOutcome::Panicked, Served::Error),
            _ => {}
        }
        false
    }

    /// Whether an attempt that is only observed ran longer than its time: what would have been cut counts as cut.
    fn is_late(&self, pinned: &Pinned, running: &Running) -> bool {
        !self.enforces()
            && running.started != 0
            && self.layer(LAYER_TIMEOUT)
            && clock::now().saturating_sub(running.started) > pinned.timeout
    }

    fn settle_breaker(&self, pinned: &Pinned, running: Running, finish: Finish, late: bool) {
        let Running {
            permit,
            started,
            limit,
            reason,
        } = running;
        let Some(permit) = permit else { return };
        let (Some(breaker), Some(numbers)) = (self.entry.breaker(self.traits), &pinned.settings.breaker) else {
            return self.give_back(Running {
                permit: Some(permit),
                started,
                limit,
                reason,
            });
        };
        let judged = finish.ending();
        // What observe did not cut counts as cut, in the report of a sample too.
        let finish = match finish {
            Finish::Judged(_) if late => Finish::TimedOut(Reason::TimedOut),
            finish => finish,
        };
        let slow = match (finish, numbers.slow_after) {
            (Finish::TimedOut(_), _) => numbers.slow_after.is_some(),
            (_, Some(slow_after)) if started != 0 => clock::now().saturating_sub(started) > nanos(slow_after),
            _ => false,
        };
        let outcome = finish.outcome();
        let mark = match (finish, outcome) {
            // Always counted, whatever is listed.
            (Finish::Panicked, _) => Mark::Failure { slow, timed_out: false },
            (_, Outcome::Success | Outcome::Business) => Mark::Success { slow },
            (_, Outcome::Failure(kind)) if pinned.settings.failures.contains(kind) => Mark::Failure {
                slow,
                timed_out: matches!(finish, Finish::TimedOut(_)),
            },
            _ => Mark::Uncounted,
        };
        self.note(permit.kind(), judged, mark, outcome, slow);
        if permit.kind() == Kind::Sample {
            event::sample(pinned, outcome, slow);
        }
        #[cfg(feature = "simulation")]
        super::notes::result(pinned, breaker, &permit, mark);
        if let Some(made) = breaker.settle(permit, mark, clock::now) {
            // A good attempt is counted with its call, a moment later.
            event::transition_by(pinned, made, Some(judged));
        }
    }

    /// Keeps of an attempt what explains the breaker later.
    fn note(&self, kind: Kind, judged: Ending, mark: Mark, outcome: Outcome, slow: bool) {
        let history = self.entry.history(self.traits);
        if slow {
            self.entry.attempts().was_slow();
        }
        match (mark, outcome) {
            (Mark::Failure { .. }, Outcome::Failure(kind)) => history.failed(kind),
            (Mark::Success { slow: true }, _) => history.was_slow(),
            _ => {}
        }
        if let Kind::Probe(_) = kind {
            history.probed(judged);
        }
    }

    /// An outcome with the longest wait that is obeyed; what is cut is reported.
    fn obeyed(&self, pinned: &Pinned, outcome: Outcome) -> Outcome {
        let longest = pinned.settings.max_hold;
        match outcome {
            Outcome::Throttled {
                retry_after: Some(wait),
            } if wait > longest && self.enforces() => {
                event::hold_cut(pinned, wait, longest);
                Outcome::Throttled {
                    retry_after: Some(longest),
                }
            }
            outcome => outcome,
        }
    }

    /// A throttling answer that speaks for everybody.
    fn hold(&self, pinned: &Pinned, outcome: Outcome) {
        if let Outcome::Throttled {
            retry_after: Some(wait),
        } = outcome
            && pinned.settings.throttle == Throttle::Dependency
            && self.enforces()
        {
            pinned.hold().set(clock::now().saturating_add(nanos(wait)));
        }
    }

    fn repeats(&mut self, pinned: &Pinned, finish: Finish, outcome: Outcome) -> bool {
        if !self.layer(LAYER_RETRY) {
            return false;
        }
        let Some((budget, numbers)) = pinned.retry() else {
            return false;
        };
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
            Outcome::Throttled {
                retry_after: Some(wait),
            } => wait,
            _ => retry::pause(numbers, self.attempts, fastrand::f64()),
        };
        let now = clock::now();
        let until = now.saturating_add(nanos(pause));
        // A pause that would reach the deadline is not begun.
        if (self.deadline != NEVER && until >= self.deadline) || !budget.take(numbers, now) {
            return false;
        }
        self.pause_until = if pause.is_zero() { 0 } else { until };
        self.entry.attempts().retry();
        true
    }
}

pub(super) fn of_call(outcome: Outcome) -> CallOutcome {
    match outcome {
        Outcome::Success => CallOutcome::Success,
        Outcome::Business => CallOutcome::Business,
        Outcome::Failure(_) => CallOutcome::Failure,
        Outcome::Throttled { .. } => CallOutcome::Throttled,
        Outcome::Ignored => CallOutcome::Ignored,
    }
}
