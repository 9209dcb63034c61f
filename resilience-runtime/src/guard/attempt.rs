//! One attempt as a future: every await point of a guarded call is in here.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::enter::{Admitted, Entered};
use super::settle::Finish;
use super::short::{Enter, Short};
use super::{Calling, Start};
use crate::clock::{self, NEVER, Timer};
use crate::layer::bulkhead::Ticket;
use crate::ops::{End, Ops, Turn};
use crate::outcome::Outcome;
use crate::rejection::Reason;

pin_project_lite::pin_project! {
    /// An attempt without the call that it is part of.
    #[project = CoreProject]
    pub struct Core<O, B> {
        ops: O,
        stage: Stage,
        ticket: Option<Ticket>,
        // One timer serves waiting, pausing and running; `None` until somebody has to wait.
        #[pin]
        timer: Option<Timer>,
        // Dropped as soon as it is cut, so that its destructors run before the caller goes on.
        #[pin]
        body: Option<B>,
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

impl<O, B> Core<O, B> {
    #[inline]
    pub(super) fn fresh(ops: O, body: B) -> Self {
        Self {
            ops,
            stage: Stage::Enter,
            ticket: None,
            timer: None,
            body: Some(body),
        }
    }

    /// The next attempt of a call that may have begun.
    pub(super) fn of(call: &Calling<'_>, ops: O, body: B) -> Self {
        let stage = if call.entered { Stage::Pause } else { Stage::Enter };
        Self {
            stage,
            ..Self::fresh(ops, body)
        }
    }

    /// What a drop in the middle has to give back. The body goes first: what it holds is given back before its slot.
    #[inline]
    pub(super) fn give_back(self: Pin<&mut Self>, call: &mut Calling<'_>) {
        let mut this = self.project();
        if let Stage::Ended = *this.stage {
            return;
        }
        this.body.set(None);
        if let Some(ticket) = this.ticket.take() {
            call.leave(ticket);
        }
        if let Some(running) = call.running.take() {
            call.abandon(running);
        }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Core<O, B> {
    /// THE order of the layers, from outside in: mode and deadline, bulkhead, retry (its pause), hold,
    /// breaker, chaos, timeout, body. The fallback is outside: it takes what this gives.
    #[inline(never)]
    pub(super) fn poll(self: Pin<&mut Self>, call: &mut Calling<'_>, cx: &mut Context<'_>) -> Poll<Turn<O::Return>> {
        let mut this = self.project();
        loop {
            match *this.stage {
                Stage::Enter => match call.enter() {
                    Entered::Go => *this.stage = Stage::Admit,
                    Entered::Wait { ticket, end, reason } => {
                        #[cfg(feature = "simulation")]
                        crate::simulation::notes::tell(crate::simulation::notes::Note::Waits);
                        *this.ticket = Some(ticket);
                        *this.stage = Stage::Wait { end, reason };
                    }
                    Entered::Rejected(rejection) => {
                        *this.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Wait { end, reason } => {
                    if let (Some(ticket), Some(bulkhead)) = (&*this.ticket, call.entry.bulkhead(call.traits))
                        && let Poll::Ready(slot) = bulkhead.poll_wait(ticket, cx.waker())
                    {
                        // The place in the line ended with the grant.
                        #[cfg(feature = "simulation")]
                        crate::simulation::notes::tell(crate::simulation::notes::Note::Granted);
                        *this.ticket = None;
                        call.slot = Some(slot);
                        this.timer.set(None);
                        *this.stage = Stage::Admit;
                        continue;
                    }
                    ready!(reached(this.timer.as_mut(), end, cx));
                    if let Some(ticket) = this.ticket.take() {
                        call.leave(ticket);
                    }
                    *this.stage = Stage::Ended;
                    return Poll::Ready(Turn::End(End::Rejected(call.waited_too_long(reason))));
                }
                Stage::Pause => {
                    if call.pause_until != 0 {
                        // A call runs through its pauses, as it keeps its slot through them.
                        call.pends();
                        ready!(reached(this.timer.as_mut(), call.pause_until, cx));
                        this.timer.set(None);
                    }
                    *this.stage = Stage::Admit;
                }
                Stage::Admit => match call.admit() {
                    Admitted::Run => return run(this, call, cx),
                    Admitted::Delayed(until) => *this.stage = Stage::Delay { until },
                    Admitted::Failed => {
                        *this.stage = Stage::Ended;
                        if call.settle(Finish::Chaos) {
                            return Poll::Ready(Turn::Again);
                        }
                        return Poll::Ready(Turn::End(End::Rejected(call.cut(Reason::Isolated))));
                    }
                    Admitted::Rejected(rejection) => {
                        *this.stage = Stage::Ended;
                        return Poll::Ready(Turn::End(End::Rejected(rejection)));
                    }
                },
                Stage::Delay { until } => {
                    let limit = call.limit();
                    ready!(reached(this.timer.as_mut(), until.min(limit), cx));
                    this.timer.set(None);
                    if limit <= until {
                        return Poll::Ready(cut(this, call));
                    }
                    *this.stage = Stage::Run;
                }
                Stage::Run => return run(this, call, cx),
                Stage::Ended => return Poll::Pending,
            }
        }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Core<O, B> {
    /// The first poll of a call, the short way: see [`short`](super::short). `None` leaves the call where the long way
    /// takes it up, with `call` made unless nothing has happened yet.
    #[inline(always)]
    pub(super) fn poll_short<'e>(
        self: Pin<&mut Self>,
        start: Start<'e>,
        call: &mut Option<Calling<'e>>,
        cx: &mut Context<'_>,
    ) -> Option<Poll<Turn<O::Return>>> {
        let mut this = self.project();
        let Some(mut short) = Short::new(&start) else {
            *call = Some(Calling::new(start));
            return None;
        };
        match short.enter() {
            Enter::Go => {}
            Enter::Open(retry_after) => {
                *this.stage = Stage::Ended;
                return Some(Poll::Ready(Turn::End(End::Rejected(short.refuse(retry_after, call)))));
            }
            Enter::LongWay => {
                *call = Some(short.lengthen());
                return None;
            }
            Enter::Admit => {
                *call = Some(short.lengthen());
                *this.stage = Stage::Admit;
                return None;
            }
        }
        let ops = *this.ops;
        let body = this.body.as_mut().as_pin_mut()?;
        let polled = short.polling(|| body.poll(cx).map(|answer| (ops.judge(&answer), answer)));
        if let Poll::Ready((outcome @ (Outcome::Success | Outcome::Business), answer)) = polled {
            *this.stage = Stage::Ended;
            short.settle_good(outcome);
            return Some(Poll::Ready(Turn::End(End::Value(answer))));
        }
        let call = call.insert(short.lengthen());
        Some(conclude(this, call, polled, cx))
    }
}

/// Polls the body of an admitted attempt.
fn run<O: Ops, B: Future<Output = O::Return>>(
    mut this: CoreProject<'_, O, B>,
    call: &mut Calling<'_>,
    cx: &mut Context<'_>,
) -> Poll<Turn<O::Return>> {
    let ops = *this.ops;
    let Some(body) = this.body.as_mut().as_pin_mut() else {
        return Poll::Pending;
    };
    // A panic in the body, or in what judges its answer, settles on its way up.
    let mut fuse = Fuse {
        call: &mut *call,
        lit: true,
    };
    let polled = body.poll(cx).map(|answer| (ops.judge(&answer), answer));
    fuse.lit = false;
    drop(fuse);
    conclude(this, call, polled, cx)
}

/// Settles an attempt that ended, and waits for one that did not.
#[inline(never)]
fn conclude<O: Ops, B: Future<Output = O::Return>>(
    mut this: CoreProject<'_, O, B>,
    call: &mut Calling<'_>,
    polled: Poll<(Outcome, O::Return)>,
    cx: &mut Context<'_>,
) -> Poll<Turn<O::Return>> {
    match polled {
        Poll::Ready((outcome, answer)) => {
            *this.stage = Stage::Ended;
            if call.settle(Finish::Judged(outcome)) {
                return Poll::Ready(Turn::Again);
            }
            Poll::Ready(Turn::End(match outcome {
                Outcome::Success | Outcome::Business => End::Value(answer),
                _ => End::Failed(answer),
            }))
        }
        Poll::Pending => {
            *this.stage = Stage::Run;
            call.pends();
            ready!(reached(this.timer.as_mut(), call.limit(), cx));
            Poll::Ready(cut(this, call))
        }
    }
}

/// The attempt's time is up: its body goes, and then it is settled.
#[inline(never)]
fn cut<O: Ops, B>(mut this: CoreProject<'_, O, B>, call: &mut Calling<'_>) -> Turn<O::Return> {
    this.body.set(None);
    *this.stage = Stage::Ended;
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
struct Fuse<'f, 'e> {
    call: &'f mut Calling<'e>,
    lit: bool,
}

impl Drop for Fuse<'_, '_> {
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
        f.debug_struct("Core")
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
