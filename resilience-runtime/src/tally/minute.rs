//! The share of the last minute's calls that a fallback answered, from the sums at the begin of each
//! second in which something was seen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const MINUTE: u64 = 60;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Minute {
    newest: AtomicU64,
    samples: Mutex<Vec<Sample>>,
}

#[derive(Debug)]
struct Sample {
    second: u64,
    calls: u64,
    degraded: u64,
}

impl Minute {
    /// A call is about to be counted at `now`.
    #[inline]
    pub(super) fn see(&self, now: u64, sums: impl FnOnce() -> (u64, u64)) {
        let second = now / SECOND;
        if self.newest.load(Ordering::Relaxed) != second {
            self.see_first(second, sums);
        }
    }

    #[cold]
    fn see_first(&self, second: u64, sums: impl FnOnce() -> (u64, u64)) {
        self.newest.store(second, Ordering::Relaxed);
        let (calls, degraded) = sums();
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut samples, second);
        if samples.last().is_none_or(|newest| newest.second < second) {
            samples.push(Sample {
                second,
                calls,
                degraded,
            });
        }
    }

    pub(super) fn ratio(&self, now: u64, sums: impl FnOnce() -> (u64, u64)) -> f64 {
        let (calls_now, degraded_now) = sums();
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut samples, now / SECOND);
        let Some(oldest) = samples.first() else { return 0.0 };
        let calls = calls_now.saturating_sub(oldest.calls);
        #[allow(clippy::cast_precision_loss)] // a minute's calls are far below 2^52
        let ratio = degraded_now.saturating_sub(oldest.degraded) as f64 / calls.max(1) as f64;
        ratio
    }
}

fn forget(samples: &mut Vec<Sample>, second: u64) {
    // Once a second, and of sixty at most.
    samples.retain(|sample| sample.second + MINUTE > second);
}
