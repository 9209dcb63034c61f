//! What a recorded call came to, in the words that the runtime has for it.

use http::StatusCode;
use resilience_policy::FailureKind;
use resilience_runtime::{Classify, Outcome};

/// How a call ended, as far as a record can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The dependency did its work.
    Success,
    /// It answered, and the answer was no.
    Business,
    /// It did not do its work.
    Failure(FailureKind),
    /// It asked for fewer calls.
    Throttled,
    /// Neither counted nor served: cancelled, or refused by a guard further in.
    Ignored,
    /// Refused by a guard, or left by its caller before: it never reached the dependency.
    Rejected,
}

/// The words for a failure whose kind is not named, and those for a refusal.
const FAILURE: [&str; 3] = ["failure", "failed", "error"];
const REASONS: [&str; 8] = [
    "rejected",
    "open",
    "probes_busy",
    "held",
    "isolated",
    "bulkhead_full",
    "wait_timed_out",
    // Its caller went while it waited.
    "left",
];

impl Seen {
    /// Reads `success`, `timeout`, `failure:timeout`, `open` or a status of HTTP.
    pub(crate) fn read(word: &str, kind: Option<&str>) -> Result<Self, &'static str> {
        const WANTED: &str = "an outcome is success, business, failure, timeout, connect, server, protocol, other, \
                              throttled, ignored, rejected or an HTTP status";
        let word = word.trim();
        let (word, kind) = word.split_once([':', '/', ' ']).map_or((word, kind), |(word, kind)| {
            (word, Some(kind.trim()).filter(|kind| !kind.is_empty()))
        });
        let lower = word.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "success" | "ok" => Self::Success,
            "business" => Self::Business,
            "throttled" => Self::Throttled,
            "ignored" | "cancelled" => Self::Ignored,
            "timed_out" | "deadline_exceeded" => Self::Failure(FailureKind::Timeout),
            "panicked" => Self::Failure(FailureKind::Other),
            reason if REASONS.contains(&reason) => Self::Rejected,
            failure if FAILURE.contains(&failure) => Self::Failure(match kind {
                Some(kind) => failure_kind(&kind.to_ascii_lowercase()).ok_or(WANTED)?,
                None => FailureKind::Other,
            }),
            word => match failure_kind(word) {
                Some(kind) => Self::Failure(kind),
                None => Self::of_status(word).ok_or(WANTED)?,
            },
        })
    }

    /// As the runtime's own classifier judges a status.
    pub(crate) fn of_status(status: &str) -> Option<Self> {
        let status = StatusCode::from_bytes(status.as_bytes()).ok()?;
        // 0xx and 6xx and beyond are nobody's.
        (100..600)
            .contains(&status.as_u16())
            .then(|| Self::of(status.classify()))
    }

    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Business => Self::Business,
            Outcome::Failure(kind) => Self::Failure(failure_kind(kind.as_str()).unwrap_or(FailureKind::Other)),
            Outcome::Throttled { .. } => Self::Throttled,
            Outcome::Ignored => Self::Ignored,
        }
    }

    /// Whether the dependency answered, so that its latency says how long an answer takes.
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Success | Self::Business)
    }

    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Self::Failure(_))
    }
}

/// The runtime's kinds are those of the policy, by word.
fn failure_kind(word: &str) -> Option<FailureKind> {
    FailureKind::from_word(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_runtime_are_read() {
        for (word, seen) in [
            ("success", Seen::Success),
            ("business", Seen::Business),
            ("failure", Seen::Failure(FailureKind::Other)),
            ("failure:connect", Seen::Failure(FailureKind::Connect)),
            ("timeout", Seen::Failure(FailureKind::Timeout)),
            ("Protocol", Seen::Failure(FailureKind::Protocol)),
            ("throttled", Seen::Throttled),
            ("open", Seen::Rejected),
            ("bulkhead_full", Seen::Rejected),
            ("left", Seen::Rejected),
            ("timed_out", Seen::Failure(FailureKind::Timeout)),
            ("200", Seen::Success),
            ("302", Seen::Success),
            ("402", Seen::Business),
            ("408", Seen::Failure(FailureKind::Timeout)),
            ("429", Seen::Throttled),
            ("503", Seen::Failure(FailureKind::Server)),
        ] {
            assert_eq!(Seen::read(word, None), Ok(seen), "{word}");
        }
        assert_eq!(
            Seen::read("failure", Some("server")),
            Ok(Seen::Failure(FailureKind::Server))
        );
        for word in ["", "good", "99", "700", "failure:bad"] {
            assert!(Seen::read(word, None).is_err(), "{word}");
        }
    }
}
