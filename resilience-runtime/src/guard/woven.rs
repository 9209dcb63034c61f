//! The guard as the macros use it.

mod whole;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use whole::{Whole, none, refuse, value};

use super::attempt::{Core, last};
use super::late::Late;
use super::short::Early;
use super::{Calling, EntryRef, Start};
use crate::fallback::{self, Chain, StaleKey};
use crate::keys;
use crate::layer::bulkhead::Key;
use crate::ops::{Answers, Asks, End, Ops, Turn};
use crate::private::LAYER_RETRY;
use crate::site::Site;

/// One call of an annotated function. Dropping it gives everything back and counts it cancelled, unless it ended.
#[derive(Debug)]
pub struct Call {
    who: Who,
    late: Late,
}

/// What the long way begins with, but for the entry.
#[derive(Debug, Clone, Copy)]
struct Who {
    site: &'static Site,
    /// In two words: one of sixteen bytes would make the call longer by as many.
    key: Option<[u64; 2]>,
    layers: u8,
}

impl Who {
    fn start(self, entry: EntryRef) -> Start {
        Start {
            entry,
            site: Some(self.site),
            key: self.key(),
            layers: self.layers,
        }
    }

    #[inline]
    fn key(&self) -> Key {
        self.key.map(keys::whole)
    }
}

impl Call {
    /// A call of an annotated function.
    #[inline]
    pub fn begin(site: &'static Site) -> Self {
        Self {
            who: Who {
                site,
                key: None,
                layers: site.spec().layers,
            },
            late: Late::default(),
        }
    }

    /// The same with a key for the slots per key.
    pub fn begin_keyed<K: Hash + ?Sized>(site: &'static Site, key: &K) -> Self {
        let mut call = Self::begin(site);
        call.who.key = Some(keys::hash(key));
        call
    }

    /// One attempt of a call whose function has no `#[retry]`. The future's output is how the call ended.
    #[inline]
    pub fn only<O: Ops, B: Future<Output = O::Return>>(&mut self, ops: O, body: B) -> Only<'_, Asks<O::Return>, B> {
        self.who.layers &= !LAYER_RETRY;
        Only {
            call: self,
            core: Core::new(ops.asks(), body),
        }
    }

    /// One attempt, with the pause before it if it is a repeat. The future's output says whether to run the body
    /// again.
    #[inline]
    pub fn attempt<O: Ops, B: Future<Output = O::Return>>(
        &mut self,
        ops: O,
        body: B,
    ) -> Attempt<'_, Asks<O::Return>, B> {
        self.late.rewind();
        Attempt {
            call: self,
            core: Core::new(ops.asks(), body),
        }
    }

    /// Whether the attempt that is made next may be followed by another: then its arguments have to be kept.
    #[inline]
    pub fn may_repeat(&mut self) -> bool {
        if !self.late.is_made()
            && let Some(entry) = self.who.site.installed()
        {
            let traits = entry.traits();
            if traits.is_plain() {
                if !traits.repeats() {
                    // Whatever a reload says until it begins: nobody keeps what a second attempt would need.
                    self.who.layers &= !LAYER_RETRY;
                }
                return self.who.layers & LAYER_RETRY != 0;
            }
        }
        self.calling().may_repeat()
    }

    /// The chain of fallbacks of a call that failed or was rejected.
    pub fn fall<O: Ops>(mut self, ops: O, end: End<O::Return>) -> Chain<O> {
        self.calling();
        fallback::fall(self.late, ops, end)
    }

    /// Keeps a good answer for the `stale` form.
    pub fn keep<O: Ops>(&self, ops: O, key: StaleKey, answer: &O::Return)
    where
        O::Value: Clone + Send + Sync + 'static,
    {
        match self.late.call() {
            Some(calling) => fallback::keep(calling.pinned(), ops, key, answer),
            None => fallback::keep(&self.who.site.entry().pin(), ops, key, answer),
        }
    }

    /// The call itself, out of a future that has no more use for it.
    fn take(&mut self) -> Self {
        Self {
            who: self.who,
            late: std::mem::take(&mut self.late),
        }
    }

    /// The call, from its begin if it has not begun.
    fn calling(&mut self) -> &mut Calling {
        let who = self.who;
        self.late.get_or_make(|| Calling::new(who.start(who.site.entry())))
    }

    /// The first poll of the first attempt; later ones go the long way.
    #[inline(always)]
    fn poll_early<O: Answers, B: Future<Output = O::Return>>(
        &mut self,
        layers: u8,
        core: Pin<&mut Core<O, B>>,
        cx: &mut Context<'_>,
    ) -> Early<O::Return> {
        if self.late.is_made() {
            return Early::LongWay;
        }
        if core.is_over() {
            return Early::Attempted(Poll::Pending);
        }
        let Some(entry) = self.who.site.installed() else {
            self.calling();
            return Early::LongWay;
        };
        let Self { who, late } = self;
        let who: &Who = who;
        let start = move || who.start(EntryRef::Installed(entry));
        core.poll_short(entry, (layers, move || who.key()), true, start, late, cx)
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
            this.core.give_back(&mut this.call.late);
        }
    }
}

impl<O: Answers, B: Future<Output = O::Return>> Future for Only<'_, O, B> {
    type Output = End<O::Return>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let layers = this.call.who.layers & !LAYER_RETRY;
        match this.call.poll_early(layers, this.core.as_mut(), cx) {
            Early::Answer(answer) => Poll::Ready(End::Value(answer)),
            Early::Refused(rejection) => Poll::Ready(End::Rejected(rejection)),
            Early::Attempted(polled) => polled.map(last),
            Early::LongWay => this.core.poll(&mut this.call.late, cx).map(last),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of [`Call::attempt`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Attempt<'c, O, B> {
        call: &'c mut Call,
        #[pin]
        core: Core<O, B>,
    }

    impl<O, B> PinnedDrop for Attempt<'_, O, B> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(&mut this.call.late);
        }
    }
}

impl<O: Answers, B: Future<Output = O::Return>> Future for Attempt<'_, O, B> {
    type Output = Turn<O::Return>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let layers = this.call.who.layers;
        match this.call.poll_early(layers, this.core.as_mut(), cx) {
            Early::Answer(answer) => Poll::Ready(Turn::End(End::Value(answer))),
            Early::Refused(rejection) => Poll::Ready(Turn::End(End::Rejected(rejection))),
            Early::Attempted(polled) => polled,
            Early::LongWay => this.core.poll(&mut this.call.late, cx),
        }
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
