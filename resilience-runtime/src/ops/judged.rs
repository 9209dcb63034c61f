//! Any `Result`, with somebody who says what an answer counts as. What a guard and a layer know of their answers: no
//! fallback stands behind them, so a rejection stays one.

use std::marker::PhantomData;

use super::Ops;
use crate::outcome::{Classify, Outcome};
use crate::rejection::Rejection;
use crate::served::Freshness;

/// Says what an answer counts as.
pub trait Judge<T, E>: Copy {
    /// The outcome of one attempt.
    fn judge(&self, answer: &Result<T, E>) -> Outcome;
}

/// An answer is a success, an error is what its type says.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByError(());

impl<T, E: Classify> Judge<T, E> for ByError {
    #[inline]
    fn judge(&self, answer: &Result<T, E>) -> Outcome {
        match answer {
            Ok(_) => Outcome::Success,
            Err(error) => error.classify(),
        }
    }
}

/// A judge as the guard asks it.
pub(crate) struct Judged<J, T, E>(J, PhantomData<fn() -> (T, E)>);

impl<J, T, E> Judged<J, T, E> {
    #[inline]
    pub(crate) fn new(judge: J) -> Self {
        Self(judge, PhantomData)
    }
}

impl<J: Copy, T, E> Clone for Judged<J, T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J: Copy, T, E> Copy for Judged<J, T, E> {}

impl<J: Judge<T, E>, T, E> Ops for Judged<J, T, E> {
    type Return = Result<T, E>;
    type Value = T;
    type Error = E;
    const PLAIN: bool = false;

    #[inline]
    fn judge(self, answer: &Result<T, E>) -> Outcome {
        self.0.judge(answer)
    }

    fn succeed(self, value: T) -> Result<T, E> {
        Ok(value)
    }

    fn fail(self, error: E) -> Result<T, E> {
        Err(error)
    }

    fn reject(self, _: Rejection) -> Option<Result<T, E>> {
        None
    }

    fn into_error(self, answer: Result<T, E>) -> Result<E, Result<T, E>> {
        match answer {
            Ok(value) => Err(Ok(value)),
            Err(error) => Ok(error),
        }
    }

    fn success(answer: &Result<T, E>) -> Option<&T> {
        answer.as_ref().ok()
    }

    fn answered(self, answer: Result<T, E>) -> Result<Result<T, E>, E> {
        answer.map(Ok)
    }

    fn mark(self, _: &mut Result<T, E>, _: Freshness) {}
}
