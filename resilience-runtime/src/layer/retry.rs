//! The retry's two questions: how long to pause, and whether the budget allows one more.

use std::sync::PoisonError;
use std::time::Duration;

use resilience_policy::{Jitter, Retry};

use crate::sliding::Sliding;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
    /// Before this instant, the end of the newest slice, a call is only counted; 0 while there is none.
    before: AtomicU64,
    /// Calls that are in no slice yet; whoever takes the lock puts them there.
    waiting: AtomicU32,
    /// Made at the first call, so that an idle dependency stays small.
    counts: Mutex<Option<Sliding<SLICES, 2>>>,
}

impl Budget {
    /// One call began.
    #[inline]
    pub(crate) fn call(&self, now: u64) {
        // Who is overtaken here by the next slice counts into it, as who comes late to the lock does.
        if now < self.before.load(Ordering::Relaxed) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else {
            self.call_of_next(now);
        }
    }

    /// The first call of a slice.
    #[cold]
    #[inline(never)]
    fn call_of_next(&self, now: u64) {
        self.with(now, |counts| counts.add(now, [1, 0]));
    }

    /// Takes one retry out of the budget, if it allows one.
    pub(crate) fn take(&self, numbers: &Retry, now: u64) -> bool {
        self.with(now, |counts| {
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
        let [calls, retries] = self.with(now, |counts| counts.totals(now));
        (allowance(numbers, calls) - f64::from(retries)).max(0.0)
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // only a test resets by hand
    pub(crate) fn clear(&self) {
        self.with(0, Sliding::clear);
    }

    fn with<T>(&self, now: u64, act: impl FnOnce(&mut Sliding<SLICES, 2>) -> T) -> T {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.get_or_insert_with(|| Sliding::new(STRETCH));
        // First, as they came before the end of the newest slice.
        let waiting = [self.waiting.swap(0, Ordering::Relaxed), 0];
        if waiting != [0, 0] {
            match counts.end_of_newest() {
                Some(_) => counts.add_to_newest(waiting),
                // It was emptied while they came.
                None => counts.add(now, waiting),
            }
        }
        let done = act(counts);
        let before = counts.end_of_newest().unwrap_or(0);
        self.before.store(before, Ordering::Relaxed);
        done
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
    fn calls_that_wait_are_counted_like_those_that_do_not() {
        let numbers = numbers("budget = 0.2\nbudget_floor = 0.1");
        let mut random = fastrand::Rng::with_seed(3);
        let (budget, mut plain) = (Budget::default(), Sliding::<SLICES, 2>::new(STRETCH));
        let mut now = 0;
        for step in 0..100_000 {
            now += match random.u8(..) {
                0 => STRETCH * random.u64(..3),
                1..9 => random.u64(..STRETCH / 5),
                _ => random.u64(..STRETCH / 1_000),
            };
            if random.u8(..) < 200 {
                budget.call(now);
                plain.add(now, [1, 0]);
                continue;
            }
            let [calls, retries] = plain.totals(now);
            let allowed = allowance(&numbers, calls);
            let left = (allowed - f64::from(retries)).max(0.0);
            assert_eq!(budget.left(&numbers, now).to_bits(), left.to_bits(), "{step}");
            assert_eq!(budget.take(&numbers, now), f64::from(retries) < allowed, "{step}");
            if f64::from(retries) < allowed {
                plain.add(now, [0, 1]);
            }
        }
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

#[cfg(all(test, resilience_loom))]
mod loom {
    use ::loom::sync::Arc;
    use ::loom::thread;

    use super::*;

    const SLICE: u64 = STRETCH / SLICES as u64;

    /// A budget with one call, and a second one at `at` beside what follows.
    fn with_one_beside(at: u64) -> (Arc<Budget>, thread::JoinHandle<()>) {
        let budget = Arc::new(Budget::default());
        budget.call(1);
        let beside = Arc::clone(&budget);
        (budget, thread::spawn(move || beside.call(at)))
    }

    fn calls(budget: &Budget, now: u64) -> u32 {
        budget.with(now, |counts| counts.totals(now))[0]
    }

    #[test]
    fn every_call_is_counted_once_whoever_looks_or_begins_a_slice_meanwhile() {
        ::loom::model(|| {
            let (budget, beside) = with_one_beside(2);
            budget.call(3);
            assert!(calls(&budget, 4) >= 2);
            budget.call(SLICE + 1);
            beside.join().unwrap();
            assert_eq!(calls(&budget, SLICE + 2), 4);
        });
    }

    #[test]
    fn a_call_that_is_overtaken_by_an_emptying_stays_no_longer_than_any() {
        ::loom::model(|| {
            let (budget, beside) = with_one_beside(2);
            let then = 2 * STRETCH;
            assert!(calls(&budget, then) <= 1);
            beside.join().unwrap();
            assert!(calls(&budget, then) <= 1);
            assert_eq!(calls(&budget, 2 * then), 0);
        });
    }
}
