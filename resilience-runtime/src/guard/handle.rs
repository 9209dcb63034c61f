//! The guard without macros.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Call, EVERY_LAYER};
use crate::dependency::Entry;
use crate::event::Served;
use crate::failure::Failure;
use crate::ops::{End, Turn, ops_refusing};
use crate::outcome::Classify;
use crate::private::LAYER_RETRY;

/// The guard of one dependency, with every layer whose table or key its policy has.
///
/// Cheap to clone; a reload reaches it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use resilience_runtime::{Policy, Runtime};
///
/// let policy = Policy::from_toml("version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n")?;
/// let guard = Runtime::new(policy).guard("payrail")?;
/// let answer = guard.call(|| async { Ok::<_, std::io::Error>(42) }).await?;
/// assert_eq!(answer, 42);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    entry: Arc<Entry>,
}

impl Guard {
    pub(crate) fn new(entry: Arc<Entry>) -> Self {
        Self { entry }
    }

    /// The dependency's name.
    pub fn dependency(&self) -> &str {
        &self.entry.name
    }

    /// Calls `body`, and again as the policy's retry says. The closure runs only when an attempt is admitted.
    ///
    /// # Errors
    ///
    /// [`Failure::Error`] with the body's own error, or [`Failure::Rejected`] when the call was refused or cut short.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives slot, probe and queue place back, and counts neither as success nor as failure.
    pub async fn call<F, Fut, T, E>(&self, mut body: F) -> Result<T, Failure<E>>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Classify,
    {
        let mut call = Call::of(&self.entry, EVERY_LAYER);
        let ops = ops_refusing::<Result<T, E>, _>();
        loop {
            match call.attempt(ops, Lazy::Make { make: Some(&mut body) }).await {
                Turn::Again => {}
                Turn::End(end) => return finish(call, end),
            }
        }
    }

    /// Runs `body` once, without the retry.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    ///
    /// As [`call`](Self::call).
    pub async fn call_once<Fut, T, E>(&self, body: Fut) -> Result<T, Failure<E>>
    where
        Fut: Future<Output = Result<T, E>>,
        E: Classify,
    {
        let mut call = Call::of(&self.entry, EVERY_LAYER & !LAYER_RETRY);
        let end = call.only(ops_refusing::<Result<T, E>, _>(), body).await;
        finish(call, end)
    }
}

fn finish<T, E>(call: Call, end: End<Result<T, E>>) -> Result<T, Failure<E>> {
    match end {
        End::Value(answer) => answer.map_err(Failure::Error),
        End::Failed(answer) => {
            call.close(Served::Error);
            answer.map_err(Failure::Error)
        }
        End::Rejected(rejection) => {
            call.close(Served::Error);
            Err(Failure::Rejected(rejection))
        }
    }
}

pin_project_lite::pin_project! {
    /// A future that is made when it is first polled: a rejected call never runs the closure.
    #[project = LazyProject]
    enum Lazy<'f, F, Fut> {
        Make { make: Option<&'f mut F> },
        Run { #[pin] future: Fut },
    }
}

impl<F: FnMut() -> Fut, Fut: Future> Future for Lazy<'_, F, Fut> {
    type Output = Fut::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fut::Output> {
        loop {
            let future = match self.as_mut().project() {
                LazyProject::Run { future } => return future.poll(cx),
                LazyProject::Make { make } => match make.take() {
                    Some(make) => make(),
                    // The closure panicked when it was asked before; there is nothing to poll.
                    None => return Poll::Pending,
                },
            };
            self.set(Lazy::Run { future });
        }
    }
}
