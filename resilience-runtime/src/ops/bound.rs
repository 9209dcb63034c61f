//! What a guarded function asks of its error type, one thing after the other: one mistake, one message.

use super::find::judge_error;
use crate::outcome::{Classify, Outcome};
use crate::rejection::Rejection;

/// An error type that a rejection can become.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `From<Rejection>`: a rejected call has no error to return",
    label = "this error type cannot be made from a `Rejection`",
    note = "write `impl From<Rejection> for {Self} {{ … }}` with `use resilience_runtime::Rejection;`, or end the chain with `#[fallback(refuse = …)]`",
    note = "without an error type of your own, return `Result<_, resilience_runtime::Failure<…>>`"
)]
pub trait FromRejection<How>: Sized {
    /// The error of a rejected call.
    fn from_rejection(rejection: Rejection) -> Self;
}

/// Made by `From<Rejection>`: the one way there is.
#[derive(Debug)]
pub struct ByFrom(());

/// A second way, which nothing can take. With two ways rustc has to find out which of them holds, and says that none
/// does. With one it would take that one for granted, report what is missing for it, and go on to `Classify`: two errors
/// for one function.
#[derive(Debug)]
pub struct Never(());

/// Implemented by nothing.
pub trait Impossible {}

// The way out is in the message above; rustc's own would name `From` only.
#[diagnostic::do_not_recommend]
impl<E: From<Rejection>> FromRejection<ByFrom> for E {
    fn from_rejection(rejection: Rejection) -> Self {
        Self::from(rejection)
    }
}

#[diagnostic::do_not_recommend]
impl<E: Impossible> FromRejection<Never> for E {
    fn from_rejection(_: Rejection) -> Self {
        unreachable!("no type is `Impossible`")
    }
}

/// `Classify`, asked of an error type once it is known how a rejection becomes one.
pub trait Judges<E> {
    /// What an answer says about the dependency.
    fn judge<T>(answer: &Result<T, E>) -> Outcome;
}

impl<E: Classify> Judges<E> for ByFrom {
    fn judge<T>(answer: &Result<T, E>) -> Outcome {
        judge_error(answer)
    }
}

impl<E> Judges<E> for Never {
    fn judge<T>(_: &Result<T, E>) -> Outcome {
        Outcome::Ignored
    }
}
