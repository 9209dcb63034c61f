//! What can go wrong with a far side, and what each of it says about its health.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use resilience_runtime::{Classify, Outcome, Rejection};

/// One type for all three clients. Breaker, retry and fallback read the same classes; they are written once, here.
#[derive(Clone, Debug, Classify)]
pub(crate) enum FarError {
    /// The card was declined: Payrail did its work.
    #[classify(business)]
    Declined,
    /// It asks us to slow down; without saying for how long, perhaps.
    #[classify(throttled(retry_after = retry_after))]
    Busy { retry_after: Option<Duration> },
    /// Any other answer that is not one; the code says whose fault it is.
    #[classify(transparent)]
    Status(StatusCode),
    /// No answer. Shared, because a fallback of `one_per` hands its error to everybody who waited for it.
    #[classify(with = transport)]
    Transport(Arc<reqwest::Error>),
    /// We refused, or cut it short.
    #[classify(ignored)]
    Refused(Rejection),
}

fn transport(error: &Arc<reqwest::Error>) -> Outcome {
    error.as_ref().classify()
}

impl From<reqwest::Error> for FarError {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(Arc::new(error))
    }
}

impl From<Rejection> for FarError {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}
