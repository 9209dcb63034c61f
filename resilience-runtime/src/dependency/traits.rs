//! What a plain call needs to know of the numbers in force, in one load.

use std::time::Duration;

use resilience_policy::Mode;

use super::Pinned;
use crate::clock::NEVER;
use crate::private::{LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT};

/// From here on a tick more or less, 4 ms on most systems, is no matter.
const LONG: Duration = Duration::from_millis(50);

/// What is so of an entry's numbers, as bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits(pub(super) u32);

impl Traits {
    // The lowest bits say which layers have a table, with the bits of the layers themselves.
    pub(super) const BREAKER: u32 = LAYER_BREAKER as u32;
    pub(super) const BULKHEAD: u32 = LAYER_BULKHEAD as u32;
    const RETRY: u32 = LAYER_RETRY as u32;
    const TIMEOUT: u32 = LAYER_TIMEOUT as u32;
    const TABLES: u32 = Self::BREAKER | Self::BULKHEAD | Self::RETRY | Self::TIMEOUT;
    /// Something that a plain call knows nothing of: another mode, a hand, a deadline, chaos.
    const UNUSUAL: u32 = 1 << 8;
    pub(super) const BREAKER_SHARED: u32 = 1 << 9;
    pub(super) const SLOTS_SHARED: u32 = 1 << 10;
    /// Attempts are timed, to tell the slow ones.
    const TIMED: u32 = 1 << 11;
    pub(super) const BUDGET_SHARED: u32 = 1 << 12;
    /// A call may have more than one attempt.
    const REPEATS: u32 = 1 << 13;
    /// Somebody records the calls.
    const RECORDED: u32 = 1 << 14;
    /// Slow is so long that the clock of the system's ticks tells it.
    const LONG: u32 = 1 << 15;

    pub(super) fn of(pinned: &Pinned, recorded: bool) -> Self {
        let settings = &pinned.settings;
        let slow_after = settings.breaker.as_ref().and_then(|numbers| numbers.slow_after);
        let repeats = settings.retry.as_ref().is_some_and(|numbers| numbers.max_attempts > 1);
        // The short way tells nobody of a call.
        let unusual = recorded
            || pinned.mode != Mode::Enforce
            || pinned.until != NEVER
            || settings.deadline.is_some()
            || (pinned.chaos && settings.chaos.is_some());
        let bits = [
            (unusual, Self::UNUSUAL),
            (settings.breaker.is_some(), Self::BREAKER),
            (settings.breaker_shared, Self::BREAKER_SHARED),
            (settings.bulkhead.is_some(), Self::BULKHEAD),
            (settings.slots_shared, Self::SLOTS_SHARED),
            (settings.retry.is_some(), Self::RETRY),
            (settings.timeout.is_some(), Self::TIMEOUT),
            (slow_after.is_some(), Self::TIMED),
            (slow_after.is_some_and(|time| time >= LONG), Self::LONG),
            (settings.budget_shared, Self::BUDGET_SHARED),
            (repeats, Self::REPEATS),
            (recorded, Self::RECORDED),
        ];
        Self(
            bits.into_iter()
                .filter(|(is_so, _)| *is_so)
                .fold(0, |all, (_, bit)| all | bit),
        )
    }

    #[inline]
    pub(super) fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        !self.has(Self::UNUSUAL)
    }

    /// Those of `layers` that have a table or key. A breaker brings the timeout, whether or not it stands itself.
    #[inline]
    pub(crate) fn of_layers(self, layers: u8) -> u8 {
        let brought = if layers & LAYER_BREAKER == 0 { 0 } else { LAYER_TIMEOUT };
        #[allow(clippy::cast_possible_truncation)] // the tables are the lowest bits
        let tables = (self.0 & Self::TABLES) as u8;
        (layers | brought) & tables
    }

    /// Whether a call with the retry layer may have more than one attempt.
    #[inline]
    pub(crate) fn repeats(self) -> bool {
        self.has(Self::REPEATS)
    }

    #[inline]
    pub(crate) fn is_timed(self) -> bool {
        self.has(Self::TIMED)
    }

    /// Whether a body that is over in one poll is timed by the clock that is a few milliseconds off.
    #[inline]
    pub(crate) fn is_timed_roughly(self) -> bool {
        self.has(Self::LONG)
    }

    #[inline]
    pub(crate) fn is_recorded(self) -> bool {
        cfg!(feature = "record") && self.has(Self::RECORDED)
    }
}
