//! `path` and `with`, while they run.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::chain::Chain;
use super::run::Run;
use super::slots::Slot;
use crate::ops::Ops;

pin_project! {
    /// The future of [`Chain::answer`]: the answer, or `None` where the form declines.
    #[must_use = "futures do nothing unless polled"]
    pub struct Answer<'c, O, F>
    where
        O: Ops,
    {
        chain: &'c mut Chain<O>,
        #[pin]
        run: Option<Run<F>>,
        // Below the run: what the fallback holds is dropped before its slot is given back.
        slot: Option<Slot>,
    }
}

impl<'c, O: Ops, F> Answer<'c, O, F> {
    pub(super) fn new(chain: &'c mut Chain<O>, slot: Option<Slot>, fallback: F) -> Self {
        // Without an offer there is no bound, and nothing runs.
        let run = chain.take_bound().map(|bound| Run::new(fallback, bound));
        Self { chain, run, slot }
    }
}

impl<O: Ops, F: Future<Output = O::Return>> Future for Answer<'_, O, F> {
    type Output = Option<O::Return>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(run) = this.run.as_pin_mut() else {
            return Poll::Ready(None);
        };
        let ran = ready!(run.poll(cx));
        drop(this.slot.take());
        Poll::Ready(this.chain.ran(ran))
    }
}
