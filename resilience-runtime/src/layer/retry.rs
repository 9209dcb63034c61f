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
    // The longest pause there is has 47 bits, so nothing is lost, and the shortest is beyond any cap by then.
    let doublings = attempt.saturating_sub(1).min(64);
    let whole = (numbers.backoff.as_nanos() << doublings).min(numbers.backoff_max.as_nanos());
    let whole = u64::try_from(whole).map_or(numbers.backoff_max, Duration::from_nanos);
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
        let attempts: Vec<_> = (1..=100)
            .chain((7..32).map(|bit| 1_u32 << bit))
            .chain([u32::MAX])
            .collect();
        for (backoff, longest) in [("1us", "1us"), ("1us", "24h"), ("3ms", "2s"), ("24h", "24h")] {
            // From nothing or half of it on, and the cap itself at the end.
            for (jitter, least) in [("full", 0), ("equal", 1), ("none", 2)] {
                let numbers = numbers(&format!(
                    "backoff = \"{backoff}\"\nbackoff_max = \"{longest}\"\njitter = \"{jitter}\""
                ));
                for attempt in &attempts {
                    let whole = numbers.backoff.as_secs_f64() * 2_f64.powf(f64::from(*attempt) - 1.0);
                    let whole = whole.min(numbers.backoff_max.as_secs_f64());
                    let mut last = Duration::ZERO;
                    for draw in [0.0, 0.5, 0.999_999_9] {
                        let pause = pause(&numbers, *attempt, draw);
                        let seconds = pause.as_secs_f64();
                        let within = f64::from(least) / 2.0 * whole - 1e-9..=whole + 1e-9;
                        assert!(
                            pause <= numbers.backoff_max && within.contains(&seconds) && pause >= last,
                            "{backoff} {longest} {jitter} {attempt} {draw}: {pause:?}"
                        );
                        last = pause;
                    }
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
