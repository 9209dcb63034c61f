//! Whether a request can be sent again.

use std::fmt;

/// Makes the request of the next attempt.
pub trait Repeat<Request> {
    /// The same request once more, or `None` where it cannot be sent twice.
    fn copy(&self, request: &Request) -> Option<Request>;
}

/// One attempt, whatever the policy says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Once(());

impl<Request> Repeat<Request> for Once {
    fn copy(&self, _: &Request) -> Option<Request> {
        None
    }
}

/// A function makes the copy.
#[derive(Clone, Copy)]
pub struct Repeated<F>(F);

impl<F> Repeated<F> {
    pub(super) fn new(copy: F) -> Self {
        Self(copy)
    }
}

impl<Request, F: Fn(&Request) -> Option<Request>> Repeat<Request> for Repeated<F> {
    fn copy(&self, request: &Request) -> Option<Request> {
        (self.0)(request)
    }
}

impl<F> fmt::Debug for Repeated<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Repeated")
    }
}
