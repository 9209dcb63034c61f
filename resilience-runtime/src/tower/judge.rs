//! A judge that is a function of the user's.

use std::fmt;

use crate::ops::Judge;
use crate::outcome::Outcome;

/// A function of the whole answer says.
#[derive(Clone, Copy)]
pub struct ByAnswer<F>(F);

impl<F> ByAnswer<F> {
    pub(super) fn new(judge: F) -> Self {
        Self(judge)
    }
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome + Copy> Judge<T, E> for ByAnswer<F> {
    fn judge(&self, answer: &Result<T, E>) -> Outcome {
        (self.0)(answer)
    }
}

impl<F> fmt::Debug for ByAnswer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByAnswer")
    }
}
