//! Errors of `sqlx`, whichever database is behind it.
//!
//! What the database or the driver says about the request (a constraint, a syntax error, a missing row, a value that
//! does not fit its type) is business: it answered. What says that there was no answer, or that the server is unwell, is
//! a failure. A lost race with another transaction is throttled without a time: worth another attempt, and no sign of
//! ill health.

use ::sqlx::Error;
use ::sqlx::error::{DatabaseError, ErrorKind};

use super::io::{carries_rejection, kind_on_a_connection};
use crate::outcome::{Classify, FailureKind, Outcome};

/// A pool that had no connection in time is `connect`: the call never reached the database. A pool that we closed is
/// `Ignored`. A database error counts by its SQLSTATE, or by the code of `SQLite`.
impl Classify for Error {
    fn classify(&self) -> Outcome {
        if carries_rejection(self) {
            return Outcome::Ignored;
        }
        let kind = match self {
            Self::Database(error) => return database(&**error),
            Self::RowNotFound
            | Self::TypeNotFound { .. }
            | Self::ColumnIndexOutOfBounds { .. }
            | Self::ColumnNotFound(_)
            | Self::ColumnDecode { .. }
            | Self::Encode(_)
            | Self::Decode(_)
            | Self::InvalidArgument(_) => return Outcome::Business,
            Self::PoolClosed => return Outcome::Ignored,
            Self::Io(error) => kind_on_a_connection(error),
            Self::PoolTimedOut | Self::Tls(_) => FailureKind::Connect,
            Self::Protocol(_) => FailureKind::Protocol,
            _ => FailureKind::Other,
        };
        Outcome::Failure(kind)
    }
}

fn database(error: &dyn DatabaseError) -> Outcome {
    match (error.kind(), error.code()) {
        (ErrorKind::Other, Some(code)) => coded(&code),
        (ErrorKind::Other, None) => Outcome::Failure(FailureKind::Other),
        // A constraint, in the words of whichever database.
        _ => Outcome::Business,
    }
}

