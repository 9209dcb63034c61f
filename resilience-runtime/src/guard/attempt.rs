//! One attempt as a future: every await point of a guarded call is in here.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::Calling;
use super::enter::{Admitted, Entered};
use super::late::{Late, Parts};
use super::settle::Finish;
use crate::clock::{self, NEVER, Timer};
use crate::ops::{Answers, End, Turn};
use crate::outcome::Outcome;
use crate::rejection::Reason;

pin_project_lite::pin_project! {
    /// An attempt without the call that it is part of.
    #[project = CoreProject]
    pub struct Core<O, B> {
        pub(super) ops: O,
        // Whether it ended without ever needing more than this.
        pub(super) over: bool,
        // Dropped as soon as it is cut, so that its destructors run before the caller goes on.
        #[pin]
        pub(super) body: Option<B>,
    }
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Enter,
    Wait { end: u64, reason: Reason },
    Pause,
    Admit,
    Delay { until: u64 },
    Run,
    Ended,
}

impl<O, B> Core<O, B> {
    #[inline]
    pub(super) fn new(ops: O, body: B) -> Self {
        Self {
            ops,
            over: false,
            body: Some(body),
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The attempt is over: the body goes with all that it holds, before a fallback is asked.
    pub(super) fn let_go(self: Pin<&mut Self>) {
        let mut this = self.project();
        *this.over = true;
        this.body.set(None);
    }

    /// What a drop in the middle has to give back. The body goes first: what it holds is given back before its slot.
    #[inline]
    pub(super) fn give_back(self: Pin<&mut Self>, late: &mut Late) {
        if let Some(parts) = late.parts() {
            self.give_back_begun(parts);
        }
    }

    #[inline(never)]
    fn give_back_begun(self: Pin<&mut Self>, parts: Parts<'_>) {
        let Parts {
            call, stage, ticket, ..
        } = parts;
        if let Stage::Ended = *stage {
            return;
        }
        self.project().body.set(None);
        if let Some(ticket) = ticket.take() {
            call.leave(ticket);
            call.record_left();
        }
        if let Some(running) = call.running.take() {
            call.abandon(running);
        }
    }
}

impl<O: Answers, B: Future<Output = O::Return>> Core<O, B> {
    /// THE order of the layers, from outside in: mode and deadline, bulkhead, retry (its pause), hold,
    /// breaker, chaos, timeout, body. The fallback is outside: it takes what this gives.
    #[inline(never)]
    pub(super) fn poll(self: Pin<&mut Self>, late: &mut Late, cx: &mut Context<'_>) -> Poll<Turn<O::Return>> {
        let this = self.project();
        let Some(mut begun) = late.parts() else {
            return Poll::Pending;
        };
        loop {
            let call = &mut *begun.call;
            match *begun.stage {
                Stage::Enter => match call.enter() {
                    Entered::Go => *begun.stage = Stage::Admit,
                    Entered::Wait { ticket, end, reason } => {
                        #[cfg(feature = "simulation")]
                        crate::simulation::notes::tell(crate::simulation::notes::Note::Waits);
                        *begun.ticket = Some(ticket);
                        *begun.stage = Stage::Wait { end, reason };
                    }
                    Entered::Rejected(rejection) => {
                        *begun.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Wait { end, reason } => {
                    if let (Some(ticket), Some(bulkhead)) = (&*begun.ticket, call.entry.bulkhead(call.traits))
                        && let Poll::Ready(slot) = bulkhead.poll_wait(ticket, cx.waker())
                    {
                        // The place in the line ended with the grant.
                        #[cfg(feature = "simulation")]
                        crate::simulation::notes::tell(crate::simulation::notes::Note::Granted);
                        *begun.ticket = None;
                        call.slot = Some(slot);
                        begun.timer.set(None);
                        *begun.stage = Stage::Admit;
                        continue;
                    }
                    ready!(reached(begun.timer.as_mut(), end, cx));
                    if let Some(ticket) = begun.ticket.take() {
                        call.leave(ticket);
                    }
                    *begun.stage = Stage::Ended;
                    return Poll::Ready(Turn::End(End::Rejected(call.waited_too_long(reason))));
                }
                Stage::Pause => {
                    if call.pause_until != 0 {
                        // A call runs through its pauses, as it keeps its slot through them.
                        call.pends();
                        ready!(reached(begun.timer.as_mut(), call.pause_until, cx));
                        begun.timer.set(None);
                    }
                    *begun.stage = Stage::Admit;
                }
                Stage::Admit => match call.admit() {
                    Admitted::Run => return run(this, begun, cx),
                    Admitted::Delayed(until) => *begun.stage = Stage::Delay { until },
                    Admitted::Failed => {
                        *begun.stage = Stage::Ended;
                        if call.settle(Finish::Chaos) {
                            return Poll::Ready(Turn::Again);
                        }
                        return Poll::Ready(Turn::End(End::Rejected(call.cut(Reason::Isolated))));
                    }
                    Admitted::Rejected(rejection) => {
                        *begun.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Delay { until } => {
                    let limit = call.limit();
                    ready!(reached(begun.timer.as_mut(), until.min(limit), cx));
                    begun.timer.set(None);
                    if limit <= until {
                        return Poll::Ready(cut(this, &mut begun));
                    }
                    *begun.stage = Stage::Run;
                }
                Stage::Run => return run(this, begun, cx),
                Stage::Ended => return Poll::Pending,
            }
        }
    }
}

/// Polls the body of an admitted attempt.
fn run<O: Answers, B: Future<Output = O::Return>>(
    mut this: CoreProject<'_, O, B>,
    begun: Parts<'_>,
    cx: &mut Context<'_>,
) -> Poll<Turn<O::Return>> {
    let ops = *this.ops;
    let Some(body) = this.body.as_mut().as_pin_mut() else {
        return Poll::Pending;
    };
    // A panic in the body, or in what judges its answer, settles on its way up.
    let mut fuse = Fuse {
        call: &mut *begun.call,
        lit: true,
    };
    let polled = body.poll(cx).map(|answer| (ops.judge(&answer), answer));
    fuse.lit = false;
    drop(fuse);
    conclude(this, begun, polled, cx)
}

/// Settles an attempt that ended, and waits for one that did not.
#[inline(never)]
pub(super) fn conclude<O: Answers, B: Future<Output = O::Return>>(
    this: CoreProject<'_, O, B>,
    mut begun: Parts<'_>,
    polled: Poll<(Outcome, O::Return)>,
    cx: &mut Context<'_>,
) -> Poll<Turn<O::Return>> {
    match polled {
        Poll::Ready((outcome, answer)) => {
            *begun.stage = Stage::Ended;
            if begun.call.settle(Finish::Judged(outcome)) {
                return Poll::Ready(Turn::Again);
            }
            Poll::Ready(Turn::End(match outcome {
                Outcome::Success | Outcome::Business => End::Value(answer),
                _ => End::Failed(answer),
            }))
        }
        Poll::Pending => {
            *begun.stage = Stage::Run;
            begun.call.pends();
            ready!(reached(begun.timer.as_mut(), begun.call.limit(), cx));
            Poll::Ready(cut(this, &mut begun))
        }
    }
}

/// The attempt's time is up: its body goes, and then it is settled.
#[inline(never)]
fn cut<O: Answers, B>(mut this: CoreProject<'_, O, B>, begun: &mut Parts<'_>) -> Turn<O::Return> {
    this.body.set(None);
    *begun.stage = Stage::Ended;
    let call = &mut *begun.call;
    let reason = call.running.as_ref().map_or(Reason::TimedOut, |running| running.reason);
    if call.settle(Finish::TimedOut(reason)) {
        return Turn::Again;
    }
    Turn::End(End::Rejected(call.cut(reason)))
}

/// Whether `at` is reached; else the task is woken when it is. Arms the timer at the first look.
#[inline(never)]
fn reached(mut timer: Pin<&mut Option<Timer>>, at: u64, cx: &mut Context<'_>) -> Poll<()> {
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

/// Holds the call while its body is polled: dropped while lit, a panic is on its way up.
struct Fuse<'f> {
    call: &'f mut Calling,
    lit: bool,
}

impl Drop for Fuse<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.lit {
            self.call.settle(Finish::Panicked);
        }
    }
}

/// The end of a call that has one attempt.
#[inline]
pub(super) fn last<R>(turn: Turn<R>) -> End<R> {
    match turn {
        Turn::End(end) => end,
        Turn::Again => unreachable!("a call without the retry layer has one attempt"),
    }
}

impl<O, B> fmt::Debug for Core<O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("over", &self.over).finish_non_exhaustive()
    }
}
