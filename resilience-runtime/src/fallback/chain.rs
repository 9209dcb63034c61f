//! What a chain knows while it goes from form to form, and the forms that need no time.

mod ending;

use std::any::{Any, TypeId};
use std::fmt::Display;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use resilience_policy::Fail;

use super::answer::Answer;
use super::key::{StaleKey, flight_key};
use super::one_per::OnePer;
use super::run::{Bound, Ran};
use super::slots::Slot;
use super::{Kind, State};
use crate::clock;
use crate::degraded;
use crate::dependency::Pinned;
use crate::event::{self, Served};
use crate::failure::Failure;
use crate::guard::{Calling, Late};
use crate::identity::Identity;
use crate::ops::{End, Ops};
use crate::outcome::Outcome;
use crate::private::Form;
use crate::rejection::{Reason, Rejection};
use crate::served::Freshness;

/// The fallbacks of one call, on their way.
///
/// What a caller gets when no form answers: the error of the last form where that one ran; else the body's own error,
/// or the rejection as an error. Where a `with` took the body's error and gave none back, the nearest thing that is
/// left.
#[must_use = "the last form of a chain ends the call"]
pub struct Chain<O: Ops> {
    ops: O,
    /// The call; gone when a form has ended it.
    call: Late,
    identity: &'static Identity,
    rejection: Option<Rejection>,
    /// What the body gave; gone when `with` took its error.
    own: Option<O::Return>,
    /// Why the chain began, once somebody asked: the reason of the rejection or the class of the failure.
    first: Option<&'static str>,
    /// The error of the form that ran last and had one, with the form's number.
    error: Option<(usize, O::Error)>,
    /// What cut a form short that had taken the body's error.
    cut: Option<Reason>,
    panic: Option<Box<dyn Any + Send>>,
    slot: Option<Slot>,
    /// The form that is tried, and the time it has.
    form: usize,
    bound: Option<Bound>,
}

impl<O: Ops> Chain<O> {
    pub(super) fn new(call: Late, ops: O, end: End<O::Return>) -> Self {
        let (own, rejection) = match end {
            End::Rejected(rejection) => (None, Some(rejection)),
            End::Failed(own) | End::Value(own) => (Some(own), None),
        };
        Self {
            ops,
            identity: call.pinned().identity,
            call,
            rejection,
            own,
            first: None,
            error: None,
            cut: None,
            panic: None,
            slot: None,
            form: 0,
            bound: None,
        }
    }

    /// Whether form number `form`, a `path` or a `with`, may run; it holds a slot from here on.
    pub fn offers(&mut self, form: usize) -> bool {
        if !self.offers_shared(form) {
            return false;
        }
        self.slot = self
            .pinned()
            .and_then(|pinned| Slot::take(&pinned.fallback, max(pinned)));
        if self.slot.is_none() {
            self.shed(&NO_SLOT);
        }
        self.slot.is_some()
    }

    /// The same for a form with `one_per`, which takes its slot when it turns out to be the one that runs.
    pub fn offers_shared(&mut self, form: usize) -> bool {
        self.slot = None;
        self.bound = None;
        self.form = form;
        let Some(call) = self.call.call().filter(|_| self.may_answer()) else {
            return false;
        };
        let bound = Bound::of(call);
        if bound.is_over() {
            self.shed(&"no time is left");
            return false;
        }
        self.bound = Some(bound);
        true
    }

    /// What `with` gets: why the call has no answer, or why the form before had none.
    pub fn failure(&mut self) -> Option<Failure<O::Error>> {
        let failure = self.take_failure();
        if failure.is_none() {
            self.slot = None;
        }
        failure
    }

    fn take_failure(&mut self) -> Option<Failure<O::Error>> {
        if let Some(rejection) = &self.rejection {
            return Some(Failure::Rejected(rejection.clone()));
        }
        self.first();
        if let Some(own) = self.own.take() {
            return match self.ops.into_error(own) {
                Ok(error) => Some(Failure::Error(error)),
                Err(own) => {
                    self.own = Some(own);
                    None
                }
            };
        }
        if let Some((_, error)) = self.error.take() {
            return Some(Failure::Error(error));
        }
        self.cut_short().map(Failure::Rejected)
    }

