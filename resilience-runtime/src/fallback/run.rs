//! A fallback while it runs: within its bound, and not trusted to return.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::task::unconstrained;

use crate::clock::{self, Timer};
use crate::guard::Calling;
use crate::rejection::Reason;

/// The instant at which a fallback that begins now has had its time, and what that means for its caller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) at: u64,
    pub(super) reason: Reason,
}

impl Bound {
    /// Its own `timeout`, or the deadline that the caller set around the call, whichever is earlier.
    pub(super) fn of(call: &Calling) -> Self {
        let own = clock::now().saturating_add(clock::nanos(call.pinned().settings.fallback.timeout));
        match call.deadline_within() {
            Some(at) if at < own => Self {
                at,
                reason: Reason::DeadlineExceeded,
            },
            _ => Self {
                at: own,
                reason: Reason::TimedOut,
            },
        }
    }

    /// Whether there is no time to begin at all.
    pub(super) fn is_over(self) -> bool {
        self.at <= clock::now()
    }
}

/// How a run ended.
pub(super) enum Ran<R> {
    Answered(R),
    Late(Reason),
    Panicked(Box<dyn Any + Send>),
}

pin_project! {
    /// The run of one fallback.
    pub(super) struct Run<F> {
        #[pin]
        fallback: Option<F>,
        // Made when it is first waited for, which a fallback that ends at once never is.
        #[pin]
        timer: Option<Timer>,
        bound: Bound,
    }
}

impl<F> Run<F> {
    pub(super) fn new(fallback: F, bound: Bound) -> Self {
        Self {
            fallback: Some(fallback),
            timer: None,
            bound,
        }
    }

    /// Whether the bound has come.
    pub(super) fn poll_late(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reason> {
        let mut this = self.project();
        if this.timer.is_none() {
            if !clock::timers() {
                return Poll::Pending;
            }
            this.timer.set(Some(clock::sleep_until(this.bound.at)));
        }
        let reason = this.bound.reason;
        let Some(timer) = this.timer.as_pin_mut() else {
            return Poll::Pending;
        };
        // A fallback that used up the task's budget must not keep its own bound from being seen.
        pin!(unconstrained(timer)).poll(cx).map(|()| reason)
    }

    /// Whether there is no time left to begin.
    pub(super) fn is_over(&self) -> Option<Reason> {
        self.bound.is_over().then_some(self.bound.reason)
    }

    /// Drops the fallback and what it holds.
    pub(super) fn stop(self: Pin<&mut Self>) {
        self.project().fallback.set(None);
    }
}

impl<F: Future> Run<F> {
    /// The fallback goes first: one that ends exactly when its time is up has answered. It is gone when this is ready.
    pub(super) fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ran<F::Output>> {
        let Some(fallback) = self.as_mut().project().fallback.as_pin_mut() else {
            return Poll::Pending;
        };
        let ran = match catch_unwind(AssertUnwindSafe(|| fallback.poll(cx))) {
            Ok(Poll::Ready(answer)) => Ran::Answered(answer),
            Ok(Poll::Pending) => match self.as_mut().poll_late(cx) {
                Poll::Ready(reason) => Ran::Late(reason),
                Poll::Pending => return Poll::Pending,
            },
            Err(panic) => Ran::Panicked(panic),
        };
        self.stop();
        Poll::Ready(ran)
    }
}
