//! The peers, each set up as its documentation says: windows of 100 calls where it has them, else of 30 s; a rate of
//! one half from 20 calls on; a cooldown that outlasts the run.

use std::sync::Arc;
use std::time::Duration;

use failsafe::{StateMachine, backoff, failure_policy};
use layered::{Execute, Service, Stack};
use recloser::{AsyncRecloser, Recloser};
use seatbelt::breaker::{Breaker, BreakerLayer};
use seatbelt::retry::Retry;
use seatbelt::timeout::Timeout;
use seatbelt::typestates::Set;
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;

use crate::work::{Answer, COOLDOWN, Failed, TIMEOUT, answer};

pub mod sentinel;
pub mod towers;

/// recloser with a window of so many calls.
pub fn recloser(window: usize) -> AsyncRecloser {
    let recloser = Recloser::custom()
        .error_rate(0.5)
        .closed_len(window)
        .half_open_len(1)
        .open_wait(COOLDOWN)
        .build();
    AsyncRecloser::from(recloser)
}

type Consecutive = failure_policy::ConsecutiveFailures<backoff::Constant>;
type Rate = failure_policy::SuccessRateOverTimeWindow<backoff::Constant>;

/// failsafe, opening after twenty failures in a row.
pub fn failsafe_consecutive() -> StateMachine<Consecutive, ()> {
    let policy = failure_policy::consecutive_failures(20, backoff::constant(COOLDOWN));
    failsafe::Config::new().failure_policy(policy).build()
}

/// failsafe, by the rate of the last 30 s or twenty failures in a row: its default.
pub fn failsafe_default() -> StateMachine<failure_policy::OrElse<Rate, Consecutive>, ()> {
    let backoff = backoff::constant(COOLDOWN);
    let rate = failure_policy::success_rate_over_time_window(0.5, 20, Duration::from_secs(30), backoff.clone());
    let policy = failure_policy::FailurePolicy::or_else(rate, failure_policy::consecutive_failures(20, backoff));
    failsafe::Config::new().failure_policy(policy).build()
}

/// The clock that seatbelt reads: its coarse one, or the precise default.
pub fn clock(fast: bool) -> Clock {
    Clock::new_tokio().with_fast_instant(fast)
}

fn recovery(answer: Answer) -> RecoveryInfo {
    if answer.is_ok() {
        RecoveryInfo::never()
    } else {
        RecoveryInfo::retry()
    }
}

fn breaker(context: &ResilienceContext<bool, Answer>) -> BreakerLayer<bool, Answer, Set, Set> {
    Breaker::layer("breaker", context)
        .recovery_with(|answer: &Answer, _| recovery(*answer))
        .rejected_input_error(|_, _| Failed)
        .failure_threshold(0.5)
        .min_throughput(20)
        .sampling_duration(Duration::from_secs(30))
        .break_duration(COOLDOWN)
}

/// seatbelt's breaker. Its input says whether the work fails.
pub fn seatbelt(clock: &Clock) -> Arc<impl Service<bool, Out = Answer> + use<>> {
    let context = ResilienceContext::new(clock);
    Arc::new((breaker(&context), Execute::new(answer)).into_service())
}

/// seatbelt's breaker around its timeout.
pub fn seatbelt_timed(clock: &Clock) -> Arc<impl Service<bool, Out = Answer> + use<>> {
    let context = ResilienceContext::new(clock);
    let timeout = Timeout::layer("timeout", &context)
        .timeout_error(|_| Failed)
        .timeout(TIMEOUT);
    Arc::new((breaker(&context), timeout, Execute::new(answer)).into_service())
}

/// seatbelt's retry around its breaker around its timeout.
pub fn seatbelt_retried(clock: &Clock) -> Arc<impl Service<bool, Out = Answer> + use<>> {
    let context = ResilienceContext::new(clock);
    let retry = Retry::layer("retry", &context)
        .clone_input()
        .recovery_with(|answer: &Answer, _| recovery(*answer))
        .max_retry_attempts(2);
    let timeout = Timeout::layer("timeout", &context)
        .timeout_error(|_| Failed)
        .timeout(TIMEOUT);
    Arc::new((retry, breaker(&context), timeout, Execute::new(answer)).into_service())
}

/// The work under tokio's timeout, whose end is a failure.
pub async fn timed(fail: bool) -> Answer {
    tokio::time::timeout(TIMEOUT, answer(fail)).await.unwrap_or(Err(Failed))
}
