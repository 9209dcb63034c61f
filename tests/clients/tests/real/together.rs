//! One error type over several clients: what each says is taken over, and written nowhere again.

use std::io;
use std::sync::Arc;

use redis::RedisError;
use resilience_runtime::{Classify, Failure, Outcome, Policy, Reason, Rejection, Runtime};
use tonic::Status;

use crate::{CONNECT, TIMEOUT};

#[derive(Debug, Classify)]
enum ReadError {
    #[classify(transparent)]
    Cache(RedisError),
    /// Shared with everybody who waited for the same row.
    #[classify(transparent)]
    Ledger(Arc<sqlx::Error>),
    #[classify(transparent)]
    Far(Failure<Status>),
    #[classify(transparent)]
    Code(tonic::Code),
    #[classify(transparent)]
    Page(http::StatusCode),
    #[classify(business)]
    NoSuchShow,
    #[classify(ignored)]
    Refused(Rejection),
}

impl From<Rejection> for ReadError {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

#[test]
fn the_derive_takes_over_what_each_client_says() {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let said = [
        (ReadError::Cache(refused().into()), CONNECT),
        (ReadError::Ledger(Arc::new(sqlx::Error::Io(refused()))), CONNECT),
        (ReadError::Ledger(Arc::new(sqlx::Error::RowNotFound)), Outcome::Business),
        (ReadError::Far(Status::deadline_exceeded("late").into()), TIMEOUT),
        (ReadError::Code(tonic::Code::NotFound), Outcome::Business),
        (ReadError::Page(http::StatusCode::REQUEST_TIMEOUT), TIMEOUT),
        (ReadError::NoSuchShow, Outcome::Business),
    ];
    for (error, expected) in said {
        assert_eq!(error.classify(), expected, "{error:?}");
    }
}

#[tokio::test]
async fn a_rejection_of_a_nested_guard_is_ignored_through_every_client() {
    let policy = "version = 1\n[dependency.inner]\nfail = \"closed\"\nmode = \"isolate\"\n";
    let inner = Runtime::new(Policy::from_toml(policy).unwrap()).guard("inner").unwrap();
    let rejected = async || {
        let refused = inner.call(async || Ok::<(), io::Error>(())).await.unwrap_err();
        refused.rejection().unwrap().clone()
    };
    let through_io = async || io::Error::from(rejected().await);
    let said = [
        ReadError::Cache(through_io().await.into()),
        ReadError::Ledger(Arc::new(sqlx::Error::Io(through_io().await))),
        ReadError::Far(Status::from_error(Box::new(rejected().await)).into()),
        ReadError::Far(rejected().await.into()),
        rejected().await.into(),
    ];
    for error in said {
        assert_eq!(error.classify(), Outcome::Ignored, "{error:?}");
        if let ReadError::Refused(rejection) = error {
            assert_eq!(rejection.reason(), Reason::Isolated);
        }
    }
}
