//! What a guarded function's return type can do, found by types and never by name.
//!
//! The abilities are function pointers, filled in where the one bound stands. A type parameter per ability would need
//! its bounds again wherever the value is used, and each of them would be an error of its own in a function that is
//! wrong in one thing only.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use crate::outcome::{Classify, Outcome};
use crate::rejection::Rejection;
use crate::served::{Freshness, Served};

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

/// What the return type of a guarded function can do.
pub trait Ops: Copy {
    /// The return type.
    type Return;
    /// What `value` makes: the success.
    type Value;
    /// What `refuse` makes and `with` takes: the error, or the return type itself where that is no `Result`.
    type Error;
    /// Whether an error cannot be told from an answer, so that some form has to answer.
    const PLAIN: bool;

    /// What an answer of the body says about the dependency.
    fn judge(self, answer: &Self::Return) -> Outcome;
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

impl<T, E> Ops for ResultOps<T, E> {
    type Return = Result<T, E>;
    type Value = T;
    type Error = E;
    const PLAIN: bool = false;

    fn judge(self, answer: &Result<T, E>) -> Outcome {
        (self.judge)(answer)
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

impl<R> Ops for PlainOps<R> {
    type Return = R;
    type Value = R;
    type Error = R;
    const PLAIN: bool = true;

    fn judge(self, answer: &R) -> Outcome {
        (self.judge)(answer)
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

impl<R> fmt::Debug for PlainOps<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainOps").finish_non_exhaustive()
    }
}

/// An error type that a rejection can become.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `From<Rejection>`: a rejected call has no error to return",
    label = "this error type cannot be made from a `Rejection`",
    note = "write `impl From<Rejection> for {Self} {{ … }}` with `use resilience_runtime::Rejection;`, or end the chain with `#[fallback(refuse = …)]`",
    note = "without an error type of your own, return `Result<_, resilience_runtime::Failure<…>>`"
)]
pub trait FromRejection: Sized {
    /// The error of a rejected call.
    fn from_rejection(rejection: Rejection) -> Self;
}

// The way out is in the message above; rustc's own would name `From` only.
#[diagnostic::do_not_recommend]
impl<E: From<Rejection>> FromRejection for E {
    fn from_rejection(rejection: Rejection) -> Self {
        Self::from(rejection)
    }
}

/// A return type that needs nothing but its own traits.
#[diagnostic::on_unimplemented(
    message = "a guarded function returns a `Result`, and `{Self}` is none",
    label = "this is not a `Result`",
    note = "return a `Result`, or give the attribute `classify = path` and end the chain with `#[fallback(value = …)]`"
)]
pub trait Guarded: Sized {
    /// What it can do.
    type Ops: Ops<Return = Self>;
    /// What it can do.
    fn ops() -> Self::Ops;
}

/// The same where the chain ends in `refuse`, which makes the error of a rejected call.
#[diagnostic::on_unimplemented(
    message = "a guarded function returns a `Result`, and `{Self}` is none",
    label = "this is not a `Result`",
    note = "return a `Result`, or give the attribute `classify = path` and end the chain with `#[fallback(value = …)]`"
)]
pub trait GuardedRefusing: Sized {
    /// What it can do.
    type Ops: Ops<Return = Self>;
    /// What it can do.
    fn ops_refusing() -> Self::Ops;
}

impl<T, E: Classify + FromRejection> Guarded for Result<T, E> {
    type Ops = ResultOps<T, E>;

    fn ops() -> ResultOps<T, E> {
        ResultOps { judge: judge_error, reject: Some(E::from_rejection), mark: None }
    }
}

impl<T, E: Classify> GuardedRefusing for Result<T, E> {
    type Ops = ResultOps<T, E>;

    fn ops_refusing() -> ResultOps<T, E> {
        ResultOps { judge: judge_error, reject: None, mark: None }
    }
}

fn judge_error<T, E: Classify>(answer: &Result<T, E>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Success,
        Err(error) => error.classify(),
    }
}

