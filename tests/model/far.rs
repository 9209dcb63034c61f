//! What a body does, and how its call may end.

use std::fmt;
use std::time::Duration;

use resilience_runtime::{Classify, FailureKind, Outcome, Rejection};

/// How one run of a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Success,
    Business,
    Failed(FailureKind),
    /// Throttled, and for how many milliseconds.
    Throttled(Option<u64>),
    Ignored,
    Panic,
    Never,
}

impl Answer {
    pub(crate) fn word(self) -> String {
        match self {
            Self::Success => "ok".into(),
            Self::Business => "business".into(),
            Self::Failed(kind) => kind.as_str().into(),
            Self::Throttled(_) => "throttled".into(),
            Self::Ignored => "ignored".into(),
            Self::Panic => "panicked".into(),
            Self::Never => "never".into(),
        }
    }
}

/// An answer, and after how many milliseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) answer: Answer,
    pub(crate) takes: u64,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run({:?}, {})", self.answer, self.takes)
    }
}

/// A run as its `Debug` prints it, so that a shrunk case can be pasted.
pub(crate) fn run(answer: Answer, takes: u64) -> Run {
    Run { answer, takes }
}

/// The error of the guarded function.
#[derive(Debug)]
pub(crate) enum FarError {
    Answered(Answer),
    Rejected(Rejection),
}

impl Classify for FarError {
    fn classify(&self) -> Outcome {
        let Self::Answered(answer) = self else {
            return Outcome::Ignored;
        };
        match *answer {
            Answer::Business => Outcome::Business,
            Answer::Failed(kind) => Outcome::Failure(kind),
            Answer::Throttled(after) => Outcome::Throttled {
                retry_after: after.map(Duration::from_millis),
            },
            _ => Outcome::Ignored,
        }
    }
}

impl From<Rejection> for FarError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