fn coded(code: &str) -> Outcome {
    match code.parse() {
        // A SQLSTATE has five characters, all of which may be digits; SQLite's codes have four at most.
        Ok(number) if code.len() < 5 => sqlite(number),
        _ => sqlstate(code),
    }
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>; the classes are those of the standard, and so
/// those of `MySQL` too.
fn sqlstate(code: &str) -> Outcome {
    const LOST_A_RACE: Outcome = Outcome::Throttled { retry_after: None };
    let kind = match code {
        // A serialization failure, a deadlock, and a lock that somebody else had for too long.
        "40001" | "40P01" | "55P03" => return LOST_A_RACE,
        // A limit on the time of a statement or a transaction. A cancel by hand looks the same.
        "57014" | "25P04" | "70100" => FailureKind::Timeout,
        "08P01" => FailureKind::Protocol,
        // Too many connections; a session that idled for too long inside a transaction and was ended.
        "53300" | "25P03" => FailureKind::Connect,
        // Of a standby, or of a former primary: it cannot do this work any more. And: did it commit? Nobody knows.
        "25006" | "40003" => FailureKind::Server,
        _ => match code.get(..2).unwrap_or_default() {
            // No connection, no session for who we say that we are.
            "08" | "28" => FailureKind::Connect,
            // Shutting down, crashed, starting up: the connection is gone or was not made.
            "57" if code.starts_with("57P") => FailureKind::Connect,
            // Short of memory or disk, stopped by an operator, an I/O error, a bug, a remote server, a broken setup.
            "53" | "57" | "58" | "72" | "F0" | "HV" | "XX" => FailureKind::Server,
            // "General error" of MySQL and ODBC: says nothing.
            "HY" => FailureKind::Other,
            _ => return Outcome::Business,
        },
    };
    Outcome::Failure(kind)
}

/// <https://www.sqlite.org/rescode.html>; the lower byte is the class.
fn sqlite(code: u16) -> Outcome {
    let kind = match code & 0xff {
        // Busy, locked.
        5 | 6 => return Outcome::Throttled { retry_after: None },
        // Cannot open.
        14 => FailureKind::Connect,
        15 => FailureKind::Protocol,
        // Internal, out of memory, read-only, I/O error, corrupt, full, not a database.
        2 | 7 | 8 | 10 | 11 | 13 | 26 => FailureKind::Server,
        _ => return Outcome::Business,
    };
    Outcome::Failure(kind)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error as StdError;
    use std::{fmt, io};

    use super::*;
    use crate::identity::Identity;
    use crate::rejection::{Reason, Rejection};

    /// What a driver would make of an error message with this code.
    #[derive(Debug)]
    struct Said(Option<&'static str>, bool);

    impl fmt::Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the database said no")
        }
    }

    impl StdError for Said {}

    impl DatabaseError for Said {
        fn message(&self) -> &'static str {
            "the database said no"
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            self.0.map(Cow::Borrowed)
        }
        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }
        fn kind(&self) -> ErrorKind {
            if self.1 {
                ErrorKind::UniqueViolation
            } else {
                ErrorKind::Other
            }
        }
    }

    fn said(code: &'static str) -> Outcome {
        Error::Database(Box::new(Said(Some(code), false))).classify()
    }

    fn failure(kind: FailureKind) -> Outcome {
        Outcome::Failure(kind)
    }

    const LOST_A_RACE: Outcome = Outcome::Throttled { retry_after: None };

    #[test]
    fn sqlstates_count_by_their_class() {
        let connect = [
            "08000", "08006", "08004", "28P01", "53300", "57P01", "57P02", "57P03", "25P03",
        ];
        let server = [
            "53100", "53200", "57000", "58030", "XX000", "XX001", "25006", "HV00N", "40003",
        ];
        let timeout = ["57014", "25P04", "70100"];
        let business = [
            "23505", "23503", "22012", "22P02", "42601", "42P01", "42703", "21000", "P0001", "0A000", "3D000", "25P02",
            "40002", "54001", "44000",
        ];
        let all = [
            (&connect[..], failure(FailureKind::Connect)),
            (&server, failure(FailureKind::Server)),
            (&timeout, failure(FailureKind::Timeout)),
            (&["08P01"], failure(FailureKind::Protocol)),
            (&["HY000"], failure(FailureKind::Other)),
            (&business, Outcome::Business),
            (&["40001", "40P01", "55P03"], LOST_A_RACE),
        ];
        for (codes, expected) in all {
            for code in codes {
                assert_eq!(said(code), expected, "{code}");
            }
        }
    }

    #[test]
    fn codes_of_sqlite_count_by_their_lower_byte() {
        assert_eq!(said("5"), LOST_A_RACE);
        assert_eq!(said("517"), LOST_A_RACE);
        assert_eq!(said("14"), failure(FailureKind::Connect));
        assert_eq!(said("266"), failure(FailureKind::Server));
        assert_eq!(said("2067"), Outcome::Business);
        assert_eq!(said("1"), Outcome::Business);
    }

    #[test]
    fn a_constraint_is_business_whatever_its_code() {
        assert_eq!(
            Error::Database(Box::new(Said(Some("HY000"), true))).classify(),
            Outcome::Business
        );
        assert_eq!(
            Error::Database(Box::new(Said(None, true))).classify(),
            Outcome::Business
        );
        assert_eq!(
            Error::Database(Box::new(Said(None, false))).classify(),
            failure(FailureKind::Other)
        );
    }

    #[test]
    fn codes_that_nobody_gives_are_business_and_never_a_panic() {
        for code in ["", "é", "4é000", "99999", "00000000000"] {
            assert_eq!(said(code), Outcome::Business, "{code}");
        }
    }

    #[test]
    fn what_never_reached_the_database_is_connect() {
        assert_eq!(Error::PoolTimedOut.classify(), failure(FailureKind::Connect));
        for kind in [
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::UnexpectedEof,
            io::ErrorKind::NotFound,
        ] {
            let error = Error::Io(kind.into());
            assert_eq!(error.classify(), failure(FailureKind::Connect), "{kind}");
        }
        assert_eq!(Error::Tls("no".into()).classify(), failure(FailureKind::Connect));
        assert_eq!(
            Error::Io(io::ErrorKind::TimedOut.into()).classify(),
            failure(FailureKind::Timeout)
        );
    }

    #[test]
    fn what_is_about_the_request_is_business() {
        for error in [
            Error::RowNotFound,
            Error::ColumnNotFound("seat".into()),
            Error::Decode("a null".into()),
            Error::Encode("too long".into()),
            Error::ColumnDecode {
                index: "seat".into(),
                source: "a null".into(),
            },
        ] {
            assert_eq!(error.classify(), Outcome::Business, "{error}");
        }
    }

    #[test]
    fn the_rest() {
        assert_eq!(Error::PoolClosed.classify(), Outcome::Ignored);
        assert_eq!(
            Error::Protocol("nonsense".into()).classify(),
            failure(FailureKind::Protocol)
        );
        assert_eq!(Error::WorkerCrashed.classify(), failure(FailureKind::Other));
        assert_eq!(
            Error::Configuration("no host".into()).classify(),
            failure(FailureKind::Other)
        );
    }

    #[test]
    fn one_that_carries_a_rejection_is_ignored() {
        let rejection = Rejection::new(Identity::intern("sqlx", None, None), Reason::BulkheadFull, None);
        assert_eq!(Error::Io(rejection.clone().into()).classify(), Outcome::Ignored);
        assert_eq!(Error::Decode(Box::new(rejection)).classify(), Outcome::Ignored);
    }
}
