//! A call with a key or a fallback: what the attributes weave round an annotated function, by the same interface.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use resilience_runtime::private::{Call, End, Ops, Site, Turn, ops};

use super::fault::Fault;
use super::parts::Part;
use super::{Way, attempt, one, watched};
use crate::simulate::engine::far::Ask;
use crate::simulate::engine::meter::Outcome;
use crate::simulate::engine::paths::{Fallback, Work};
use crate::simulate::scenario::{Answer, RecordedCall};

type Answered = Result<(), Fault>;

/// Runs inside the scope of its instance.
pub(super) async fn call(way: &Rc<Way>, site: &'static Site) -> Outcome {
    let ops = ops::<Answered, _, _>();
    let mut call = match way.asker.key {
        Some(key) => Call::begin_keyed(site, &key),
        None => Call::begin(site),
    };
    let attempts = async {
        loop {
            if let Turn::End(end) = call.attempt(ops, attempt(Rc::clone(way))).await {
                break end;
            }
        }
    };
    let end = watched(&way.world, way.place, attempts).await;
    let own = match &end {
        End::Value(answer) | End::Failed(answer) => answer.as_ref().map_or_else(Fault::outcome, |()| Outcome::Ok),
        End::Rejected(rejection) => way.rejected(rejection),
    };
    if matches!(end, End::Value(_)) {
        return own;
    }
    let fallback = way.world.paths[way.asker.path].fallback.clone();
    if fall(way, call, ops, end, fallback).await {
        Outcome::Saved
    } else {
        own
    }
}

/// Whether the fallback answered.
async fn fall<O>(way: &Rc<Way>, call: Call, ops: O, end: End<Answered>, fallback: Option<Fallback>) -> bool
where
    O: Ops<Return = Answered> + resilience_runtime::private::Refuses,
{
    let mut chain = call.fall(ops, end);
    let Some(fallback) = fallback else {
        // The answer is the call's own, which is known.
        let _ = chain.none(0);
        return false;
    };
    let answer = if fallback.one_per_key {
        if chain.offers_shared(0) {
            chain.one_per(&way.asker.key, work(Rc::clone(way), fallback.does)).await
        } else {
            None
        }
    } else if chain.offers(0) {
        chain.answer(work(Rc::clone(way), fallback.does)).await
    } else {
        None
    };
    if answer.is_none() {
        let _ = chain.dry();
    }
    answer.is_some()
}

/// The work of a fallback. Boxed, as what it calls may have a fallback, too.
fn work(way: Rc<Way>, does: Work) -> Pin<Box<dyn Future<Output = Answered>>> {
    Box::pin(async move {
        let _slot = Slot::take(&way);
        let (world, context) = (&way.world, &way.context);
        match does {
            Work::Take(latency) => {
                let mut asker = way.asker;
                asker.recorded = Some(RecordedCall {
                    at: 0,
                    latency,
                    answer: Answer::Success,
                    key: None,
                });
                Ask::new(world, asker, None, 0).await;
                Ok(())
            }
            Work::Call { path, account } => {
                let asker = context.asker(path);
                let part = Part::begin(world, context, account, None, asker);
                let outcome = one(&Way::new(world, context, asker, part.place)).await;
                part.end(outcome);
                match outcome {
                    Outcome::Ok | Outcome::Saved => Ok(()),
                    Outcome::Business => Err(Fault::Business),
                    Outcome::Failed | Outcome::TimedOut => Err(Fault::Server),
                    Outcome::Rejected(..) => Err(Fault::Nested),
                }
            }
        }
    })
}

/// A fallback that runs, counted.
struct Slot(Rc<Way>);

impl Slot {
    fn take(way: &Rc<Way>) -> Self {
        let slot = Self(Rc::clone(way));
        slot.count(true);
        slot
    }

    fn count(&self, more: bool) {
        let meter = &mut *self.0.world.meter.borrow_mut();
        meter.paths[self.0.asker.path].falls(meter.active, more);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.count(false);
    }
}