    /// Runs `path` or `with`.
    pub fn answer<F: Future<Output = O::Return>>(&mut self, fallback: F) -> Answer<'_, O, F> {
        let slot = self.slot.take();
        Answer::new(self, slot, fallback)
    }

    /// Runs `path` or `with`, or waits for the run that another call began for the same key.
    pub fn one_per<K, F>(&mut self, key: &K, fallback: F) -> OnePer<'_, O, F>
    where
        K: Hash + ?Sized,
        F: Future<Output = O::Return>,
        O::Return: Clone + Send + Sync + 'static,
    {
        let site = self.call.call().and_then(Calling::site);
        let key = flight_key::<K, O::Return>(site, self.form, key);
        OnePer::new(self, key, fallback)
    }

    /// The last good answer for `key`, if there is one that is young enough.
    pub fn stale(&mut self, form: usize, key: StaleKey) -> Option<O::Return>
    where
        O::Value: Clone + Send + Sync + 'static,
    {
        self.form = form;
        let pinned = self.pinned().filter(|_| self.may_answer())?;
        let max_age = clock::nanos(pinned.settings.fallback.max_stale);
        let kept = (key, TypeId::of::<O::Value>());
        let (shared, age) = pinned.fallback.stale.get(kept, clock::now(), max_age)?;
        let shared = shared.downcast_ref::<O::Value>()?;
        // `Clone` is the user's: outside the lock, and not trusted.
        match catch_unwind(AssertUnwindSafe(|| shared.clone())) {
            Ok(value) => {
                let answer = self.ops.succeed(value);
                Some(self.serve(Kind::Stale, answer, Freshness::Stale { age }))
            }
            Err(panic) => {
                self.panicked(panic);
                None
            }
        }
    }

    pub(super) fn pinned(&self) -> Option<&Pinned> {
        self.call.call().map(Calling::pinned)
    }

    /// What a running form needs: the call's numbers and what the dependency's fallbacks share.
    pub(super) fn shared(&self) -> Option<(Arc<State>, u32)> {
        self.pinned().map(|pinned| (Arc::clone(&pinned.fallback), max(pinned)))
    }

    pub(super) fn take_bound(&mut self) -> Option<Bound> {
        self.bound.take()
    }

    /// A form ran. An error lets the chain go on, and so does a form that did not come to its end.
    pub(super) fn ran(&mut self, ran: Ran<O::Return>) -> Option<O::Return> {
        match ran {
            Ran::Answered(answer) => match self.ops.answered(answer) {
                Ok(answer) => return Some(self.serve(self.kind(), answer, Freshness::Fallback)),
                Err(error) => {
                    self.declined(&"it returned an error");
                    self.error = Some((self.form, error));
                }
            },
            Ran::Late(reason) => {
                self.declined(&"its time was up");
                self.cut = Some(reason);
            }
            Ran::Panicked(panic) => self.panicked(panic),
        }
        None
    }

    /// A form with `one_per` was to run and found no slot; a `with` holds the body's error by then.
    pub(super) fn found_no_slot(&mut self) {
        self.shed(&NO_SLOT);
        self.cut = Some(Reason::BulkheadFull);
    }

    fn panicked(&mut self, panic: Box<dyn Any + Send>) {
        self.declined(&"it panicked");
        self.panic = Some(panic);
    }

    /// The operator may have closed what was open when the code was written.
    fn may_answer(&self) -> bool {
        self.pinned().is_some_and(|pinned| pinned.settings.fail == Fail::Open)
    }

    fn kind(&self) -> Kind {
        let site = self.call.call().and_then(Calling::site);
        match site.and_then(|site| site.spec().forms.get(self.form)) {
            Some(Form::With(_)) => Kind::With,
            Some(Form::Stale) => Kind::Stale,
            Some(Form::Value) => Kind::Value,
            Some(Form::Refuse(_)) => Kind::Refuse,
            Some(Form::None(_)) => Kind::None,
            Some(Form::Path(_)) | None => Kind::Path,
        }
    }

    /// `classify` is asked again rather than have every call carry its word; while the body's answer is still here.
    fn first(&mut self) -> &'static str {
        let (rejection, own, ops) = (&self.rejection, &self.own, self.ops);
        self.first.get_or_insert_with(|| match (rejection, own) {
            (Some(rejection), _) => rejection.reason().as_str(),
            (None, Some(own)) => ops.judge(own).word(),
            (None, None) => Outcome::Ignored.word(),
        })
    }

    fn declined(&mut self, why: &dyn Display) {
        self.tell(why, false);
    }

    /// A bound did what it is there for: under load this happens with every second call, and is no news.
    fn shed(&mut self, why: &dyn Display) {
        self.tell(why, true);
    }

    fn tell(&mut self, why: &dyn Display, shed: bool) {
        let first = self.first();
        let Some(call) = self.call.call() else { return };
        event::fallback_failed(call.pinned(), call.function(), self.kind().as_str(), why, first, shed);
    }

    fn serve(&mut self, kind: Kind, mut answer: O::Return, freshness: Freshness) -> O::Return {
        self.ops.mark(&mut answer, freshness);
        degraded::note(self.identity, kind.as_str(), self.first());
        self.end(
            Some(kind),
            if kind == Kind::Stale {
                Served::Stale
            } else {
                Served::Fallback
            },
        );
        answer
    }

    /// Ends the call. User code that follows may panic without the call being counted as dropped.
    fn end(&mut self, kind: Option<Kind>, served: Served) {
        let first = kind.map(|_| self.first());
        let mut late = std::mem::take(&mut self.call);
        if let Some(call) = late.call_mut() {
            if let (Some(kind), Some(first)) = (kind, first) {
                call.pinned().fallback.count(kind, first);
                if let Some(site) = call.site() {
                    site.answered(self.form);
                }
            }
            call.close(served);
        }
    }

    /// A rejection for who lost the body's error to a form that was cut short.
    fn cut_short(&self) -> Option<Rejection> {
        self.cut.map(|reason| Rejection::new(self.identity, reason, None))
    }
}

const NO_SLOT: &str = "no slot is free, see `fallback.max_concurrent`";

fn max(pinned: &Pinned) -> u32 {
    pinned.settings.fallback.max_concurrent
}
