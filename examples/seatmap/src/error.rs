//! What can go wrong with a read, and what it says about whom.

use std::sync::Arc;

use redis::RedisError;
use resilience_runtime::{Classify, Rejection};

/// `Clone`, because a fallback of `one_per` hands its error to everybody who waited for it.
#[derive(Clone, Debug, Classify)]
pub(crate) enum ReadError {
    /// Redis answered that it does not have it. No failure: the reader asks the database.
    #[classify(business)]
    NotCached,
    #[classify(business)]
    NoSuchShow,
    /// The operator asked us to leave the database alone.
    #[classify(ignored)]
    Spared,
    #[classify(transparent)]
    Redis(RedisError),
    #[classify(transparent)]
    Database(Arc<sqlx::Error>),
    #[classify(ignored)]
    #[expect(dead_code, reason = "printed when something goes wrong")]
    Refused(Rejection),
}

impl From<RedisError> for ReadError {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::RowNotFound => Self::NoSuchShow,
            error => Self::Database(Arc::new(error)),
        }
    }
}

impl From<Rejection> for ReadError {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}
