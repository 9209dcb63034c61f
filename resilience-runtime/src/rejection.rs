//! What a caller gets when we refuse a call or cut it short.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::identity::Identity;
use crate::outcome::{Classify, Outcome};

/// Why a call was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)] // as long as what stands beside it, so that both are moved whole
pub enum Reason {
    /// The breaker is open.
    Open,
    /// The breaker is half-open and has no probe left.
    ProbesBusy,
    /// The dependency asked everybody to wait.
    Held,
    /// An operator isolated the dependency.
    Isolated,
    /// No slot was free and none may be waited for.
    BulkheadFull,
    /// No slot became free within `max_wait`.
    WaitTimedOut,
    /// The attempt ran into `timeout`.
    TimedOut,
    /// The call ran into its deadline.
    DeadlineExceeded,
}

impl Reason {
    /// Every reason, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Open,
        Self::ProbesBusy,
        Self::Held,
        Self::Isolated,
        Self::BulkheadFull,
        Self::WaitTimedOut,
        Self::TimedOut,
        Self::DeadlineExceeded,
    ];

    /// The word used in JSON, labels and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ProbesBusy => "probes_busy",
            Self::Held => "held",
            Self::Isolated => "isolated",
            Self::BulkheadFull => "bulkhead_full",
            Self::WaitTimedOut => "wait_timed_out",
            Self::TimedOut => "timed_out",
            Self::DeadlineExceeded => "deadline_exceeded",
        }
    }

    /// Whether time ran out, of whichever bound.
    const fn is_time(self) -> bool {
        matches!(self, Self::WaitTimedOut | Self::TimedOut | Self::DeadlineExceeded)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call that was refused, or cut short, by its guard.
///
/// `Display` may be sent to a client: it names nothing, and no number but the seconds to wait. `Debug` names all.
///
/// ```
/// # use resilience_runtime::Rejection;
/// fn retry_after_header(rejection: &Rejection) -> Option<String> {
///     Some(rejection.retry_after_secs()?.to_string())
/// }
/// ```
// In this order a good answer that is as long as a word, or half of one, shares its place in a `Result` with one whole field:
// otherwise a refusal is moved in pieces that the processor has to put together from several writes.
#[derive(Clone)]
#[repr(C)]
pub struct Rejection {
    reason: Reason,
    /// The number of its identity: whoever refuses looks nothing up.
    who: u32,
    /// Nanoseconds; `NO_TIME` says that there is nothing to wait for.
    retry_after: u64,
}

const NO_TIME: u64 = u64::MAX;

impl Rejection {
    pub(crate) fn new(identity: &'static Identity, reason: Reason, retry_after: Option<Duration>) -> Self {
        let retry_after = retry_after.map_or(NO_TIME, |time| {
            u64::try_from(time.as_nanos()).unwrap_or(NO_TIME).min(NO_TIME - 1)
        });
        Self {
            reason,
            who: identity.number(),
            retry_after,
        }
    }

    /// The same with nanoseconds and the number of an identity, as the call path has them.
    #[inline]
    pub(crate) fn told(who: u32, reason: Reason, retry_after: Option<u64>) -> Self {
        let retry_after = retry_after.map_or(NO_TIME, |nanos| nanos.min(NO_TIME - 1));
        Self {
            reason,
            who,
            retry_after,
        }
    }

    /// That of a breaker that is open for so many nanoseconds more, which are fewer than no clock can show.
    #[inline]
    pub(crate) fn open(who: u32, retry_after: u64) -> Self {
        Self {
            reason: Reason::Open,
            who,
            retry_after,
        }
    }

    fn identity(&self) -> &'static Identity {
        Identity::numbered(self.who)
    }

    /// What the guarded function calls: `payrail`, or `payrail.refund` for an operation.
    pub fn dependency(&self) -> &str {
        self.identity().name()
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// After what time another try has a chance; `None` where nobody knows.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.retry_after != NO_TIME).then(|| Duration::from_nanos(self.retry_after))
    }

    /// The same as the whole seconds of a `Retry-After` header: rounded up, so that who comes back on the second is not
    /// early, and at least 1.
    pub fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after().map(seconds)
    }

    /// The word that the operator's override gives to fallbacks, to choose among prepared ways of degrading.
    pub fn answer(&self) -> Option<&str> {
        self.identity().answer()
    }

    /// The policy's `label` of the dependency: the only name of it that a client may see.
    pub fn label(&self) -> Option<&str> {
        self.identity().label()
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::TimedOut | Reason::DeadlineExceeded => "no answer in time",
            Reason::BulkheadFull | Reason::WaitTimedOut => "too busy at the moment",
            Reason::Open | Reason::ProbesBusy | Reason::Held | Reason::Isolated => "not available at the moment",
        })?;
        match self.retry_after_secs() {
            Some(seconds) => write!(f, ", try again in {seconds} s"),
            None => Ok(()),
        }
    }
}

