//! A call that consists of several, each in books of its own.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use super::{Context, Way, one};
use crate::simulate::engine::World;
use crate::simulate::engine::far::Asker;
use crate::simulate::engine::meter::Outcome;
use crate::simulate::engine::passage::{Place, Ticket};

/// A part of a call, in books of its own.
pub(super) struct Part {
    context: Rc<Context>,
    pub(super) place: Place,
    ticket: Option<Ticket>,
}

impl Part {
    pub(super) fn begin(
        world: &Rc<World>,
        context: &Rc<Context>,
        account: usize,
        whole: Option<usize>,
        asker: Asker,
    ) -> Self {
        let ticket = world.begin(account, whole, context.instance, Some(asker));
        let place = ticket.place();
        if context.left.get() {
            world.leave(place);
        }
        context.parts.borrow_mut().push(place);
        Self {
            context: Rc::clone(context),
            place,
            ticket: Some(ticket),
        }
    }

    pub(super) fn end(mut self, outcome: Outcome) {
        if let Some(ticket) = self.ticket.take() {
            ticket.end(outcome);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.context.parts.borrow_mut().retain(|place| *place != self.place);
    }
}

/// A call that consists of several.
pub(super) async fn several(world: &Rc<World>, context: &Rc<Context>) -> Outcome {
    let caller = &world.scenario.callers[context.caller];
    let parts = world.meter.borrow().accounts[context.caller].parts.clone();
    let mut works: Vec<Pin<Box<dyn Future<Output = Outcome> + '_>>> = Vec::new();
    for account in parts {
        let path = world.meter.borrow().accounts[account].paths[0];
        works.push(Box::pin(part(world, context, account, path)));
    }
    let mut outcomes: Vec<Option<Outcome>> = vec![None; works.len()];
    if caller.together {
        poll_fn(|cx| {
            for (work, outcome) in works.iter_mut().zip(&mut outcomes) {
                if outcome.is_none()
                    && let Poll::Ready(ended) = work.as_mut().poll(cx)
                {
                    *outcome = Some(ended);
                }
            }
            if outcomes.iter().all(Option::is_some) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
    let mut saved = false;
    for ((work, outcome), name) in works.into_iter().zip(outcomes).zip(&caller.calls) {
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => work.await,
        };
        let optional = caller.optional.contains(name);
        saved |= outcome == Outcome::Saved || optional && !outcome.is_good();
        if !optional && !matches!(outcome, Outcome::Ok | Outcome::Saved) {
            return outcome;
        }
    }
    if saved { Outcome::Saved } else { Outcome::Ok }
}

async fn part(world: &Rc<World>, context: &Rc<Context>, account: usize, path: usize) -> Outcome {
    let asker = context.asker(path);
    let part = Part::begin(world, context, account, Some(context.caller), asker);
    let outcome = one(&Way::new(world, context, asker, part.place)).await;
    part.end(outcome);
    outcome
}
