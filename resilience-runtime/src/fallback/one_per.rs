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
    }
}

impl<'c, O: Ops, F> OnePer<'c, O, F> {
    pub(super) fn new(chain: &'c mut Chain<O>, key: u128, fallback: F) -> Self {
        let run = chain.take_bound().map(|bound| Run::new(fallback, bound));
        Self { chain, key, run, ticket: None }
    }
}

impl<O, F> Future for OnePer<'_, O, F>
where
    O: Ops<Return: Clone + Send + Sync + 'static>,
    F: Future<Output = O::Return>,
{
    type Output = Option<O::Return>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (Some(mut run), Some((state, max))) = (this.run.as_pin_mut(), this.chain.shared()) else {
            return Poll::Ready(None);
        };
        if this.ticket.is_none() {
            *this.ticket = Ticket::join(&state, *this.key, max, cx.waker());
        }
        let news = this.ticket.as_mut().map_or(Poll::Ready(News::Full), |ticket| ticket.poll(max, cx.waker()));
        let ran = match news {
            Poll::Ready(News::Run) => ready!(run.poll(cx)),
            Poll::Ready(News::Answer(shared)) => {
                run.stop();
                copy(&shared)
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
            (Some(ticket), Ran::Answered(answer)) if ticket.runs() => share(ticket, answer),
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
