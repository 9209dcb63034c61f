//! The operator's hand: a mode set for a while, by somebody, for a reason.

use std::time::{Duration, SystemTime};

use resilience_policy::Mode;

/// A mode that somebody set by hand until a moment.
///
/// ```
/// use std::time::Duration;
/// use resilience_runtime::{Mode, Override};
///
/// let hand = Override::new(Mode::Isolate, "ops", "payrail announced maintenance", Duration::from_secs(3600));
/// assert_eq!(hand.answer, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The mode while it holds.
    pub mode: Mode,
    /// Who set it; required.
    pub by: String,
    /// Why; required.
    pub reason: String,
    /// When it ends; at most seven days ahead.
    pub until: SystemTime,
    /// A word that [`Rejection::answer`](crate::Rejection::answer) hands to the fallback.
    pub answer: Option<String>,
}

impl Override {
    /// A hand that holds for `duration` from now.
    pub fn new(mode: Mode, by: impl Into<String>, reason: impl Into<String>, duration: Duration) -> Self {
        Self {
            mode,
            by: by.into(),
            reason: reason.into(),
            until: crate::clock::wall() + duration,
            answer: None,
        }
    }
}

/// An override in force.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) set: Override,
    /// Its end on the monotonic clock.
    pub(crate) until: u64,
}
