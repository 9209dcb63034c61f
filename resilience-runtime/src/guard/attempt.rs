//! One attempt as a future: every await point of a guarded call is in here.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::Sleep;

use super::{Admitted, Call, Entered, Finish, Running};
use crate::clock::{self, NEVER};
use crate::layer::bulkhead::Ticket;
use crate::ops::{End, Ops, Turn};
use crate::outcome::Outcome;
use crate::rejection::Reason;

pin_project_lite::pin_project! {
    /// The future of [`Call::attempt`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Attempt<'c, O, B> {
        call: &'c mut Call,
        ops: O,
        stage: Stage,
        ticket: Option<Ticket>,
        running: Option<Running>,
        // One timer serves waiting, pausing and running; `None` until somebody has to wait.
        #[pin]
        timer: Option<Sleep>,
        // Dropped as soon as it is cut, so that its destructors run before the caller goes on.
        #[pin]
        body: Option<B>,
    }

    impl<O, B> PinnedDrop for Attempt<'_, O, B> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // The body goes first: what it holds is given back before its slot is.
            this.body.set(None);
            if let Some(ticket) = this.ticket.take() {
                this.call.leave(ticket);
            }
            if let Some(running) = this.running.take() {
                this.call.abandon(running);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Enter,
    Wait { end: u64, reason: Reason },
    Pause,
    Admit,
    Delay { until: u64 },
    Run,
    Ended,
}

