//! The guard without macros.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

#[cfg(feature = "tower")]
use resilience_policy::Mode;

use super::attempt::{Core, last};
use super::late::Late;
use super::short::Early;
use super::{EVERY_LAYER, EntryRef, Start};
use crate::dependency::Entry;
use crate::event::Served;
use crate::failure::Failure;
use crate::ops::{Answers, ByError, End, Judged, Turn};
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
        let pinned = self.entry.pin();
        pinned.mode == Mode::Enforce && pinned.retry().is_some_and(|(_, numbers)| numbers.max_attempts > 1)
    }

    fn start(&self, layers: u8) -> Start {
        Start {
            entry: EntryRef::Shared(Arc::clone(&self.entry)),
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
        let mut late = Late::default();
        loop {
            match self.attempt(&mut late, Lazy::Make { make: Some(&mut body) }).await {
                Turn::Again => late.rewind(),
                Turn::End(end) => return finish(&mut late, end),
            }
        }
    }

    /// The first poll of a call with these layers; later ones go the long way.
    #[inline(always)]
    fn poll_early<const LAYERS: u8, O: Answers, B: Future<Output = O::Return>>(
        &self,
        core: Pin<&mut Core<O, B>>,
        late: &mut Late,
        cx: &mut Context<'_>,
    ) -> Early<O::Return> {
        if late.is_made() {
            return Early::LongWay;
        }
        if core.is_over() {
            return Early::Attempted(Poll::Pending);
        }
        let start = move || self.start(LAYERS);
        core.poll_short(&self.entry, (LAYERS, || None), false, start, late, cx)
    }

    fn attempt<'c, B, T, E>(&'c self, late: &'c mut Late, body: B) -> Attempt<'c, B, T, E> {
        Attempt {
            guard: self,
            late,
            core: Core::new(Judged::new(ByError::default()), body),
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
            late: Late::default(),
            core: Core::new(Judged::new(ByError::default()), body),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Guard::call_once`].
    // In this order a small one that is moved as soon as it is made, as futures are, keeps the guard in a word of its
    // own: a move copies two words at once and has to wait where two writes made them, and everything follows the guard.
    #[repr(C)]
    #[must_use = "futures do nothing unless polled"]
    pub struct CallOnce<'g, Fut, T, E> {
        #[pin]
        core: Core<Judged<ByError, T, E>, Fut>,
        // The call begins when it is first polled.
        late: Late,
        guard: &'g Guard,
    }

    impl<Fut, T, E> PinnedDrop for CallOnce<'_, Fut, T, E> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(this.late);
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
        const LAYERS: u8 = EVERY_LAYER & !LAYER_RETRY;
        let mut this = self.project();
        let turn = match this.guard.poll_early::<LAYERS, _, _>(this.core.as_mut(), this.late, cx) {
            Early::Answer(answer) => return Poll::Ready(answer.map_err(Failure::Error)),
            Early::Refused(rejection) => return Poll::Ready(Err(Failure::Rejected(rejection))),
            Early::Attempted(polled) => ready!(polled),
            Early::LongWay => ready!(this.core.poll(this.late, cx)),
        };
        Poll::Ready(finish(this.late, last(turn)))
    }
}

impl<Fut, T, E> fmt::Debug for CallOnce<'_, Fut, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOnce")
            .field("dependency", &self.guard.dependency())
            .finish_non_exhaustive()
    }
}

pub(super) fn finish<T, E>(late: &mut Late, end: End<Result<T, E>>) -> Result<T, Failure<E>> {
    if let End::Value(answer) = end {
        return answer.map_err(Failure::Error);
    }
    if let Some(call) = late.call_mut() {
        call.close(Served::Error);
    }
    match end {
        End::Value(answer) | End::Failed(answer) => answer.map_err(Failure::Error),
        End::Rejected(rejection) => Err(Failure::Rejected(rejection)),
    }
}

pin_project_lite::pin_project! {
    /// One attempt of [`Guard::call`].
    struct Attempt<'c, B, T, E> {
        guard: &'c Guard,
        late: &'c mut Late,
        #[pin]
        core: Core<Judged<ByError, T, E>, B>,
    }

    impl<B, T, E> PinnedDrop for Attempt<'_, B, T, E> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(this.late);
        }
    }
}

impl<B, T, E> Future for Attempt<'_, B, T, E>
where
    B: Future<Output = Result<T, E>>,
    E: Classify,
{
    type Output = Turn<Result<T, E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match this
            .guard
            .poll_early::<EVERY_LAYER, _, _>(this.core.as_mut(), this.late, cx)
        {
            Early::Answer(answer) => Poll::Ready(Turn::End(End::Value(answer))),
            Early::Refused(rejection) => Poll::Ready(Turn::End(End::Rejected(rejection))),
            Early::Attempted(polled) => polled,
            Early::LongWay => this.core.poll(this.late, cx),
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
