//! Codes, statuses and transport errors of `tonic`.
//!
//! A code counts as the HTTP status that Google's APIs give for it does, so that one far side is judged alike over both:
//! `InvalidArgument`, `NotFound`, `Aborted` and their kind are business, `ResourceExhausted` (429) is throttled,
//! `DeadlineExceeded` is a failure of kind `timeout`, `Unavailable`, `Unknown`, `Internal`, `DataLoss` and
//! `Unimplemented` are failures of kind `server`. `Cancelled` is `Ignored`: who left was the caller.

use std::time::Duration;

use ::tonic::transport;
use ::tonic::{Code, ConnectError, Status, TimeoutExpired};

use super::io::{carries_rejection, kind_on_a_connection, sources};
use crate::outcome::{Classify, FailureKind, Outcome};

/// The name that gRPC gives to "come back after so many milliseconds".
const PUSHBACK: &str = "grpc-retry-pushback-ms";

impl Classify for Code {
    fn classify(&self) -> Outcome {
        match self {
            Self::Ok => Outcome::Success,
            Self::Cancelled => Outcome::Ignored,
            Self::DeadlineExceeded => Outcome::Failure(FailureKind::Timeout),
            Self::ResourceExhausted => Outcome::Throttled { retry_after: None },
            Self::Unavailable | Self::Unknown | Self::Internal | Self::DataLoss | Self::Unimplemented => {
                Outcome::Failure(FailureKind::Server)
            }
            Self::InvalidArgument
            | Self::NotFound
            | Self::AlreadyExists
            | Self::PermissionDenied
            | Self::FailedPrecondition
            | Self::Aborted
            | Self::OutOfRange
            | Self::Unauthenticated => Outcome::Business,
        }
    }
}

/// One that tonic made of a transport error counts as that error does: it has a source, which no answer of the far side
/// has. All others count as their code. `ResourceExhausted` names the time of `grpc-retry-pushback-ms`, or else of the
/// `Retry-After` that a proxy wrote; an `Unavailable` with either is throttled, as a 503 is. A pushback that is negative
/// or no number, by which gRPC forbids all retries, names no time: no outcome can say that.
impl Classify for Status {
    fn classify(&self) -> Outcome {
        if carries_rejection(self) {
            return Outcome::Ignored;
        }
        if let Some(kind) = transport_kind(self) {
            return Outcome::Failure(kind);
        }
        match (self.code().classify(), self.code()) {
            (Outcome::Throttled { .. }, _) => Outcome::Throttled {
                retry_after: pushback(self),
            },
            (outcome, Code::Unavailable) => match pushback(self) {
                None => outcome,
                named => Outcome::Throttled { retry_after: named },
            },
            // What a tonic server makes of the caller's own `grpc-timeout`; the caller's clock would have said the same.
            (Outcome::Ignored, _) if self.message() == "Timeout expired" => Outcome::Failure(FailureKind::Timeout),
            (outcome, _) => outcome,
        }
    }
}

/// No answer in time is `timeout`; all else that went wrong before there was one is `connect`, but an address or a user
/// agent that makes no sense: `other`.
impl Classify for transport::Error {
    fn classify(&self) -> Outcome {
        if carries_rejection(self) {
            return Outcome::Ignored;
        }
        // A setting that was refused before anything was sent has no cause below it, or that of a bad address.
        let setting = match std::error::Error::source(self) {
            None => true,
            Some(cause) => cause.is::<::http::uri::InvalidUri>(),
        };
        Outcome::Failure(match told_by_sources(self) {
            Some(kind) => kind,
            None if setting => FailureKind::Other,
            None => FailureKind::Connect,
        })
    }
}

/// Of a status that tonic made here, because no answer came, what went wrong. A status with a source of the user's own
/// says what its code says.
fn transport_kind(status: &Status) -> Option<FailureKind> {
    let source = std::error::Error::source(status)?;
    match (status.code(), told_by_sources(source)) {
        (Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal, Some(kind)) => Some(kind),
        // HTTP/2 broke its own rules; a connection that was lost is `Unknown` or `Cancelled`.
        (Code::Internal, None) => Some(FailureKind::Protocol),
        (Code::Unavailable | Code::Unknown | Code::Cancelled, None) => Some(FailureKind::Connect),
        _ => None,
    }
}

