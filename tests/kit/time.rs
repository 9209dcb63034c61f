//! Virtual time, and many calls at once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The test's own zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zero: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { zero: Instant::now() }
    }

    /// What has passed.
    pub(crate) fn now(self) -> Duration {
        self.zero.elapsed()
    }

    /// Waits until so much has passed.
    pub(crate) fn at(self, moment: Duration) -> Sleep {
        sleep_until(self.zero + moment)
    }
}

/// Lets every task that can run do so, without time passing.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// Polls a future once.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Runs futures at once inside this task, so that scopes and records hold for them; gives their outputs in order.
pub(crate) async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    let all = poll_fn(|cx| {
        for (future, output) in running.iter_mut().zip(&mut outputs) {
            if let Some(polled) = future
                && let Poll::Ready(answer) = polled.as_mut().poll(cx)
            {
                *output = Some(answer);
                *future = None;
            }
        }
        if running.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    pin!(all).await;
    outputs.into_iter().map(Option::unwrap).collect()
}

/// Spawns futures as tasks of their own, in order, and lets each run as far as it can.
pub(crate) async fn spawn_all<F>(futures: impl IntoIterator<Item = F>) -> Vec<JoinHandle<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let tasks = futures.into_iter().map(tokio::spawn).collect();
    settle().await;
    tasks
}
