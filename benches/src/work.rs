//! The work that every row does: a future that is ready when it is first polled.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use resilience_runtime::{Classify, FailureKind, Outcome, Rejection};

/// How long one attempt may take, for everybody.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// How long an open breaker stays open, for everybody: longer than any run.
pub const COOLDOWN: Duration = Duration::from_hours(24);

/// Slots of every bulkhead.
pub const SLOTS: usize = 20;

/// What the work gives.
pub type Answer = Result<u32, Failed>;

/// Its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work failed")
    }
}

impl std::error::Error for Failed {}

impl Classify for Failed {
    fn classify(&self) -> Outcome {
        Outcome::Failure(FailureKind::Server)
    }
}

impl From<Rejection> for Failed {
    fn from(_: Rejection) -> Self {
        Self
    }
}

/// The work. It fails when asked to.
#[allow(clippy::unused_async)] // it stands for one that waits
pub async fn answer(fail: bool) -> Answer {
    if fail { Err(Failed) } else { Ok(1) }
}

/// Polls a future until it is ready, which is its first poll but where two threads meet at an async lock: no executor
/// is in the numbers, and a peer that waits for a lock does not pay for sleeping.
#[inline]
pub fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::hint::spin_loop();
    }
}

/// Fails once in a hundred calls: the windows are never only good.
#[derive(Debug, Default, Clone)]
pub struct NowAndThen(u32);

impl NowAndThen {
    /// Whether the next call fails.
    #[inline]
    pub fn fails(&mut self) -> bool {
        self.0 = if self.0 == 99 { 0 } else { self.0 + 1 };
        self.0 == 0
    }
}
