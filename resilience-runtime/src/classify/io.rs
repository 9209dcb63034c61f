//! `std::io::Error`.

use std::error::Error;
use std::io;

use crate::outcome::{Classify, FailureKind, Outcome};
use crate::rejection::Rejection;

/// One that carries a [`Rejection`] is `Ignored`. No answer in time is `timeout`, a connection that was refused, lost
/// or never made is `connect`, data that made no sense or ended early is `protocol`, all else is `other`.
impl Classify for io::Error {
    fn classify(&self) -> Outcome {
        let inner = self.get_ref().map(|inner| inner as &(dyn Error + 'static));
        if inner.is_some_and(carries_rejection) {
            Outcome::Ignored
        } else {
            Outcome::Failure(kind(self.kind()))
        }
    }
}

/// Whether an error, or one of its sources, is a rejection.
pub(super) fn carries_rejection(error: &(dyn Error + 'static)) -> bool {
    sources(error).any(|error| {
        error.is::<Rejection>()
            // An `io::Error` passes its inner error over when it is asked for its source.
            || error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .is_some_and(|inner| carries_rejection(inner))
    })
}

/// An error and its sources, outermost first.
pub(super) fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The kind of an error on a connection that is kept open between requests: one that ended early was lost, and one whose
/// socket file is gone was never made.
#[cfg(any(feature = "tonic", feature = "sqlx", feature = "redis"))]
pub(super) fn kind_on_a_connection(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => FailureKind::Connect,
        io::ErrorKind::WouldBlock => FailureKind::Timeout,
        other => kind(other),
    }
}

fn kind(kind: io::ErrorKind) -> FailureKind {
    use io::ErrorKind;
    match kind {
        ErrorKind::TimedOut => FailureKind::Timeout,
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe
        | ErrorKind::AddrNotAvailable
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown => FailureKind::Connect,
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => FailureKind::Protocol,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::rejection::Reason;

    #[test]
    fn kinds() {
        let said = [
            (io::ErrorKind::TimedOut, FailureKind::Timeout),
            (io::ErrorKind::ConnectionRefused, FailureKind::Connect),
            (io::ErrorKind::ConnectionReset, FailureKind::Connect),
            (io::ErrorKind::BrokenPipe, FailureKind::Connect),
            (io::ErrorKind::NetworkUnreachable, FailureKind::Connect),
            (io::ErrorKind::InvalidData, FailureKind::Protocol),
            (io::ErrorKind::UnexpectedEof, FailureKind::Protocol),
            (io::ErrorKind::NotFound, FailureKind::Other),
            (io::ErrorKind::Other, FailureKind::Other),
        ];
        for (given, expected) in said {
            assert_eq!(io::Error::from(given).classify(), Outcome::Failure(expected), "{given}");
        }
    }

    #[test]
    fn one_that_carries_a_rejection_is_ignored_however_deep() {
        for reason in Reason::ALL {
            let rejection = Rejection::new(Identity::intern("io", None, None), *reason, None);
            let error = io::Error::from(rejection);
            assert_eq!(error.classify(), Outcome::Ignored, "{reason}");
            assert_eq!(io::Error::other(error).classify(), Outcome::Ignored, "{reason}");
        }
    }
}
