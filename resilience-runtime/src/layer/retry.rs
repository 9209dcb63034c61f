//! The retry's two questions: how long to pause, and whether the budget allows one more.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use resilience_policy::{Jitter, Retry};

use crate::sliding::Sliding;

/// The stretch over which retries are weighed against calls.
const STRETCH: u64 = 10_000_000_000;
const SLICES: usize = 100;

/// The pause before the attempt that follows the `attempt`-th (from 1).
///
/// `backoff` doubled for each attempt before, at most `backoff_max`, then spread: "full" is uniform
/// from 0 to the pause and "equal" keeps half of it (the names of the AWS architecture blog,
/// "Exponential Backoff And Jitter"). The spread comes last, so that pauses at the cap do not bunch.
pub(crate) fn pause(numbers: &Retry, attempt: u32, draw: f64) -> Duration {
    let doublings = attempt.saturating_sub(1);
    let whole = 1_u32
        .checked_shl(doublings)
        .and_then(|factor| numbers.backoff.checked_mul(factor))
        .map_or(numbers.backoff_max, |pause| pause.min(numbers.backoff_max));
    // Nothing doubled stays nothing, however often.
    let whole = if numbers.backoff.is_zero() {
        Duration::ZERO
    } else {
        whole
    };
    match numbers.jitter {
        Jitter::None => whole,
        Jitter::Full => whole.mul_f64(draw),
        Jitter::Equal => whole / 2 + (whole / 2).mul_f64(draw),
    }
}

/// Calls and retries of the last ten seconds.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Made at the first call, so that an idle dependency stays small.
    counts: Mutex<Option<Sliding<SLICES, 2>>>,
}

impl Budget {
    /// One call began.
    pub(crate) fn call(&self, now: u64) {
        self.with(|counts| counts.add(now, [1, 0]));
    }

    /// Takes one retry out of the budget, if it allows one.
    pub(crate) fn take(&self, numbers: &Retry, now: u64) -> bool {
        self.with(|counts| {
            let [calls, retries] = counts.totals(now);
            let allowed = f64::from(retries) < allowance(numbers, calls);
            if allowed {
                counts.add(now, [0, 1]);
            }
            allowed
        })
    }

    /// Retries that the budget would still allow now.
    pub(crate) fn left(&self, numbers: &Retry, now: u64) -> f64 {
        let [calls, retries] = self.with(|counts| counts.totals(now));
        (allowance(numbers, calls) - f64::from(retries)).max(0.0)
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test resets by hand
    pub(crate) fn clear(&self) {
        self.with(Sliding::clear);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Sliding<SLICES, 2>) -> T) -> T {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        act(counts.get_or_insert_with(|| Sliding::new(STRETCH)))
    }
}

fn allowance(numbers: &Retry, calls: u32) -> f64 {
    numbers.budget * f64::from(calls) + 10.0 * numbers.budget_floor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Retry {
        let file = format!("version = 1\n[dependency.a]\nfail = \"closed\"\n[dependency.a.retry]\n{text}\n");
        let policy = resilience_policy::Policy::from_toml(&file).unwrap();
        policy.dependency("a").unwrap().retry.clone().unwrap()
    }

    #[test]
    fn rty_14_pauses_double_up_to_the_cap() {
        let numbers = numbers("backoff = \"1ms\"\nbackoff_max = \"1s\"\njitter = \"none\"");
        let pauses: Vec<_> = (1..=11).map(|n| pause(&numbers, n, 0.0).as_millis()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]);
    }

    #[test]
    fn pauses_stay_within_the_cap_up_to_the_last_attempt_number() {
        for jitter in ["full", "equal", "none"] {
            let numbers = numbers(&format!(
                "backoff = \"3ms\"\nbackoff_max = \"2s\"\njitter = \"{jitter}\""
            ));
            for attempt in (0..32).map(|bit| 1_u32 << bit).chain([u32::MAX]) {
                for draw in [0.0, 0.5, 0.999_999_9] {
                    assert!(
                        pause(&numbers, attempt, draw) <= Duration::from_secs(2),
                        "{jitter} {attempt} {draw}"
                    );
                }
            }
        }
    }

    #[test]
    fn rty_16_pauses_at_the_cap_do_not_bunch() {
        let numbers = numbers("backoff = \"500ms\"\nbackoff_max = \"1s\"\njitter = \"full\"");
        let mut random = fastrand::Rng::with_seed(1);
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| pause(&numbers, 10, random.f64())).collect();
        assert!(drawn.len() >= 100);
        assert!(*drawn.first().unwrap() < Duration::from_millis(750));
    }

    #[test]
    fn a_backoff_of_nothing_is_no_pause() {
        let numbers = numbers("backoff = \"0s\"");
        assert_eq!(pause(&numbers, 40, 0.9), Duration::ZERO);
    }

    #[test]
    fn sd_r33_retries_stay_within_a_tenth_of_the_calls() {
        let numbers = numbers("budget = 0.1\nbudget_floor = 0.0");
        let budget = Budget::default();
        let mut retries = 0;
        for call in 0..1_000_u32 {
            budget.call(0);
            if call % 3 == 0 && budget.take(&numbers, 0) {
                retries += 1;
            }
        }
        assert_eq!(retries, 100);
        assert!(budget.left(&numbers, 0) < 1.0);
    }

    #[test]
    fn the_floor_allows_ten_retries_for_each_of_its_units_whatever_the_calls() {
        let numbers = numbers("budget = 0.0\nbudget_floor = 1.0");
        let budget = Budget::default();
        budget.call(0);
        assert_eq!((0..20).filter(|_| budget.take(&numbers, 0)).count(), 10);
        assert!(budget.take(&numbers, STRETCH));
    }
}
