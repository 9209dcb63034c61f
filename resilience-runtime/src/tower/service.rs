//! The guarded service and the future of one call of it.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_service::Service;

use super::repeat::Repeat;
use crate::failure::Failure;
use crate::guard::{Guard, Owned};
use crate::ops::{Judge, Judged};

/// A service behind a [`Guard`]; made by [`GuardLayer`](super::GuardLayer).
///
/// Clones share the guard, and with it breaker and slots.
#[derive(Debug, Clone)]
pub struct GuardService<S, J, R> {
    inner: S,
    guard: Guard,
    judge: J,
    repeat: R,
}

impl<S, J, R> GuardService<S, J, R> {
    pub(super) fn new(inner: S, guard: Guard, judge: J, repeat: R) -> Self {
        Self {
            inner,
            guard,
            judge,
            repeat,
        }
    }

    /// The service behind the guard.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, J, R, Request> Service<Request> for GuardService<S, J, R>
where
    S: Service<Request> + Clone,
    J: Judge<S::Response, S::Error>,
    R: Repeat<Request> + Clone,
{
    type Response = S::Response;
    type Error = Failure<S::Error>;
    type Future = GuardFuture<S, Request, J, R>;

    /// Always ready: the inner service is asked within the attempt.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    /// # Errors
    ///
    /// [`Failure::Error`] with the inner service's own error, of its readiness too, or [`Failure::Rejected`] when the
    /// call was refused or cut short.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives slot, probe and queue place back, and counts neither as success nor as failure.
    fn call(&mut self, request: Request) -> Self::Future {
        let clone = self.inner.clone();
        // What stands here may have been made ready by somebody; a clone has not been.
        let service = mem::replace(&mut self.inner, clone);
        let spare = if self.guard.may_retry() {
            self.repeat.copy(&request)
        } else {
            None
        };
        let again = spare.map(|request| Again {
            service: self.inner.clone(),
            request: Some(request),
            repeat: self.repeat.clone(),
        });
        let body = Oneshot::new(service, request);
        GuardFuture {
            call: Owned::new(&self.guard, again.is_some(), Judged::new(self.judge), body),
            again,
        }
    }
}

/// What another attempt is made from.
struct Again<S, Request, R> {
    service: S,
    /// Gone when the attempt that runs is surely the last.
    request: Option<Request>,
    repeat: R,
}

impl<S: Service<Request> + Clone, Request, R: Repeat<Request>> Again<S, Request, R> {
    /// The next attempt; `None` where there is none to make.
    fn next(&mut self, may_repeat: bool) -> Option<Oneshot<S, Request>> {
        let copy = self
            .request
            .as_ref()
            .filter(|_| may_repeat)
            .and_then(|request| self.repeat.copy(request));
        let request = copy.or_else(|| self.request.take())?;
        Some(Oneshot::new(self.service.clone(), request))
    }
}

pin_project! {
    /// The future of one guarded call.
    #[must_use = "futures do nothing unless polled"]
    pub struct GuardFuture<S, Request, J, R>
    where
        S: Service<Request>,
    {
        #[pin]
        call: Owned<Judged<J, S::Response, S::Error>, Oneshot<S, Request>>,
        again: Option<Again<S, Request, R>>,
    }
}

impl<S, Request, J, R> Future for GuardFuture<S, Request, J, R>
where
    S: Service<Request> + Clone,
    J: Judge<S::Response, S::Error>,
    R: Repeat<Request>,
{
    type Output = Result<S::Response, Failure<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            if let Some(answer) = ready!(this.call.as_mut().poll(cx)) {
                return Poll::Ready(answer);
            }
            let may_repeat = this.call.may_repeat();
            let Some(again) = this.again else { return Poll::Pending };
            if let Some(body) = again.next(may_repeat) {
                this.call.as_mut().again(body);
            }
            if again.request.is_none() {
                this.call.as_mut().stop_repeating();
            }
        }
    }
}

impl<S: Service<Request>, Request, J, R> fmt::Debug for GuardFuture<S, Request, J, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardFuture").finish_non_exhaustive()
    }
}

pin_project! {
    /// One request to a service: waits until it is ready, then calls it.
    #[project = OneshotProject]
    enum Oneshot<S, Request>
    where
        S: Service<Request>,
    {
        Waits { service: S, request: Option<Request> },
        Runs { #[pin] future: S::Future },
    }
}

impl<S: Service<Request>, Request> Oneshot<S, Request> {
    fn new(service: S, request: Request) -> Self {
        Self::Waits {
            service,
            request: Some(request),
        }
    }
}

impl<S: Service<Request>, Request> Future for Oneshot<S, Request> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let future = match self.as_mut().project() {
                OneshotProject::Runs { future } => return future.poll(cx),
                OneshotProject::Waits { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    match request.take() {
                        Some(request) => service.call(request),
                        // `call` panicked when it was asked before; there is nothing to poll.
                        None => return Poll::Pending,
                    }
                }
            };
            self.set(Self::Runs { future });
        }
    }
}
