//! A call, from its arrival to its end: through the guards that a service has, to the far side that the file describes.

mod fault;
mod function;
mod parts;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;

use resilience_runtime::{Failure, Reason, Rejection};

use super::World;
use super::chance::draw;
use super::events::{Class, Event};
use super::far::{Ask, Asker};
use super::meter::Outcome;
use super::passage::{Place, Ticket};
use super::paths::Guarding;
use super::pool;
use super::streams;
use crate::simulate::scenario::{Arrivals, Leaves, RecordedCall};
use fault::Fault;
use parts::several;

/// What the parts of one call share.
#[derive(Debug)]
pub(super) struct Context {
    caller: usize,
    instance: u32,
    key: Option<u64>,
    draw: u64,
    recorded: Option<RecordedCall>,
    place: Cell<Option<Place>>,
    /// Calls of which it consists, and those of its fallbacks, while they run.
    parts: RefCell<Vec<Place>>,
    left: Cell<bool>,
    /// Fresh starts that its caller may yet make.
    again: u32,
    /// Attempts of this caller that succeeded, over all its starts.
    successes: Rc<Cell<u32>>,
}

/// One call of one path.
#[derive(Debug)]
struct Way {
    world: Rc<World>,
    context: Rc<Context>,
    asker: Asker,
    place: Place,
    begun: Cell<u64>,
    ended: Cell<u64>,
}

/// The next call of a stream.
pub(super) fn arrive(world: &Rc<World>, caller: usize) {
    let next = world.streams.borrow_mut().next(&world.scenario, caller);
    if let Some(next) = next {
        world.events.borrow_mut().add_arrival(next, caller);
    }
    start(world, caller, world.scenario.callers[caller].again, Rc::default());
}

fn start(world: &Rc<World>, caller: usize, again: u32, successes: Rc<Cell<u32>>) {
    let described = &world.scenario.callers[caller];
    let number = {
        let mut streams = world.streams.borrow_mut();
        let stream = streams.of(caller);
        if stream.sold_out {
            return;
        }
        stream.made += 1;
        stream.made - 1
    };
    let recorded = match &described.arrivals {
        Arrivals::Recorded(calls) => usize::try_from(number)
            .ok()
            .and_then(|number| calls.get(number).copied()),
        _ => None,
    };
    let own = draw(&[world.scenario.seed, caller as u64, number]);
    let instance = u32::try_from(number % u64::from(world.scenario.instances)).unwrap_or(0);
    let context = Rc::new(Context {
        caller,
        instance,
        key: streams::key(described.keys, number, draw(&[own, 4]), recorded),
        draw: own,
        recorded,
        place: Cell::new(None),
        parts: RefCell::default(),
        left: Cell::new(false),
        again,
        successes,
    });
    let (task, number) = world.tasks.reserve();
    let only = described.calls.len() <= 1;
    let asker = only.then(|| context.asker(world.meter.borrow().accounts[caller].paths[0]));
    let ticket = world.begin(caller, None, instance, asker);
    context.place.set(Some(ticket.place()));
    if let Some(patience) = described.patience {
        world.later(patience, Class::Timeout, Event::Patience { task, number });
        world.patient.borrow_mut().insert(task, Rc::clone(&context));
    }
    let work = run(Rc::clone(world), context, ticket, asker, task);
    world.tasks.begin(task, Box::pin(work));
}

async fn run(world: Rc<World>, context: Rc<Context>, ticket: Ticket, asker: Option<Asker>, task: usize) {
    let outcome = match asker {
        Some(asker) => one(&Way::new(&world, &context, asker, ticket.place())).await,
        None => several(&world, &context).await,
    };
    if world.scenario.callers[context.caller].patience.is_some() {
        world.patient.borrow_mut().remove(&task);
    }
    if matches!(outcome, Outcome::Ok | Outcome::Saved) && !context.left.get() {
        world.sold(context.caller);
    }
    ticket.end(outcome);
}

/// A caller has waited long enough.
pub(super) fn lose_patience(world: &Rc<World>, task: usize, number: u64) {
    if !world.tasks.is(task, number) {
        return;
    }
    let Some(context) = world.patient.borrow_mut().remove(&task) else {
        return;
    };
    match world.scenario.callers[context.caller].leaves {
        Leaves::Drop => world.tasks.drop_task(task),
        Leaves::Orphan => {
            context.left.set(true);
            let parts = context.parts.borrow().clone();
            for place in context.place.get().into_iter().chain(parts) {
                world.leave(place);
            }
        }
    }
    if let Some(again) = context.again.checked_sub(1) {
        start(world, context.caller, again, Rc::clone(&context.successes));
    }
}

