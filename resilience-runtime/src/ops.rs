//! What a guarded function's return type can do, found by types and never by name.
//!
//! The abilities are function pointers, filled in where the one bound stands. A type parameter per ability would need
//! its bounds again wherever the value is used, and each of them would be an error of its own in a function that is
//! wrong in one thing only.

mod bound;
mod find;
#[cfg_attr(not(feature = "tower"), allow(unreachable_pub))] // only layers show them
mod judged;

use std::fmt;

pub use find::{
    Guarded, GuardedRefusing, MarkNone, Marker, Pick, PickPlain, ops, ops_of, ops_refusing, ops_refusing_of, pick,
    pick_of, served, served_of,
};

pub(crate) use judged::Judged;
#[cfg_attr(not(feature = "tower"), allow(unreachable_pub))] // as above
pub use judged::{ByError, Judge};

use crate::outcome::Outcome;
use crate::rejection::Rejection;
use crate::served::Freshness;

/// How one attempt of a loop ended.
#[derive(Debug)]
pub enum Turn<R> {
    /// The pause is over: run the body again.
    Again,
    /// That was the last one.
    End(End<R>),
}

/// How the attempts of a call ended.
#[derive(Debug)]
pub enum End<R> {
    /// An answer, a business one included: the caller's as it is.
    Value(R),
    /// The dependency did not do its work: for the chain.
    Failed(R),
    /// We refused the call or cut it short: for the chain.
    Rejected(Rejection),
}

/// Says what an answer counts as: all that a guard asks of its caller.
pub trait Answers: Copy {
    /// The return type.
    type Return;

    /// What an answer of the body says about the dependency.
    fn judge(self, answer: &Self::Return) -> Outcome;
}

/// What an attempt needs of the abilities. One pointer: what is longer than a word is put together from several writes,
/// and a processor that copies it right after them has to wait for them.
pub struct Asks<R>(fn(&R) -> Outcome);

impl<R> Answers for Asks<R> {
    type Return = R;

    #[inline]
    fn judge(self, answer: &R) -> Outcome {
        (self.0)(answer)
    }
}

/// What the return type of a guarded function can do, for its fallbacks.
pub trait Ops: Answers {
    /// What `value` makes: the success.
    type Value;
    /// What `refuse` makes and `with` takes: the error, or the return type itself where that is no `Result`.
    type Error;
    /// Whether an error cannot be told from an answer, so that some form has to answer.
    const PLAIN: bool;

    /// What an attempt needs of this.
    fn asks(self) -> Asks<Self::Return>;
    /// The return value of a success.
    fn succeed(self, value: Self::Value) -> Self::Return;
    /// The return value of an error.
    fn fail(self, error: Self::Error) -> Self::Return;
    /// The return value of a rejection; `None` where the error type is not made from one.
    fn reject(self, rejection: Rejection) -> Option<Self::Return>;
    /// The error of a failed answer, or the answer back where it holds none.
    ///
    /// # Errors
    /// The answer itself, when it is a success that `classify` judged to be a failure.
    fn into_error(self, answer: Self::Return) -> Result<Self::Error, Self::Return>;
    /// The success of an answer.
    fn success(answer: &Self::Return) -> Option<&Self::Value>;
    /// What a fallback gave, as an answer or an error.
    ///
    /// # Errors
    /// The error, which is not an answer and lets the chain go on.
    fn answered(self, answer: Self::Return) -> Result<Self::Return, Self::Error>;
    /// Writes into an answer how it came about, where its type has room for that.
    fn mark(self, answer: &mut Self::Return, freshness: Freshness);
}

/// How a mark is written into `R`.
pub(crate) type Mark<R> = Option<fn(&mut R, Freshness)>;

/// A return type that has errors.
#[diagnostic::on_unimplemented(
    message = "the fallbacks of a function that does not return a `Result` have to end in an answer",
    label = "this cannot be the last form here",
    note = "end the chain with `#[fallback(value = …)]`, or return a `Result`"
)]
pub trait Refuses: Ops {}

/// The abilities of `Result<T, E>`.
pub struct ResultOps<T, E> {
    judge: fn(&Result<T, E>) -> Outcome,
    reject: Option<fn(Rejection) -> E>,
    mark: Mark<Result<T, E>>,
}

impl<T, E> ResultOps<T, E> {
    /// The same, with a place for the mark of freshness.
    #[must_use]
    pub fn marking(self, mark: Mark<Result<T, E>>) -> Self {
        Self { mark, ..self }
    }
}

impl<T, E> Refuses for ResultOps<T, E> {}

impl<T, E> Answers for ResultOps<T, E> {
    type Return = Result<T, E>;

    fn judge(self, answer: &Result<T, E>) -> Outcome {
        (self.judge)(answer)
    }
}

impl<T, E> Ops for ResultOps<T, E> {
    type Value = T;
    type Error = E;
    const PLAIN: bool = false;

    #[inline]
    fn asks(self) -> Asks<Result<T, E>> {
        Asks(self.judge)
    }

    fn succeed(self, value: T) -> Result<T, E> {
        Ok(value)
    }

    fn fail(self, error: E) -> Result<T, E> {
        Err(error)
    }

    fn reject(self, rejection: Rejection) -> Option<Result<T, E>> {
        self.reject.map(|make| Err(make(rejection)))
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

    fn mark(self, answer: &mut Result<T, E>, freshness: Freshness) {
        if let Some(mark) = self.mark {
            mark(answer, freshness);
        }
    }
}

/// The abilities of a return type that is no `Result`.
pub struct PlainOps<R> {
    judge: fn(&R) -> Outcome,
    mark: Mark<R>,
}

impl<R> PlainOps<R> {
    /// The same, with a place for the mark of freshness.
    #[must_use]
    pub fn marking(self, mark: Mark<R>) -> Self {
        Self { mark, ..self }
    }
}

impl<R> Answers for PlainOps<R> {
    type Return = R;

    fn judge(self, answer: &R) -> Outcome {
        (self.judge)(answer)
    }
}

impl<R> Ops for PlainOps<R> {
    type Value = R;
    type Error = R;
    const PLAIN: bool = true;

    #[inline]
    fn asks(self) -> Asks<R> {
        Asks(self.judge)
    }

    fn succeed(self, value: R) -> R {
        value
    }

    fn fail(self, error: R) -> R {
        error
    }

    fn reject(self, _: Rejection) -> Option<R> {
        None
    }

    fn into_error(self, answer: R) -> Result<R, R> {
        Ok(answer)
    }

    fn success(answer: &R) -> Option<&R> {
        Some(answer)
    }

    fn answered(self, answer: R) -> Result<R, R> {
        Ok(answer)
    }

    fn mark(self, answer: &mut R, freshness: Freshness) {
        if let Some(mark) = self.mark {
            mark(answer, freshness);
        }
    }
}

// Written out, because deriving them would ask the same of `T` and `E`.
impl<T, E> Clone for ResultOps<T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E> Copy for ResultOps<T, E> {}

impl<T, E> fmt::Debug for ResultOps<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultOps").finish_non_exhaustive()
    }
}

impl<R> Clone for PlainOps<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for PlainOps<R> {}

impl<R> Clone for Asks<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Asks<R> {}

impl<R> fmt::Debug for PlainOps<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainOps").finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Asks<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}
