//! What an answer says about the one who gave it.

use std::time::Duration;

pub use resilience_policy::FailureKind;

/// What one run of a guarded body means for its dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The dependency did its work.
    Success,
    /// The dependency answered, and the answer is no: a declined card, a missing record.
    Business,
    /// The dependency did not do its work.
    Failure(FailureKind),
    /// The dependency asked us to come back later.
    Throttled {
        /// When it said to come back.
        retry_after: Option<Duration>,
    },
    /// Nothing is known about the dependency: a nested guard rejected, or we gave up ourselves.
    Ignored,
}

impl Outcome {
    /// The word used in JSON, labels and events; of a failure, its kind.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Business => "business",
            Self::Failure(kind) => kind.as_str(),
            Self::Throttled { .. } => "throttled",
            Self::Ignored => "ignored",
        }
    }
}

/// An error that knows what it says about the dependency. Implemented by the error type of a guarded function, by
/// hand or with `#[derive(Classify)]`.
///
/// ```
/// use resilience_runtime::{Classify, FailureKind, Outcome};
///
/// enum PayError {
///     Declined,
///     Unreachable,
/// }
///
/// impl Classify for PayError {
///     fn classify(&self) -> Outcome {
///         match self {
///             Self::Declined => Outcome::Business,
///             Self::Unreachable => Outcome::Failure(FailureKind::Connect),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `Classify`: nobody knows which of its errors are failures",
    label = "this error type does not say what it means",
    note = "write `#[derive(Classify)]` on `{Self}` with `use resilience_runtime::Classify;` and mark each variant, or give the attribute `classify = path`",
    note = "for an error of another crate, return `Result<_, resilience_runtime::Failure<…>>` where that one is classified"
)]
pub trait Classify {
    /// What this error says about the dependency.
    fn classify(&self) -> Outcome;
}

impl<E: Classify + ?Sized> Classify for &E {
    fn classify(&self) -> Outcome {
        (**self).classify()
    }
}

impl<E: Classify + ?Sized> Classify for Box<E> {
    fn classify(&self) -> Outcome {
        (**self).classify()
    }
}

impl<E: Classify + ?Sized> Classify for std::sync::Arc<E> {
    fn classify(&self) -> Outcome {
        (**self).classify()
    }
}

impl Classify for std::convert::Infallible {
    fn classify(&self) -> Outcome {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Classify for Broken {
        fn classify(&self) -> Outcome {
            Outcome::Failure(FailureKind::Protocol)
        }
    }

    #[test]
    fn a_pointer_to_an_error_is_of_its_class() {
        assert_eq!(Broken.classify().word(), "protocol");
        assert_eq!(<&Broken as Classify>::classify(&&Broken), Broken.classify());
        assert_eq!(Box::new(Broken).classify(), Broken.classify());
        let shared: std::sync::Arc<dyn Classify> = std::sync::Arc::new(Broken);
        assert_eq!(shared.classify(), Broken.classify());
    }

    #[test]
    fn words_are_those_of_the_metrics() {
        let all = [
            (Outcome::Success, "success"),
            (Outcome::Business, "business"),
            (Outcome::Failure(FailureKind::Timeout), "timeout"),
            (Outcome::Throttled { retry_after: None }, "throttled"),
            (Outcome::Ignored, "ignored"),
        ];
        for (outcome, word) in all {
            assert_eq!(outcome.word(), word);
        }
    }
}