/// The abilities of `R`. The one bound of a guarded function, called as `ops::<R, _>()`: with `R::Ops` for a return type
/// rustc would report a wrong `R` twice, once as an argument and once inside that projection.
pub fn ops<R: Guarded<Ops = O>, O>() -> O {
    R::ops()
}

/// The same where the chain ends in `refuse`.
pub fn ops_refusing<R: GuardedRefusing<Ops = O>, O>() -> O {
    R::ops_refusing()
}

/// The abilities of what a body gives, where `impl Trait` keeps the return type from being written.
pub fn ops_of<F: Future<Output: Guarded<Ops = O>>, O>(_: &F) -> O {
    F::Output::ops()
}

/// The same where the chain ends in `refuse`.
pub fn ops_refusing_of<F: Future<Output: GuardedRefusing<Ops = O>>, O>(_: &F) -> O {
    F::Output::ops_refusing()
}

/// Finds the abilities of `R` when the attribute says how to classify.
pub struct Pick<R>(PhantomData<fn() -> R>);

/// The abilities of `R` with `classify = path`.
pub fn pick<R>() -> Pick<R> {
    Pick(PhantomData)
}

/// The same by what a body gives.
pub fn pick_of<F: Future>(_: &F) -> Pick<F::Output> {
    Pick(PhantomData)
}

impl<T, E> Pick<Result<T, E>> {
    /// Of a `Result`; found before the trait's method, because it is inherent.
    pub fn ops(self, classify: fn(&Result<T, E>) -> Outcome) -> ResultOps<T, E>
    where
        E: FromRejection,
    {
        ResultOps { judge: classify, reject: Some(E::from_rejection), mark: None }
    }

    /// The same where the chain ends in `refuse`.
    pub fn ops_refusing(self, classify: fn(&Result<T, E>) -> Outcome) -> ResultOps<T, E> {
        ResultOps { judge: classify, reject: None, mark: None }
    }
}

/// Finds the abilities of everything that is no `Result`.
pub trait PickPlain<R>: Sized {
    /// Of a return type that is no `Result`.
    fn ops(self, classify: fn(&R) -> Outcome) -> PlainOps<R> {
        PlainOps { judge: classify, mark: None }
    }

    /// The same where the chain ends in `refuse`.
    fn ops_refusing(self, classify: fn(&R) -> Outcome) -> PlainOps<R> {
        PlainOps { judge: classify, mark: None }
    }
}

impl<R> PickPlain<R> for Pick<R> {}

/// Finds the place for the mark of freshness in `R`.
pub struct Marker<R>(PhantomData<fn() -> R>);

/// The place for the mark of freshness in `R`.
pub fn served<R>() -> Marker<R> {
    Marker(PhantomData)
}

/// The same by what a body gives.
pub fn served_of<F: Future>(_: &F) -> Marker<F::Output> {
    Marker(PhantomData)
}

/// How a mark is written into `R`.
pub(crate) type Mark<R> = Option<fn(&mut R, Freshness)>;

impl<T, E> Marker<Result<Served<T>, E>> {
    /// Of a `Result<Served<T>, E>`; found before the trait's method, because it is inherent.
    pub fn mark(self) -> Mark<Result<Served<T>, E>> {
        Some(|answer, freshness| {
            if let Ok(served) = answer {
                served.freshness = freshness;
            }
        })
    }
}

impl<T> Marker<Served<T>> {
    /// Of a bare `Served<T>`.
    pub fn mark(self) -> Mark<Served<T>> {
        Some(|served, freshness| served.freshness = freshness)
    }
}

/// Finds that there is no such place.
pub trait MarkNone<R>: Sized {
    /// Of everything else.
    fn mark(self) -> Mark<R> {
        None
    }
}

impl<R> MarkNone<R> for Marker<R> {}

impl<R> fmt::Debug for Pick<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pick")
    }
}

impl<R> fmt::Debug for Marker<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Marker")
    }
}
