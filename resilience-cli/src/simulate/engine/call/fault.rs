//! What the far side answers when it is no success.

use std::time::Duration;

use resilience_runtime::{Classify, FailureKind, Outcome as Class, Rejection};

use crate::simulate::engine::meter::Outcome;
use crate::simulate::scenario::{Answer, Nanos};

/// The error of a call's body.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    Business,
    Server,
    Connect,
    Throttled(Option<Duration>),
    /// Another guard refused what a fallback asked of it.
    Nested,
}

impl Fault {
    pub(super) fn of(answer: Answer, retry_after: Option<Nanos>) -> Result<(), Self> {
        Err(match answer {
            Answer::Success => return Ok(()),
            Answer::Business => Self::Business,
            Answer::Failure | Answer::Never => Self::Server,
            Answer::Connect => Self::Connect,
            Answer::Throttled => Self::Throttled(retry_after.map(Duration::from_nanos)),
        })
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Business => Outcome::Business,
            _ => Outcome::Failed,
        }
    }
}

impl Classify for Fault {
    fn classify(&self) -> Class {
        match self {
            Self::Business => Class::Business,
            Self::Server => Class::Failure(FailureKind::Server),
            Self::Connect => Class::Failure(FailureKind::Connect),
            Self::Throttled(retry_after) => Class::Throttled {
                retry_after: *retry_after,
            },
            Self::Nested => Class::Ignored,
        }
    }
}

impl From<Rejection> for Fault {
    fn from(_: Rejection) -> Self {
        Self::Nested
    }
}
