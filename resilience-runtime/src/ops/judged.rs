//! Any `Result`, with somebody who says what an answer counts as. What a guard and a layer know of their answers: no
//! fallback stands behind them, so a rejection stays one.

use std::marker::PhantomData;

use super::Answers;
use crate::outcome::{Classify, Outcome};

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

impl<J: Judge<T, E>, T, E> Answers for Judged<J, T, E> {
    type Return = Result<T, E>;

    #[inline]
    fn judge(self, answer: &Result<T, E>) -> Outcome {
        self.0.judge(answer)
    }
}