impl World {
    fn sold(&self, caller: usize) {
        let Some(stock) = self.scenario.callers[caller].stock else {
            return;
        };
        let mut streams = self.streams.borrow_mut();
        let stream = streams.of(caller);
        stream.sold += 1;
        if stream.sold == stock {
            stream.sold_out = true;
            let now = self.now.get();
            let meter = &mut *self.meter.borrow_mut();
            meter.accounts[caller].each(meter.active, |stretch| stretch.sold_out = Some(now));
        }
    }
}

impl Context {
    fn asker(&self, path: usize) -> Asker {
        Asker {
            path,
            instance: self.instance,
            key: self.key,
            draw: draw(&[self.draw, path as u64]),
            recorded: self.recorded,
        }
    }
}

impl Way {
    fn new(world: &Rc<World>, context: &Rc<Context>, asker: Asker, place: Place) -> Rc<Self> {
        Rc::new(Self {
            world: Rc::clone(world),
            context: Rc::clone(context),
            asker,
            place,
            begun: Cell::new(0),
            ended: Cell::new(0),
        })
    }

    fn pool(&self) -> Option<(usize, usize)> {
        let pool = self.world.paths[self.asker.path].pool?;
        Some((pool, self.asker.instance as usize))
    }

    /// What a rejection is in the books. A deadline that passed while an attempt ran cut it, as a timeout does.
    fn rejected(&self, rejection: &Rejection) -> Outcome {
        let cut = self.begun.get() > self.ended.get();
        match rejection.reason() {
            Reason::TimedOut => Outcome::TimedOut,
            Reason::DeadlineExceeded if cut => Outcome::TimedOut,
            reason => {
                let told = rejection.retry_after();
                Outcome::Rejected(
                    reason,
                    told.map(|told| u64::try_from(told.as_nanos()).unwrap_or(u64::MAX)),
                )
            }
        }
    }
}

/// One call of one path, as its guards let it.
async fn one(way: &Rc<Way>) -> Outcome {
    let path = &way.world.paths[way.asker.path];
    let mut _connection = None;
    if let Some(pool) = way.pool().filter(|_| path.pool_outside) {
        way.world.flies(way.place);
        match pool::take(&way.world, pool).await {
            Ok(connection) => _connection = Some(connection),
            Err(_) => return Outcome::Failed,
        }
    }
    match &path.guards[way.asker.instance as usize] {
        Guarding::None => attempt(Rc::clone(way))
            .await
            .map_or_else(|fault| fault.outcome(), |()| Outcome::Ok),
        Guarding::Guard(guard) => {
            let call = guard.call(|| attempt(Rc::clone(way)));
            match watched(&way.world, way.place, call).await {
                Ok(()) => Outcome::Ok,
                Err(Failure::Error(fault)) => fault.outcome(),
                Err(Failure::Rejected(rejection)) => way.rejected(&rejection),
            }
        }
        Guarding::Function(site, runtime) => runtime.scope(function::call(way, site)).await,
    }
}

/// Polls a guard, with the notes it tells being about this call.
async fn watched<F: Future>(world: &Rc<World>, place: Place, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let before = world.turn_to(Some(place));
        let polled = future.as_mut().poll(cx);
        world.turn_to(before);
        polled
    })
    .await
}

/// One attempt: a connection, and the far side's answer.
async fn attempt(way: Rc<Way>) -> Result<(), Fault> {
    let number = way.begun.get() + 1;
    way.begun.set(number);
    way.world.flies(way.place);
    let answered = reach(&way, number).await;
    way.ended.set(way.ended.get() + 1);
    answered
}

async fn reach(way: &Rc<Way>, number: u64) -> Result<(), Fault> {
    let inside = way.pool().filter(|_| !way.world.paths[way.asker.path].pool_outside);
    let _connection = match inside {
        Some(pool) => Some(pool::take(&way.world, pool).await.map_err(|_| Fault::Connect)?),
        None => None,
    };
    way.world.reaches(way.place);
    let _work = Work(way);
    let dealt = way.world.dealt(way.place);
    let (answer, retry_after) = Ask::new(&way.world, way.asker, dealt, number).await;
    Fault::of(answer, retry_after)?;
    let successes = way.context.successes.get() + 1;
    way.context.successes.set(successes);
    if successes == 2 {
        let meter = &mut *way.world.meter.borrow_mut();
        meter.accounts[way.context.caller].each(meter.active, |stretch| stretch.twice += 1);
    }
    Ok(())
}

/// An attempt at the far side. When it is over and nobody has been waiting for it, it was in vain.
struct Work<'w>(&'w Rc<Way>);

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let Way { world, context, .. } = &**self.0;
        if context.left.get() {
            let meter = &mut *world.meter.borrow_mut();
            meter.accounts[context.caller].each(meter.active, |stretch| stretch.abandoned += 1);
        }
    }
}
