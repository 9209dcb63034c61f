//! Counts of attempts and retries: what calls alone do not show. Good attempts are not among them: each
//! ends its call, so they are the tally's, and an accepted call that goes well writes nothing here.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::outcome::{FailureKind, Outcome};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Success,
    Business,
    Failure(FailureKind),
    Throttled,
    Ignored,
    /// The call was dropped while it ran.
    Cancelled,
    Panicked,
}

impl Ending {
    pub(crate) const COUNT: usize = 11;

    /// Every ending, by its [`place`](Self::place).
    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Success,
        Self::Business,
        Self::Failure(FailureKind::Timeout),
        Self::Failure(FailureKind::Connect),
        Self::Failure(FailureKind::Server),
        Self::Failure(FailureKind::Protocol),
        Self::Failure(FailureKind::Other),
        Self::Throttled,
        Self::Ignored,
        Self::Cancelled,
        Self::Panicked,
    ];

    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Success => 0,
            Self::Business => 1,
            Self::Failure(FailureKind::Timeout) => 2,
            Self::Failure(FailureKind::Connect) => 3,
            Self::Failure(FailureKind::Server) => 4,
            Self::Failure(FailureKind::Protocol) => 5,
            // A kind that is added later is another one until it has a place.
            Self::Failure(_) => 6,
            Self::Throttled => 7,
            Self::Ignored => 8,
            Self::Cancelled => 9,
            Self::Panicked => 10,
        }
    }

    /// The word of the outcome, in JSON and labels.
    pub(crate) const fn outcome(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Business => "business",
            Self::Failure(_) => "failure",
            Self::Throttled => "throttled",
            Self::Ignored => "ignored",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
        }
    }

    /// The word of the kind, where it failed.
    pub(crate) const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Failure(kind) => Some(kind.as_str()),
            Self::Panicked => Some(FailureKind::Other.as_str()),
            _ => None,
        }
    }
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Business => Self::Business,
            Outcome::Failure(kind) => Self::Failure(kind),
            Outcome::Throttled { .. } => Self::Throttled,
            Outcome::Ignored => Self::Ignored,
        }
    }
}

/// So many of each ending, and so many slow ones among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ended: [u64; Ending::COUNT],
    pub(crate) slow: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.ended.iter_mut().zip(other.ended) {
            *mine += theirs;
        }
        self.slow += other.slow;
    }

    /// What came since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut counts = *self;
        for (now, then) in counts.ended.iter_mut().zip(before.ended) {
            *now = now.saturating_sub(then);
        }
        counts.slow = counts.slow.saturating_sub(before.slow);
        counts
    }

    pub(crate) fn of(&self, ending: Ending) -> u64 {
        self.ended[ending.place()]
    }
}

/// The counts of one name.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    ended: [AtomicU64; Ending::COUNT],
    slow: AtomicU64,
    retries: AtomicU64,
}

impl Attempts {
    /// An attempt ended. A good one is the tally's.
    pub(crate) fn end(&self, ending: Ending) {
        if !matches!(ending, Ending::Success | Ending::Business) {
            up(&self.ended[ending.place()]);
        }
    }

    pub(crate) fn was_slow(&self) {
        up(&self.slow);
    }

    pub(crate) fn retry(&self) {
        up(&self.retries);
    }

    pub(crate) fn retries(&self) -> u64 {
        load(&self.retries)
    }

    /// All endings but the good ones, and the slow ones.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts {
            slow: load(&self.slow),
            ..Counts::default()
        };
        for (count, cell) in counts.ended.iter_mut().zip(&self.ended) {
            *count = load(cell);
        }
        counts
    }
}

fn up(cell: &AtomicU64) {
    cell.fetch_add(1, Ordering::Relaxed);
}

fn load(cell: &AtomicU64) -> u64 {
    cell.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_a_place_of_its_own() {
        for (place, ending) in Ending::ALL.into_iter().enumerate() {
            assert_eq!(ending.place(), place);
        }
    }

    #[test]
    fn good_attempts_are_left_to_the_tally() {
        let attempts = Attempts::default();
        for ending in Ending::ALL {
            attempts.end(ending);
        }
        assert_eq!(attempts.counts().ended, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}
