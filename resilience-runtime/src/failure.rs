//! An error type for who has none: the rejection, or what the client library said.

use std::error::Error;
use std::fmt;

use crate::outcome::{Classify, Outcome};
use crate::rejection::Rejection;

/// Either a rejection or an error of the call itself.
///
/// `From<E>` exists for `std::io::Error` and for the error of each client feature, so that `?` works in a function that
/// returns `Result<T, Failure<reqwest::Error>>`. For other errors: `.map_err(Failure::Error)`.
///
/// ```
/// use resilience_runtime::Failure;
///
/// fn read() -> Result<Vec<u8>, Failure<std::io::Error>> {
///     Ok(std::fs::read("no such file")?)
/// }
/// assert!(read().unwrap_err().error().is_some());
/// ```
#[derive(Debug, Clone)]
pub enum Failure<E> {
    /// The guard refused the call or cut it short.
    Rejected(Rejection),
    /// The call failed by itself.
    Error(E),
}

impl<E> Failure<E> {
    /// The rejection, if it is one.
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::Error(_) => None,
        }
    }

    /// The call's own error, if it is one.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Rejected(_) => None,
            Self::Error(error) => Some(error),
        }
    }

    /// The call's own error by value, if it is one.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Rejected(_) => None,
            Self::Error(error) => Some(error),
        }
    }
}

impl<E> From<Rejection> for Failure<E> {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<std::io::Error> for Failure<std::io::Error> {
    fn from(error: std::io::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "reqwest")]
impl From<reqwest::Error> for Failure<reqwest::Error> {
    fn from(error: reqwest::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "http")]
impl From<http::Error> for Failure<http::Error> {
    fn from(error: http::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "tonic")]
impl From<tonic::Status> for Failure<tonic::Status> {
    fn from(error: tonic::Status) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "tonic")]
impl From<tonic::transport::Error> for Failure<tonic::transport::Error> {
    fn from(error: tonic::transport::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "sqlx")]
impl From<sqlx::Error> for Failure<sqlx::Error> {
    fn from(error: sqlx::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(feature = "redis")]
impl From<redis::RedisError> for Failure<redis::RedisError> {
    fn from(error: redis::RedisError) -> Self {
        Self::Error(error)
    }
}

impl<E: Classify> Classify for Failure<E> {
    fn classify(&self) -> Outcome {
        match self {
            Self::Rejected(rejection) => rejection.classify(),
            Self::Error(error) => error.classify(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Error(error) => error.fmt(f),
        }
    }
}

/// Transparent: shown as what it holds, and with the source of what it holds.
impl<E: Error> Error for Failure<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(rejection) => rejection.source(),
            Self::Error(error) => error.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::identity::Identity;
    use crate::outcome::FailureKind;
    use crate::rejection::Reason;

    fn rejected() -> Failure<io::Error> {
        Rejection::new(Identity::intern("failure", None, None), Reason::Held, None).into()
    }

    #[test]
    fn is_one_or_the_other() {
        assert_eq!(rejected().rejection().map(Rejection::reason), Some(Reason::Held));
        assert!(rejected().error().is_none() && rejected().into_error().is_none());
        let failed = Failure::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert!(failed.rejection().is_none());
        assert_eq!(
            failed.error().map(io::Error::kind),
            Some(io::ErrorKind::ConnectionRefused)
        );
        assert!(failed.into_error().is_some());
    }

    #[test]
    fn is_of_the_class_of_what_it_holds() {
        assert_eq!(rejected().classify(), Outcome::Ignored);
        let failed = Failure::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(failed.classify(), Outcome::Failure(FailureKind::Connect));
    }

    #[test]
    fn is_shown_as_what_it_holds() {
        assert_eq!(rejected().to_string(), "not available at the moment");
        assert_eq!(
            Failure::from(io::Error::other("a leg is missing")).to_string(),
            "a leg is missing"
        );
    }
}
