//! A call that owns all it needs: for futures that outlive the guard they came from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::attempt::{Core, Stage};
use super::handle::finish;
use super::late::Late;
use super::{Calling, EVERY_LAYER, EntryRef, Guard, Start};
use crate::failure::Failure;
use crate::ops::{Answers, Turn};
use crate::private::LAYER_RETRY;

pin_project_lite::pin_project! {
    /// One call of a guard, attempt by attempt.
    pub(crate) struct Owned<O, B> {
        // The call begins when it is first polled.
        start: Option<Start>,
        late: Late,
        ops: O,
        #[pin]
        core: Core<O, B>,
    }

    impl<O, B> PinnedDrop for Owned<O, B> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(this.late);
        }
    }
}

impl<O: Copy, B> Owned<O, B> {
    /// A call whose first attempt is `body`. Without `repeats` it has one attempt, whatever the policy says.
    pub(crate) fn new(guard: &Guard, repeats: bool, ops: O, body: B) -> Self {
        let layers = if repeats {
            EVERY_LAYER
        } else {
            EVERY_LAYER & !LAYER_RETRY
        };
        let start = Start {
            entry: EntryRef::Shared(Arc::clone(guard.entry())),
            site: None,
            key: None,
            layers,
        };
        Self {
            start: Some(start),
            late: Late::default(),
            ops,
            core: Core::new(ops, body),
        }
    }

    /// Makes `body` the next attempt.
    pub(crate) fn again(self: Pin<&mut Self>, body: B) {
        let mut this = self.project();
        this.late.rewind();
        this.core.set(Core::new(*this.ops, body));
    }

    /// Whether the attempt that is made next may be followed by another.
    pub(crate) fn may_repeat(&self) -> bool {
        self.late.call().is_some_and(Calling::may_repeat)
    }

    /// Makes the next attempt the last one.
    pub(crate) fn stop_repeating(self: Pin<&mut Self>) {
        if let Some(call) = self.project().late.call_mut() {
            call.layers &= !LAYER_RETRY;
        }
    }
}

impl<O, B, T, E> Owned<O, B>
where
    O: Answers<Return = Result<T, E>>,
    B: Future<Output = Result<T, E>>,
{
    /// Polls the attempt: `None` asks for [`again`](Self::again).
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T, Failure<E>>>> {
        let this = self.project();
        if let Some(start) = this.start.take() {
            this.late.make(Calling::new(start), Stage::Enter);
        }
        this.core.poll(this.late, cx).map(|turn| match turn {
            Turn::Again => None,
            Turn::End(end) => Some(finish(this.late, end)),
        })
    }
}

impl<O, B> fmt::Debug for Owned<O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}