impl<'c, O: Ops, B: Future<Output = O::Return>> Attempt<'c, O, B> {
    pub(super) fn new(call: &'c mut Call, ops: O, body: B) -> Self {
        let stage = if call.entered { Stage::Pause } else { Stage::Enter };
        Self { call, ops, stage, ticket: None, running: None, timer: None, body: Some(body) }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Future for Attempt<'_, O, B> {
    type Output = Turn<O::Return>;

    /// THE order of the layers, from outside in: mode and deadline, bulkhead, retry (its pause), hold,
    /// breaker, chaos, timeout, body. The fallback is outside: it takes what this gives.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match *this.stage {
                Stage::Enter => match this.call.enter() {
                    Entered::Go => *this.stage = Stage::Admit,
                    Entered::Wait { ticket, end, reason } => {
                        *this.ticket = Some(ticket);
                        *this.stage = Stage::Wait { end, reason };
                    }
                    Entered::Rejected(rejection) => {
                        *this.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Wait { end, reason } => {
                    if let (Some(ticket), Some((bulkhead, _))) = (&*this.ticket, this.call.pinned.bulkhead())
                        && let Poll::Ready(slot) = bulkhead.poll_wait(ticket, cx.waker())
                    {
                        // The place in the line ended with the grant.
                        *this.ticket = None;
                        this.call.slot = Some(slot);
                        this.timer.set(None);
                        *this.stage = Stage::Admit;
                        continue;
                    }
                    ready!(reached(this.timer.as_mut(), end, cx));
                    if let Some(ticket) = this.ticket.take() {
                        this.call.leave(ticket);
                    }
                    *this.stage = Stage::Ended;
                    return Poll::Ready(Turn::End(End::Rejected(this.call.waited_too_long(reason))));
                }
                Stage::Pause => {
                    if this.call.pause_until != 0 {
                        ready!(reached(this.timer.as_mut(), this.call.pause_until, cx));
                        this.timer.set(None);
                    }
                    *this.stage = Stage::Admit;
                }
                Stage::Admit => match this.call.admit() {
                    Admitted::Run(running) => {
                        *this.running = Some(running);
                        *this.stage = Stage::Run;
                    }
                    Admitted::Delayed(running, until) => {
                        *this.running = Some(running);
                        *this.stage = Stage::Delay { until };
                    }
                    Admitted::Failed(running) => {
                        *this.stage = Stage::Ended;
                        if this.call.settle(running, Finish::Chaos) {
                            return Poll::Ready(Turn::Again);
                        }
                        return Poll::Ready(Turn::End(End::Rejected(this.call.cut(Reason::Isolated))));
                    }
                    Admitted::Rejected(rejection) => {
                        *this.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Delay { until } => {
                    let Some(running) = this.running.as_mut() else { return Poll::Pending };
                    this.call.bound(running);
                    let (at, limit) = (until.min(running.limit), running.limit);
                    ready!(reached(this.timer.as_mut(), at, cx));
                    this.timer.set(None);
                    if limit <= until {
                        this.body.set(None);
                        return Poll::Ready(cut(this.call, this.running, this.stage));
                    }
                    *this.stage = Stage::Run;
                }
                Stage::Run => {
                    let Some(body) = this.body.as_mut().as_pin_mut() else { return Poll::Pending };
                    let ops = *this.ops;
                    // A panic in the body, or in what judges its answer, settles on its way up.
                    let mut fuse = Fuse { call: &mut *this.call, running: &mut *this.running, lit: true };
                    let polled = body.poll(cx).map(|answer| (ops.judge(&answer), answer));
                    fuse.lit = false;
                    drop(fuse);
                    match polled {
                        Poll::Ready((outcome, answer)) => {
                            *this.stage = Stage::Ended;
                            this.body.set(None);
                            let Some(running) = this.running.take() else { return Poll::Pending };
                            if this.call.settle(running, Finish::Judged(outcome)) {
                                return Poll::Ready(Turn::Again);
                            }
                            return Poll::Ready(Turn::End(match outcome {
                                Outcome::Success | Outcome::Business => End::Value(answer),
                                _ => End::Failed(answer),
                            }));
                        }
                        Poll::Pending => {
                            let Some(running) = this.running.as_mut() else { return Poll::Pending };
                            this.call.bound(running);
                            ready!(reached(this.timer.as_mut(), running.limit, cx));
                            this.body.set(None);
                            return Poll::Ready(cut(this.call, this.running, this.stage));
                        }
                    }
                }
                Stage::Ended => return Poll::Pending,
            }
        }
    }
}

/// The attempt's time is up; its body is gone.
fn cut<R>(call: &mut Call, running: &mut Option<Running>, stage: &mut Stage) -> Turn<R> {
    *stage = Stage::Ended;
    let reason = running.as_ref().map_or(Reason::TimedOut, |running| running.reason);
    if let Some(running) = running.take()
        && call.settle(running, Finish::TimedOut(reason))
    {
        return Turn::Again;
    }
    Turn::End(End::Rejected(call.cut(reason)))
}

/// Whether `at` is reached; else the task is woken when it is. Arms the timer at the first look.
fn reached(mut timer: Pin<&mut Option<Sleep>>, at: u64, cx: &mut Context<'_>) -> Poll<()> {
    if timer.is_none() {
        if at == NEVER {
            return Poll::Pending;
        }
        if !clock::timers() {
            no_timers();
            return Poll::Pending;
        }
        timer.set(Some(clock::sleep_until(at)));
    }
    match timer.as_pin_mut() {
        Some(timer) => timer.poll(cx),
        None => Poll::Pending,
    }
}

#[cold]
fn no_timers() {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        ::tracing::error!(
            target: crate::event::TARGET,
            "a guarded call runs outside a tokio runtime: nothing bounds its time; run it inside one with time enabled"
        );
    });
}

/// Settles the attempt if it is dropped while lit: while the body is being polled.
struct Fuse<'f> {
    call: &'f mut Call,
    running: &'f mut Option<Running>,
    lit: bool,
}

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        if self.lit
            && let Some(running) = self.running.take()
        {
            self.call.settle(running, Finish::Panicked);
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Call::only`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Only<'c, O, B> {
        #[pin]
        attempt: Attempt<'c, O, B>,
    }
}

impl<'c, O, B> Only<'c, O, B> {
    pub(super) fn new(attempt: Attempt<'c, O, B>) -> Self {
        Self { attempt }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Future for Only<'_, O, B> {
    type Output = End<O::Return>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match ready!(self.project().attempt.poll(cx)) {
            Turn::End(end) => Poll::Ready(end),
            Turn::Again => unreachable!("a call without the retry layer has one attempt"),
        }
    }
}

impl<O, B> fmt::Debug for Attempt<'_, O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl<O, B> fmt::Debug for Only<'_, O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.attempt.fmt(f)
    }
}
