//! The time of Linux's last tick, for a quarter of what the exact clock costs: it is noted anyway, and nobody has to ask
//! the processor's counter, which virtual machines make slow.

use std::sync::atomic::{AtomicU64, Ordering};

use coarsetime::{Duration, Instant};

/// By how much [`about`] may be off, in nanoseconds: a tick of the slowest kernel, 10 ms, at each end.
pub(crate) const OFF: u64 = 20_000_000;

/// For so long, a second, the two clocks are taken to go alike.
const ALIKE: u64 = 1 << 32;

/// How the two were last laid beside each other.
static LAID: Laid = Laid {
    at: AtomicU64::new(0),
    ahead: AtomicU64::new(0),
};

struct Laid {
    /// The tick at which that was.
    at: AtomicU64,
    /// What to add to a tick's time since.
    ahead: AtomicU64,
}

/// The last tick, for [`spent`].
#[inline]
pub(crate) fn tick() -> u64 {
    // The other constructor notes what it saw, on one cache line for all cores.
    Instant::now_without_cache_update().as_ticks()
}

/// Nanoseconds from that tick to the last one.
#[inline]
pub(crate) fn spent(since: u64) -> u64 {
    let now = tick();
    // Nearly always it is the same.
    if now == since {
        return 0;
    }
    nanos(now.saturating_sub(since))
}

/// Nanoseconds like those of [`now`](super::now), at most [`OFF`] from it.
#[inline]
pub(crate) fn about() -> u64 {
    let tick = tick();
    // Who sees one of the two before the other is off by a tick for it. Who is behind them, because another core laid
    // them just now, lays them once more.
    if tick.wrapping_sub(LAID.at.load(Ordering::Relaxed)) > ALIKE {
        return lay(tick);
    }
    nanos(tick).wrapping_add(LAID.ahead.load(Ordering::Relaxed))
}

pub(super) fn ready() {
    lay(tick());
}

#[inline]
fn nanos(ticks: u64) -> u64 {
    Duration::from_ticks(ticks).as_nanos()
}

#[cold]
fn lay(tick: u64) -> u64 {
    let now = super::now();
    LAID.ahead.store(now.wrapping_sub(nanos(tick)), Ordering::Relaxed);
    LAID.at.store(tick, Ordering::Relaxed);
    now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn about_now_is_now_but_for_less_than_it_says() {
        ready();
        let from = now();
        let (mut readings, mut off) = (0, 0);
        // Longer than the two go alike without being laid beside each other.
        while now() - from < 1_200_000_000 {
            let (before, about, after) = (now(), about(), now());
            // Taken off the processor in between it may be as late as that took.
            off += u32::from(about + OFF <= before || about >= after + OFF);
            readings += 1;
        }
        // A machine that stands still for longer misses ticks.
        assert!(readings > 100 && off * 50 < readings, "{off} of {readings}");
    }

    #[test]
    fn what_was_spent_is_counted_from_tick_to_tick() {
        let from = now();
        let (of_none, of_a_second) = (tick(), tick() - (1 << 32));
        let (none, second) = (spent(of_none), spent(of_a_second));
        let longest = now() - from + OFF;
        assert!(none < longest, "{none}");
        assert!(second >= 1_000_000_000 && second - 1_000_000_000 < longest, "{second}");
        assert_eq!(spent(u64::MAX), 0, "a clock that steps back");
    }
}
