//! Errors of `redis`.
//!
//! A server that refuses the command as such (wrong type, no permission, unknown script) answered: business. One that
//! cannot serve at all (loading, busy with a script, out of memory, read-only, without its cluster) failed.

use std::error::Error;
use std::io;
use std::sync::Arc;

use ::redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};

use super::io::{carries_rejection, kind_on_a_connection};
use crate::outcome::{Classify, FailureKind, Outcome};

/// No answer in time is `timeout`; a connection that was refused, lost or not let in is `connect`; an answer that cannot
/// be read is `protocol`, and the client does not say whether it was not Redis's or only not of the type asked for. Of a
/// pipeline, the first error that says something about the server counts.
impl Classify for RedisError {
    fn classify(&self) -> Outcome {
        let inner = inner(self);
        if inner.is_some_and(carries_rejection) {
            return Outcome::Ignored;
        }
        let kind = match self.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => return server(self),
            // The value is there, and is not what was asked for.
            ErrorKind::UnexpectedReturnType => return Outcome::Business,
            ErrorKind::Io => lost(inner),
            ErrorKind::AuthenticationFailed
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::MasterNameNotFoundBySentinel
            | ErrorKind::NoValidReplicasFoundBySentinel => FailureKind::Connect,
            ErrorKind::Parse | ErrorKind::RESP3NotSupported => FailureKind::Protocol,
            _ => FailureKind::Other,
        };
        Outcome::Failure(kind)
    }
}

/// What the error was made of. It is shared, and `source` shows the pointer instead of what it points to.
fn inner(error: &RedisError) -> Option<&(dyn Error + 'static)> {
    let source = error.source()?;
    Some(match source.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(shared) => &**shared,
        None => source,
    })
}

fn lost(inner: Option<&(dyn Error + 'static)>) -> FailureKind {
    match inner.and_then(<dyn Error>::downcast_ref::<io::Error>) {
        Some(error) => kind_on_a_connection(error),
        // The client lost its connection and says so in words, or could not look up a name.
        None => FailureKind::Connect,
    }
}

fn server(error: &RedisError) -> Outcome {
    // One answer carries its code; those of a pipeline are behind a pointer, which is what is cloned here.
    match error.code() {
        Some(code) if error.kind() != ErrorKind::Server(ServerErrorKind::ExecAbort) => coded(code, error.detail()),
        _ => {
            let Some(all) = error.clone().into_server_errors() else {
                return Outcome::Business;
            };
            let said = all
                .iter()
                .map(|(_, error): &(usize, ServerError)| coded(error.code(), error.details()));
            said.fold(
                Outcome::Business,
                |kept, next| {
                    if kept == Outcome::Business { next } else { kept }
                },
            )
        }
    }
}

fn coded(code: &str, detail: Option<&str>) -> Outcome {
    let kind = match code {
        // Some keys of the command are on their way to another node.
        "TRYAGAIN" => return Outcome::Throttled { retry_after: None },
        "LOADING" | "BUSY" | "OOM" | "MISCONF" | "READONLY" | "MOVED" | "ASK" | "CLUSTERDOWN" | "MASTERDOWN"
        | "NOREPLICAS" | "NOGOODSLAVE" | "UNKILLABLE" => FailureKind::Server,
        // Not let in: no password, a wrong one, protected mode.
        "NOAUTH" | "WRONGPASS" | "DENIED" => FailureKind::Connect,
        "ERR" if detail.is_some_and(|detail| detail.starts_with("max number of clients")) => FailureKind::Connect,
        _ => return Outcome::Business,
    };
    Outcome::Failure(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::rejection::{Reason, Rejection};

    fn answered(line: &str) -> RedisError {
        let answer = ::redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        answer.extract_error().unwrap_err()
    }

    fn failure(kind: FailureKind) -> Outcome {
        Outcome::Failure(kind)
    }

    #[test]
    fn a_server_that_cannot_serve_failed() {
        for line in [
            "LOADING Redis is loading the dataset in memory",
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
            "READONLY You can't write against a read only replica.",
            "MOVED 3999 127.0.0.1:6381",
            "ASK 3999 127.0.0.1:6381",
            "CLUSTERDOWN The cluster is down",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "NOREPLICAS Not enough good replicas to write.",
        ] {
            assert_eq!(answered(line).classify(), failure(FailureKind::Server), "{line}");
        }
    }

    #[test]
    fn a_server_that_does_not_let_us_in_is_connect() {
        for line in [
            "NOAUTH Authentication required.",
            "WRONGPASS invalid username-password pair or user is disabled.",
            "DENIED Redis is running in protected mode",
            "ERR max number of clients reached",
        ] {
            assert_eq!(answered(line).classify(), failure(FailureKind::Connect), "{line}");
        }
    }

    #[test]
    fn a_command_that_is_refused_as_such_is_business() {
        for line in [
            "ERR unknown command 'GTE'",
            "ERR value is not an integer or out of range",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "NOSCRIPT No matching script. Please use EVAL.",
            "NOPERM this user has no permissions to run the 'flushall' command",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "EXECABORT Transaction discarded because of previous errors.",
            "SOLDOUT a code of the user's own script",
        ] {
            assert_eq!(answered(line).classify(), Outcome::Business, "{line}");
        }
    }

    #[test]
    fn keys_on_the_move_are_worth_another_attempt() {
        let error = answered("TRYAGAIN Multiple keys request during rehashing of slot");
        assert_eq!(error.classify(), Outcome::Throttled { retry_after: None });
    }

    #[test]
    fn a_connection_that_broke_says_how() {
        let kinds = [
            (io::ErrorKind::ConnectionRefused, FailureKind::Connect),
            (io::ErrorKind::BrokenPipe, FailureKind::Connect),
            (io::ErrorKind::UnexpectedEof, FailureKind::Connect),
            (io::ErrorKind::HostUnreachable, FailureKind::Connect),
            (io::ErrorKind::NotFound, FailureKind::Connect),
            (io::ErrorKind::TimedOut, FailureKind::Timeout),
            (io::ErrorKind::WouldBlock, FailureKind::Timeout),
        ];
        for (kind, expected) in kinds {
            let error = RedisError::from(io::Error::from(kind));
            assert_eq!(error.classify(), failure(expected), "{kind}");
        }
    }

    #[test]
    fn what_the_client_says_by_itself() {
        let kinds = [
            (ErrorKind::Io, failure(FailureKind::Connect)),
            (ErrorKind::AuthenticationFailed, failure(FailureKind::Connect)),
            (ErrorKind::ClusterConnectionNotFound, failure(FailureKind::Connect)),
            (ErrorKind::Parse, failure(FailureKind::Protocol)),
            (ErrorKind::InvalidClientConfig, failure(FailureKind::Other)),
            (ErrorKind::Client, failure(FailureKind::Other)),
            (ErrorKind::UnexpectedReturnType, Outcome::Business),
        ];
        for (kind, expected) in kinds {
            assert_eq!(RedisError::from((kind, "by itself")).classify(), expected, "{kind:?}");
        }
    }

    #[test]
    fn one_that_carries_a_rejection_is_ignored() {
        let rejection = Rejection::new(Identity::intern("redis", None, None), Reason::TimedOut, None);
        let error = RedisError::from(io::Error::from(rejection));
        assert_eq!(error.classify(), Outcome::Ignored);
    }
}
