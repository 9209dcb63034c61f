//! `path` and `with` that run once per key at a time.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::chain::Chain;
use super::flights::{News, Shared, Ticket};
use super::run::{Ran, Run};
use crate::ops::Ops;

pin_project! {
    /// The future of [`Chain::one_per`]: the answer, or `None` where the form declines.
    #[must_use = "futures do nothing unless polled"]
    pub struct OnePer<'c, O, F>
    where
        O: Ops,
    {
        chain: &'c mut Chain<O>,
        key: u128,
        // Its time runs from now on, whether it waits or runs.
        #[pin]
        run: Option<Run<F>>,
        // Below the run: what the fallback holds is dropped before the slot goes to the next one.
        ticket: Option<Ticket>,
        copies: Copies<O::Return>,
    }
}

/// What an answer that many get has to be able to do, asked for in one place: bounds on the future too would be a second
/// error for an answer that cannot.
struct Copies<R> {
    share: fn(Ticket, R) -> Ran<R>,
    copy: fn(&Shared) -> Ran<R>,
}

impl<'c, O: Ops, F> OnePer<'c, O, F> {
    pub(super) fn new(chain: &'c mut Chain<O>, key: u128, fallback: F) -> Self
    where
        O::Return: Clone + Send + Sync + 'static,
    {
        let run = chain.take_bound().map(|bound| Run::new(fallback, bound));
        Self {
            chain,
            key,
            run,
            ticket: None,
            copies: Copies { share, copy },
        }
    }
}

impl<O: Ops, F: Future<Output = O::Return>> Future for OnePer<'_, O, F> {
    type Output = Option<O::Return>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (Some(mut run), Some((state, max))) = (this.run.as_pin_mut(), this.chain.shared()) else {
            return Poll::Ready(None);
        };
        if this.ticket.is_none() {
            *this.ticket = Ticket::join(&state, *this.key, max, cx.waker());
        }
        let waited = this.ticket.as_ref().is_some_and(|ticket| !ticket.runs());
        let news = match this.ticket {
            Some(ticket) => ticket.poll(max, cx.waker()),
            None => Poll::Ready(News::Full),
        };
        let ran = match news {
            Poll::Ready(News::Run) => match run.is_over().filter(|_| waited) {
                None => ready!(run.poll(cx)),
                Some(reason) => {
                    run.stop();
                    Ran::Late(reason)
                }
            },
            Poll::Ready(News::Answer(shared)) => {
                run.stop();
                (this.copies.copy)(&shared)
            }
            Poll::Ready(News::Full) => {
                run.stop();
                drop(this.ticket.take());
                this.chain.found_no_slot();
                return Poll::Ready(None);
            }
            Poll::Pending => {
                let reason = ready!(run.as_mut().poll_late(cx));
                run.stop();
                Ran::Late(reason)
            }
        };
        Poll::Ready(this.chain.ran(match (this.ticket.take(), ran) {
            (Some(ticket), Ran::Answered(answer)) if ticket.runs() => (this.copies.share)(ticket, answer),
            (Some(ticket), Ran::Late(reason)) if ticket.runs() => {
                ticket.run_out();
                Ran::Late(reason)
            }
            // Dropped here, a ticket without an answer makes the next one run.
            (_, ran) => ran,
        }))
    }
}

/// Hands a runner's answer to those who wait for it.
fn share<R: Clone + Send + Sync + 'static>(ticket: Ticket, answer: R) -> Ran<R> {
    match catch_unwind(AssertUnwindSafe(|| ticket.finish(|| Arc::new(answer.clone())))) {
        Ok(()) => Ran::Answered(answer),
        Err(panic) => Ran::Panicked(panic),
    }
}

fn copy<R: Clone + 'static>(shared: &Shared) -> Ran<R> {
    let copied = catch_unwind(AssertUnwindSafe(|| {
        let answer = shared.downcast_ref::<R>().expect("the type is part of the key");
        answer.clone()
    }));
    match copied {
        Ok(answer) => Ran::Answered(answer),
        Err(panic) => Ran::Panicked(panic),
    }
}
