//! Which runtime is meant: the scope's, else the process's.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::task::futures::TaskLocalFuture;

use super::Runtime;
use crate::init::InitError;

tokio::task_local! {
    static SCOPE: Runtime;
}

static PROCESS: OnceLock<Runtime> = OnceLock::new();
/// Whether any scope was ever made: a service has none, and its calls do not look for one.
static SCOPED: AtomicBool = AtomicBool::new(false);
/// The last moment that a runtime saw without a call paying for it; 0 before the first.
static SEEN: AtomicU64 = AtomicU64::new(0);

pin_project_lite::pin_project! {
    /// The future of [`Runtime::scope`]. It borrows nothing of the runtime.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Scope<F> {
        #[pin]
        inner: TaskLocalFuture<Runtime, F>,
    }
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}

pub(super) fn scope<F: Future>(runtime: Runtime, future: F) -> Scope<F> {
    SCOPED.store(true, Ordering::Relaxed);
    Scope {
        inner: SCOPE.scope(runtime, future),
    }
}

/// Whether this call lives in a scope.
#[inline]
pub(crate) fn is_scoped() -> bool {
    SCOPED.load(Ordering::Relaxed) && SCOPE.try_with(|_| ()).is_ok()
}

pub(crate) fn scoped() -> Option<Runtime> {
    if !SCOPED.load(Ordering::Relaxed) {
        return None;
    }
    SCOPE.try_with(Runtime::clone).ok()
}

pub(crate) fn installed() -> Option<&'static Runtime> {
    PROCESS.get()
}

pub(super) fn install(runtime: &Runtime) -> Result<(), InitError> {
    let mut mine = false;
    PROCESS.get_or_init(|| {
        mine = true;
        runtime.inner.installed.store(true, Ordering::Relaxed);
        runtime.clone()
    });
    if mine { Ok(()) } else { Err(InitError::second()) }
}

#[cfg(not(feature = "testing"))] // with tokio's clock every call reads the time itself
#[inline]
pub(crate) fn last_seen() -> Option<u64> {
    Some(SEEN.load(Ordering::Relaxed)).filter(|seen| *seen != 0)
}

/// Somebody who had the time anyway says what it is.
pub(crate) fn see(now: u64) {
    SEEN.fetch_max(now, Ordering::Relaxed);
}