/// Whole seconds for who has to wait so long.
pub(crate) fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[allow(clippy::missing_fields_in_debug)] // the number stands for what is shown
impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejection")
            .field("dependency", &self.identity().name())
            .field("reason", &self.reason)
            .field("retry_after", &self.retry_after())
            .field("label", &self.label())
            .field("answer", &self.answer())
            .finish()
    }
}

impl Error for Rejection {}

/// A nested guard's rejection says nothing about the outer dependency.
impl Classify for Rejection {
    fn classify(&self) -> Outcome {
        Outcome::Ignored
    }
}

impl From<Rejection> for io::Error {
    fn from(rejection: Rejection) -> Self {
        let kind = if rejection.reason.is_time() {
            io::ErrorKind::TimedOut
        } else {
            io::ErrorKind::Other
        };
        Self::new(kind, rejection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(reason: Reason, retry_after: Option<Duration>) -> Rejection {
        Rejection::new(
            Identity::intern("payrail", Some("payments"), Some("delayed")),
            reason,
            retry_after,
        )
    }

    #[test]
    fn is_small_and_can_go_anywhere() {
        fn anywhere<T: Error + Clone + Send + Sync + 'static>() {}
        anywhere::<Rejection>();
        assert!(size_of::<Rejection>() <= 32);
        assert!(size_of::<Result<(), Rejection>>() <= 32);
    }

    #[test]
    fn answers_what_it_was_made_of() {
        let made = rejection(Reason::Open, Some(Duration::from_millis(1500)));
        assert_eq!(made.dependency(), "payrail");
        assert_eq!(made.label(), Some("payments"));
        assert_eq!(made.answer(), Some("delayed"));
        assert_eq!(made.reason(), Reason::Open);
        assert_eq!(made.retry_after(), Some(Duration::from_millis(1500)));
        assert_eq!(rejection(Reason::TimedOut, None).retry_after(), None);
        assert!(rejection(Reason::Open, Some(Duration::MAX)).retry_after().is_some());
    }

    #[test]
    fn display_says_nothing_but_the_seconds_rounded_up() {
        let shown = rejection(Reason::Open, Some(Duration::from_millis(29_001))).to_string();
        assert_eq!(shown, "not available at the moment, try again in 30 s");
        for reason in Reason::ALL {
            let shown = rejection(*reason, None).to_string();
            assert!(!shown.contains("pay") && !shown.contains("delayed"), "{shown}");
            assert!(!shown.chars().any(|c| c.is_ascii_digit()), "{shown}");
        }
    }

    #[test]
    fn debug_names_all() {
        let shown = format!("{:?}", rejection(Reason::ProbesBusy, Some(Duration::from_secs(1))));
        for part in ["payrail", "payments", "delayed", "ProbesBusy", "1s"] {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn becomes_an_io_error_whose_kind_says_whether_time_ran_out() {
        for reason in Reason::ALL {
            let error = io::Error::from(rejection(*reason, None));
            let time = matches!(
                reason,
                Reason::WaitTimedOut | Reason::TimedOut | Reason::DeadlineExceeded
            );
            let kind = if time {
                io::ErrorKind::TimedOut
            } else {
                io::ErrorKind::Other
            };
            assert_eq!(error.kind(), kind, "{reason}");
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Rejection>());
            assert_eq!(inner.map(Rejection::reason), Some(*reason));
        }
    }

    #[test]
    fn words_are_those_of_the_events() {
        let words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let said = "open probes_busy held isolated bulkhead_full wait_timed_out timed_out deadline_exceeded";
        assert_eq!(words.join(" "), said);
    }
}
