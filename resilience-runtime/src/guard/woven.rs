//! The guard as the macros use it.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::attempt::{Core, last};
use super::{Calling, Start};
use crate::fallback::{self, Chain, StaleKey};
use crate::keys;
use crate::layer::bulkhead::Key;
use crate::ops::{End, Ops, Turn};
use crate::private::LAYER_RETRY;
use crate::site::Site;

/// One call of an annotated function. Dropping it gives everything back and counts it cancelled, unless it ended.
#[derive(Debug)]
pub struct Call {
    site: &'static Site,
    key: Key,
    calling: Option<Calling<'static>>,
}

impl Call {
    /// A call of an annotated function.
    #[inline]
    pub fn begin(site: &'static Site) -> Self {
        Self {
            site,
            key: None,
            calling: None,
        }
    }

    /// The same with a key for the slots per key.
    pub fn begin_keyed<K: Hash + ?Sized>(site: &'static Site, key: &K) -> Self {
        Self {
            site,
            key: Some(keys::hash(key)),
            calling: None,
        }
    }

    /// One attempt of a call whose function has no `#[retry]`. The future's output is how the call ended.
    #[inline]
    pub fn only<O: Ops, B: Future<Output = O::Return>>(&mut self, ops: O, body: B) -> Only<'_, O, B> {
        Only {
            call: self,
            core: Core::fresh(ops, body),
        }
    }

    /// One attempt, with the pause before it if it is a repeat. The future's output says whether to run the body
    /// again.
    pub fn attempt<O: Ops, B: Future<Output = O::Return>>(&mut self, ops: O, body: B) -> Attempt<'_, O, B> {
        let calling = self.calling(self.site.spec().layers);
        let core = Core::of(calling, ops, body);
        Attempt { calling, core }
    }

    /// Whether the attempt that is made next may be followed by another: then its arguments have to be kept.
    pub fn may_repeat(&mut self) -> bool {
        self.calling(self.site.spec().layers).may_repeat()
    }

    /// The chain of fallbacks of a call that failed or was rejected.
    pub fn fall<O: Ops>(mut self, ops: O, end: End<O::Return>) -> Chain<O> {
        self.calling(self.site.spec().layers);
        let start = self.start(self.site.spec().layers);
        fallback::fall(self.calling.unwrap_or_else(|| Calling::new(start)), ops, end)
    }

    /// Keeps a good answer for the `stale` form.
    pub fn keep<O: Ops>(&self, ops: O, key: StaleKey, answer: &O::Return)
    where
        O::Value: Clone + Send + Sync + 'static,
    {
        match &self.calling {
            Some(calling) => fallback::keep(calling.pinned(), ops, key, answer),
            None => fallback::keep(&self.site.entry().pin(), ops, key, answer),
        }
    }

    #[inline]
    fn start(&self, layers: u8) -> Start<'static> {
        Start {
            entry: self.site.entry(),
            site: Some(self.site),
            key: self.key,
            layers,
        }
    }

    fn calling(&mut self, layers: u8) -> &mut Calling<'static> {
        if self.calling.is_none() {
            self.calling = Some(Calling::new(self.start(layers)));
        }
        self.calling
            .get_or_insert_with(|| unreachable!("it was made a line above"))
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Call::only`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Only<'c, O, B> {
        call: &'c mut Call,
        #[pin]
        core: Core<O, B>,
    }

    impl<O, B> PinnedDrop for Only<'_, O, B> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(calling) = &mut this.call.calling {
                this.core.give_back(calling);
            }
        }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Future for Only<'_, O, B> {
    type Output = End<O::Return>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let layers = this.call.site.spec().layers & !LAYER_RETRY;
        if this.call.calling.is_none() {
            let start = this.call.start(layers);
            if let Some(polled) = this.core.as_mut().poll_short(start, &mut this.call.calling, cx) {
                return polled.map(last);
            }
        }
        let calling = this.call.calling(layers);
        Poll::Ready(last(ready!(this.core.poll(calling, cx))))
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Call::attempt`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Attempt<'c, O, B> {
        calling: &'c mut Calling<'static>,
        #[pin]
        core: Core<O, B>,
    }

    impl<O, B> PinnedDrop for Attempt<'_, O, B> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(this.calling);
        }
    }
}

impl<O: Ops, B: Future<Output = O::Return>> Future for Attempt<'_, O, B> {
    type Output = Turn<O::Return>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.core.poll(this.calling, cx)
    }
}

impl<O, B> fmt::Debug for Only<'_, O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

impl<O, B> fmt::Debug for Attempt<'_, O, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}