fn told_by_sources(error: &(dyn std::error::Error + 'static)) -> Option<FailureKind> {
    let mut connecting = None;
    for error in sources(error) {
        if error.is::<TimeoutExpired>() {
            return Some(FailureKind::Timeout);
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let kind = kind_on_a_connection(error);
            return Some(if kind == FailureKind::Other {
                FailureKind::Connect
            } else {
                kind
            });
        }
        if error.is::<ConnectError>() {
            connecting = Some(FailureKind::Connect);
        }
    }
    connecting
}

fn pushback(status: &Status) -> Option<Duration> {
    match status.metadata().get(PUSHBACK) {
        Some(said) => said.to_str().ok()?.trim().parse().ok().map(Duration::from_millis),
        None => super::http::retry_after(status.metadata().as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use ::tonic::metadata::MetadataMap;

    use super::*;
    use crate::identity::Identity;
    use crate::rejection::{Reason, Rejection};

    fn with(code: Code, name: &'static str, value: &str) -> Outcome {
        let mut metadata = MetadataMap::new();
        metadata.insert(name, value.parse().unwrap());
        Status::with_metadata(code, "", metadata).classify()
    }

    fn throttled(millis: u64) -> Outcome {
        Outcome::Throttled {
            retry_after: Some(Duration::from_millis(millis)),
        }
    }

    const NO_TIME: Outcome = Outcome::Throttled { retry_after: None };
    const SERVER: Outcome = Outcome::Failure(FailureKind::Server);

    #[test]
    fn every_code_counts_as_the_http_status_for_it() {
        let said = [
            (0, Outcome::Success),
            (1, Outcome::Ignored),
            (2, SERVER),
            (3, Outcome::Business),
            (4, Outcome::Failure(FailureKind::Timeout)),
            (5, Outcome::Business),
            (6, Outcome::Business),
            (7, Outcome::Business),
            (8, NO_TIME),
            (9, Outcome::Business),
            (10, Outcome::Business),
            (11, Outcome::Business),
            (12, SERVER),
            (13, SERVER),
            (14, SERVER),
            (15, SERVER),
            (16, Outcome::Business),
        ];
        for (number, expected) in said {
            let code = Code::from_i32(number);
            assert_eq!(code.classify(), expected, "{code:?}");
            assert_eq!(Status::new(code, "said so").classify(), expected, "{code:?}");
        }
    }

    #[test]
    fn pushback_is_the_time_to_come_back() {
        assert_eq!(with(Code::ResourceExhausted, PUSHBACK, "250"), throttled(250));
        assert_eq!(with(Code::Unavailable, PUSHBACK, "0"), throttled(0));
        assert_eq!(with(Code::Internal, PUSHBACK, "250"), SERVER);
        assert_eq!(with(Code::NotFound, PUSHBACK, "250"), Outcome::Business);
    }

    #[test]
    fn a_proxys_retry_after_counts_where_there_is_no_pushback() {
        assert_eq!(with(Code::Unavailable, "retry-after", "7"), throttled(7_000));
        assert_eq!(with(Code::ResourceExhausted, "retry-after", "7"), throttled(7_000));
    }

    #[test]
    fn a_pushback_that_forbids_retries_names_no_time() {
        for value in ["-1", "soon", "", "99999999999999999999999"] {
            assert_eq!(with(Code::ResourceExhausted, PUSHBACK, value), NO_TIME, "{value}");
            assert_eq!(with(Code::Unavailable, PUSHBACK, value), SERVER, "{value}");
        }
    }

    #[test]
    fn a_status_made_of_a_transport_error_counts_as_that_error() {
        use std::io::ErrorKind;
        let kinds = [
            (ErrorKind::ConnectionRefused, FailureKind::Connect),
            (ErrorKind::BrokenPipe, FailureKind::Connect),
            (ErrorKind::UnexpectedEof, FailureKind::Connect),
            (ErrorKind::TimedOut, FailureKind::Timeout),
            (ErrorKind::InvalidData, FailureKind::Protocol),
            (ErrorKind::Other, FailureKind::Connect),
        ];
        for (kind, expected) in kinds {
            let error = ConnectError(Box::new(std::io::Error::from(kind)));
            let status = Status::from_error(Box::new(error));
            assert_eq!(status.classify(), Outcome::Failure(expected), "{kind}");
        }
        let status = Status::from_error(Box::new(TimeoutExpired(())));
        assert_eq!(status.code(), Code::Cancelled);
        assert_eq!(status.classify(), Outcome::Failure(FailureKind::Timeout));
    }

    #[test]
    fn the_callers_own_grpc_timeout_is_a_timeout_on_either_side() {
        let far_side = Status::cancelled(TimeoutExpired(()).to_string());
        assert_eq!(far_side.classify(), Outcome::Failure(FailureKind::Timeout));
    }

    #[test]
    fn a_source_of_the_users_own_changes_no_answer() {
        let mut status = Status::not_found("no such show");
        status.set_source(std::sync::Arc::new(std::io::Error::from(std::io::ErrorKind::TimedOut)));
        assert_eq!(status.classify(), Outcome::Business);
    }

    #[test]
    fn one_that_carries_a_rejection_is_ignored() {
        let rejection = Rejection::new(Identity::intern("tonic", None, None), Reason::Open, None);
        let mut status = Status::unavailable("refused below");
        status.set_source(std::sync::Arc::new(rejection.clone()));
        assert_eq!(status.classify(), Outcome::Ignored);
        assert_eq!(Status::from_error(Box::new(rejection)).classify(), Outcome::Ignored);
    }

    #[test]
    fn an_address_that_makes_no_sense_is_other() {
        let error = transport::Endpoint::from_shared("not a uri \u{7f}").unwrap_err();
        assert_eq!(error.classify(), Outcome::Failure(FailureKind::Other));
    }
}
