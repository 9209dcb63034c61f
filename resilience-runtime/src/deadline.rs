//! A deadline for everything inside a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::{self, NEVER, nanos};

tokio::task_local! {
    static DEADLINE: u64;
}

/// Whether any deadline was ever set: a service without any does not look for one on each call.
static USED: AtomicBool = AtomicBool::new(false);

pin_project_lite::pin_project! {
    /// The future of [`within`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Within<F> {
        end: u64,
        #[pin]
        inner: F,
    }
}

/// Sets a deadline, `duration` from now, for all guarded calls inside `future`.
///
/// A deadline that stands where it is polled and is earlier stays. The future itself is not cut: guarded calls
/// inside it are, as their policies say, and other code may read [`remaining`].
///
/// # Cancel safety
///
/// As cancel safe as `future`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use std::time::Duration;
/// use resilience_runtime::deadline;
///
/// let left = deadline::within(Duration::from_secs(2), async { deadline::remaining() }).await;
/// assert!(left.is_some_and(|left| left <= Duration::from_secs(2)));
/// assert_eq!(deadline::remaining(), None);
/// # }
/// ```
pub fn within<F: Future>(duration: Duration, future: F) -> Within<F> {
    if !USED.load(Ordering::Relaxed) {
        USED.store(true, Ordering::Relaxed);
    }
    Within {
        end: clock::now().saturating_add(nanos(duration)),
        inner: future,
    }
}

/// What is left until the deadline of [`within`]; `None` without one, zero when it has passed.
pub fn remaining() -> Option<Duration> {
    let end = current();
    (end != NEVER).then(|| Duration::from_nanos(end.saturating_sub(clock::now())))
}

/// The instant set by [`within`], else [`NEVER`].
#[inline]
pub(crate) fn current() -> u64 {
    if !USED.load(Ordering::Relaxed) {
        return NEVER;
    }
    DEADLINE.try_with(|end| *end).unwrap_or(NEVER)
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // The outer one is looked up here, not when this was made: it may have been made outside it.
        DEADLINE.sync_scope(current().min(*this.end), || this.inner.poll(cx))
    }
}
