//! The guard without macros.

use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::attempt::{Core, last};
use super::{Calling, EVERY_LAYER, EntryRef, Start};
use crate::dependency::Entry;
use crate::event::Served;
use crate::failure::Failure;
use crate::ops::{ByError, End, Judged, Turn};
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

    #[cfg(feature = "tower")]
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether the policy lets a failed attempt be followed by another.
    #[cfg(feature = "tower")]
    pub(crate) fn may_retry(&self) -> bool {
        self.entry.pin().retry().is_some()
    }

    #[inline]
    fn start(&self, layers: u8) -> Start<'_> {
        Start {
            entry: EntryRef::Borrowed(&self.entry),
            site: None,
            key: None,
            layers,
        }
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
        let mut call = Calling::new(self.start(EVERY_LAYER));
        loop {
            match Attempt::new(&mut call, Lazy::Make { make: Some(&mut body) }).await {
                Turn::Again => {}
                Turn::End(end) => return finish(Some(&mut call), end),
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
    #[inline]
    pub fn call_once<Fut, T, E>(&self, body: Fut) -> CallOnce<'_, Fut, T, E>
    where
        Fut: Future<Output = Result<T, E>>,
        E: Classify,
    {
        CallOnce {
            guard: self,
            call: ManuallyDrop::new(None),
            core: Core::fresh(Judged::new(ByError::default()), body),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Guard::call_once`].
    #[must_use = "futures do nothing unless polled"]
    pub struct CallOnce<'g, Fut, T, E> {
        guard: &'g Guard,
        // The call begins when it is first polled.
        // Its drop glue would be paid for by the calls that never make one.
        call: ManuallyDrop<Option<Calling<'g>>>,
        #[pin]
        core: Core<Judged<ByError, T, E>, Fut>,
    }

    impl<Fut, T, E> PinnedDrop for CallOnce<'_, Fut, T, E> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(call) = &mut **this.call {
                this.core.give_back(call);
                **this.call = None;
            }
        }
    }
}

impl<Fut, T, E> Future for CallOnce<'_, Fut, T, E>
where
    Fut: Future<Output = Result<T, E>>,
    E: Classify,
{
    type Output = Result<T, Failure<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.call.is_none() {
            let start = this.guard.start(EVERY_LAYER & !LAYER_RETRY);
            if let Some(polled) = this.core.as_mut().poll_short(start, this.call, cx) {
                let end = last(ready!(polled));
                return Poll::Ready(finish(this.call.as_mut(), end));
            }
        }
        let Some(call) = this.call.as_mut() else {
            return Poll::Pending;
        };
        let end = last(ready!(this.core.poll(call, cx)));
        Poll::Ready(finish(Some(call), end))
    }
}

impl<Fut, T, E> fmt::Debug for CallOnce<'_, Fut, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOnce")
            .field("dependency", &self.guard.dependency())
            .finish_non_exhaustive()
    }
}

#[inline(always)]
pub(super) fn finish<T, E>(call: Option<&mut Calling<'_>>, end: End<Result<T, E>>) -> Result<T, Failure<E>> {
    if let End::Value(answer) = end {
        return answer.map_err(Failure::Error);
    }
    // Without a call it was the short way, which has counted it.
    if let Some(call) = call {
        call.close_as(Served::Error);
    }
    match end {
        End::Value(answer) | End::Failed(answer) => answer.map_err(Failure::Error),
        End::Rejected(rejection) => Err(Failure::Rejected(rejection)),
    }
}

pin_project_lite::pin_project! {
    /// One attempt of [`Guard::call`].
    struct Attempt<'c, 'g, B, T, E> {
        call: &'c mut Calling<'g>,
        #[pin]
        core: Core<Judged<ByError, T, E>, B>,
    }

    impl<B, T, E> PinnedDrop for Attempt<'_, '_, B, T, E> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(this.call);
        }
    }
}

impl<'c, 'g, B, T, E> Attempt<'c, 'g, B, T, E> {
    fn new(call: &'c mut Calling<'g>, body: B) -> Self {
        let core = Core::of(call, Judged::new(ByError::default()), body);
        Self { call, core }
    }
}

impl<B, T, E> Future for Attempt<'_, '_, B, T, E>
where
    B: Future<Output = Result<T, E>>,
    E: Classify,
{
    type Output = Turn<Result<T, E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.core.poll(this.call, cx)
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

    #[inline]
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
