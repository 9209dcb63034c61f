//! What the errors and answers of common clients say about the far side.

mod io;

#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "reqwest")]
pub mod reqwest;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[cfg(feature = "tonic")]
pub mod tonic;

use std::time::Duration;

#[doc(hidden)] // for what `#[derive(Classify)]` writes
/// A field of an error that may say when to come back; what `#[classify(throttled(retry_after = FIELD))]` reads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when to come back",
    label = "`retry_after` names a field of this type",
    note = "give the field the type `Duration` or `Option<Duration>`"
)]
pub trait RetryAfter {
    /// When to come back, if it says.
    fn retry_after(&self) -> Option<Duration>;
}

impl RetryAfter for Duration {
    fn retry_after(&self) -> Option<Duration> {
        Some(*self)
    }
}

impl RetryAfter for Option<Duration> {
    fn retry_after(&self) -> Option<Duration> {
        *self
    }
}

impl<T: RetryAfter + ?Sized> RetryAfter for &T {
    fn retry_after(&self) -> Option<Duration> {
        (**self).retry_after()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_may_always_or_sometimes_say_when() {
        let time = Duration::from_secs(3);
        assert_eq!(time.retry_after(), Some(time));
        assert_eq!((&&Some(time)).retry_after(), Some(time));
        assert_eq!(None::<Duration>.retry_after(), None);
    }
}
