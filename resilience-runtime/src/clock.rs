//! The one clock: monotonic nanoseconds since a moment long before the first reading.
//!
//! With the feature `testing` it is tokio's, so that `tokio::time::pause` moves every guard. Without it, it is the
//! standard library's, and where a few milliseconds are no matter, [`about`], which the calls of the short way read.

#[cfg(all(
    feature = "coarse-clock",
    any(target_os = "linux", target_os = "android"),
    not(any(feature = "testing", feature = "simulation"))
))]
#[path = "clock/ticks.rs"]
mod rough;
#[cfg(not(all(
    feature = "coarse-clock",
    any(target_os = "linux", target_os = "android"),
    not(any(feature = "testing", feature = "simulation"))
)))]
#[path = "clock/exact.rs"]
mod rough;
#[cfg(feature = "simulation")]
mod simulated;
// With `testing` nobody reads it but its own tests.
#[cfg(all(
    test,
    feature = "coarse-clock",
    feature = "testing",
    any(target_os = "linux", target_os = "android")
))]
mod ticks;

use std::sync::OnceLock;
use std::time::Duration;

#[cfg(not(feature = "testing"))]
use std::time::Instant;
#[cfg(feature = "testing")]
use tokio::time::Instant;

pub(crate) use rough::{OFF, about, spent, tick};
#[cfg(feature = "simulation")]
pub(crate) use simulated::Timer;
#[cfg(feature = "simulation")]
pub use simulated::{Entered, advance, enter, fire, next_timer};
#[cfg(not(feature = "simulation"))]
pub(crate) use tokio::time::Sleep as Timer;

/// "Never": later than any instant that a clock will show.
pub(crate) const NEVER: u64 = u64::MAX;

/// Readies the clocks, before the first call and not in it.
pub(crate) fn ready() {
    rough::ready();
    now();
}

/// A paused clock stands at the moment its runtime was built, which may lie before the first
/// reading of another thread; the anchor lies a day earlier so that no reading is cut to zero, which means "never" in
/// several places.
fn anchor() -> Instant {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        let now = Instant::now();
        now.checked_sub(Duration::from_secs(86_400)).unwrap_or(now)
    })
}

/// Now, in nanoseconds.
#[inline]
pub(crate) fn now() -> u64 {
    #[cfg(feature = "simulation")]
    if let Some(now) = simulated::now() {
        return now;
    }
    nanos(Instant::now().saturating_duration_since(anchor()))
}

/// A duration in nanoseconds, cut at what the clock can show (584 years).
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// A timer that fires at `at`: of tokio's, or of the simulation that this thread is in.
///
/// # Panics
///
/// Outside a tokio runtime with time enabled; callers ask [`timers`] first.
pub(crate) fn sleep_until(at: u64) -> Timer {
    #[cfg(feature = "simulation")]
    {
        if simulated::now().is_some() {
            return Timer::simulated(at);
        }
        Timer::Real { sleep: real_sleep(at) }
    }
    #[cfg(not(feature = "simulation"))]
    real_sleep(at)
}

fn real_sleep(at: u64) -> tokio::time::Sleep {
    #[cfg(feature = "testing")]
    return match anchor().checked_add(Duration::from_nanos(at)) {
        Some(instant) => tokio::time::sleep_until(instant),
        None => tokio::time::sleep(Duration::from_nanos(at.saturating_sub(now()))),
    };
    #[cfg(not(feature = "testing"))]
    tokio::time::sleep(Duration::from_nanos(at.saturating_sub(now())))
}

/// Whether a timer can be made here. Guarded calls belong in a tokio runtime; outside one they run
/// without bounds of time rather than panic.
pub(crate) fn timers() -> bool {
    #[cfg(feature = "simulation")]
    if simulated::now().is_some() {
        return true;
    }
    tokio::runtime::Handle::try_current().is_ok()
}

/// Wall time now. With `testing` it moves with tokio's clock, so that a paused test can reach an
/// override's end.
pub(crate) fn wall() -> std::time::SystemTime {
    #[cfg(feature = "simulation")]
    if let Some(now) = simulated::now() {
        return std::time::UNIX_EPOCH + Duration::from_nanos(now);
    }
    #[cfg(feature = "testing")]
    {
        static START: OnceLock<(std::time::SystemTime, u64)> = OnceLock::new();
        let (wall, at) = *START.get_or_init(|| (std::time::SystemTime::now(), now()));
        let at_now = now();
        if at_now >= at {
            wall + Duration::from_nanos(at_now - at)
        } else {
            wall - Duration::from_nanos(at - at_now)
        }
    }
    #[cfg(not(feature = "testing"))]
    std::time::SystemTime::now()
}
