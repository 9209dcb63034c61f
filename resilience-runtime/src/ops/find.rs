//! Finds the abilities of a return type: by its own traits, or by the `classify` of an attribute.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use super::bound::{FromRejection, Judges};
use super::{Mark, Ops, PlainOps, ResultOps};
use crate::outcome::{Classify, Outcome};
use crate::served::Served;

/// A return type that needs nothing but its own traits.
#[diagnostic::on_unimplemented(
    message = "a guarded function returns a `Result`, and `{Self}` is none",
    label = "this is not a `Result`",
    note = "return a `Result`, or give the attribute `classify = path` and end the chain with `#[fallback(value = …)]`"
)]
pub trait Guarded<How>: Sized {
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

impl<T, E: FromRejection<How>, How: Judges<E>> Guarded<How> for Result<T, E> {
    type Ops = ResultOps<T, E>;

    fn ops() -> ResultOps<T, E> {
        ResultOps {
            judge: How::judge,
            reject: Some(E::from_rejection),
            mark: None,
        }
    }
}

impl<T, E: Classify> GuardedRefusing for Result<T, E> {
    type Ops = ResultOps<T, E>;

    fn ops_refusing() -> ResultOps<T, E> {
        ResultOps {
            judge: judge_error,
            reject: None,
            mark: None,
        }
    }
}

pub(super) fn judge_error<T, E: Classify>(answer: &Result<T, E>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Success,
        Err(error) => error.classify(),
    }
}

/// The abilities of `R`. The one bound of a guarded function, called as `ops::<R, _, _>()`: with `R::Ops` for a return
/// type rustc would report a wrong `R` twice, once as an argument and once inside that projection.
pub fn ops<R: Guarded<How, Ops = O>, O, How>() -> O {
    R::ops()
}

/// The same where the chain ends in `refuse`.
pub fn ops_refusing<R: GuardedRefusing<Ops = O>, O>() -> O {
    R::ops_refusing()
}

/// The abilities of what a body gives, where `impl Trait` keeps the return type from being written.
pub fn ops_of<F: Future<Output: Guarded<How, Ops = O>>, O, How>(_: &F) -> O {
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
    pub fn ops<How>(self, classify: fn(&Result<T, E>) -> Outcome) -> ResultOps<T, E>
    where
        E: FromRejection<How>,
    {
        ResultOps {
            judge: classify,
            reject: Some(E::from_rejection),
            mark: None,
        }
    }

    /// The same where the chain ends in `refuse`.
    pub fn ops_refusing(self, classify: fn(&Result<T, E>) -> Outcome) -> ResultOps<T, E> {
        ResultOps {
            judge: classify,
            reject: None,
            mark: None,
        }
    }
}

/// Finds the abilities of everything that is no `Result`.
pub trait PickPlain<R>: Sized {
    /// Of a return type that is no `Result`.
    fn ops(self, classify: fn(&R) -> Outcome) -> PlainOps<R> {
        PlainOps {
            judge: classify,
            mark: None,
        }
    }

    /// The same where the chain ends in `refuse`.
    fn ops_refusing(self, classify: fn(&R) -> Outcome) -> PlainOps<R> {
        PlainOps {
            judge: classify,
            mark: None,
        }
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
