//! The engine: the guards that run in production, and round them a world that is described.
//!
//! One thread, one clock. The clock stands while anything is ready to be polled, and then goes to the next thing that
//! happens: of the world's own (see [`events`]), or a timer of a guard. Nothing is polled but by what happened.

mod breakers;
mod call;
mod chance;
mod events;
mod far;
mod finish;
mod fleet;
mod meter;
mod passage;
mod paths;
mod pool;
mod streams;
mod tasks;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use resilience_policy::Policy;
use resilience_runtime::simulation;

use super::report::Report;
use super::scenario::{Nanos, Scenario};
use events::{Class, Event, Events};
use far::{Far, Running};
use meter::Meter;
use passage::Passages;
use paths::Path;
use pool::{Pool, Pools, Waiters};
use streams::Streams;
use tasks::Tasks;

/// What the guards' clock shows at 0 s of a scenario. It never shows 0, and windows of time are cut at whole slices.
const BASE: u64 = 86_400_000_000_000;
/// How often progress is told.
const TOLD: u64 = 1 << 16;

/// Runs a scenario, under a policy or without any guard. `progress` hears the share that is done.
///
/// # Panics
///
/// When the policy lacks a dependency that the scenario names.
pub(crate) fn run(scenario: &Scenario, policy: Option<&Policy>, progress: impl Fn(f64) + Sync) -> Report {
    // Time, timers and draws are a thread's own, so that runs know nothing of each other.
    std::thread::scope(|scope| {
        let run = std::thread::Builder::new()
            .name("simulation".into())
            .spawn_scoped(scope, || simulate(scenario, policy, &progress))
            .expect("a machine that runs this can start one more thread");
        match run.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn simulate(scenario: &Scenario, policy: Option<&Policy>, progress: &dyn Fn(f64)) -> Report {
    let _entered = simulation::enter(BASE);
    fastrand::seed(scenario.seed);
    let world = World::new(scenario, policy);
    breakers::listen(&world);
    world.go(progress);
    let report = finish::report(&world, policy);
    // What still runs holds the world.
    simulation::listen(None);
    world.tasks.clear();
    report
}

/// Everything that there is.
struct World {
    scenario: Rc<Scenario>,
    now: Cell<Nanos>,
    events: RefCell<Events>,
    tasks: Tasks,
    paths: Vec<Path>,
    fars: Vec<RefCell<Far>>,
    running: RefCell<Running>,
    pools: Pools,
    waiters: RefCell<Waiters>,
    streams: RefCell<Streams>,
    passages: RefCell<Passages>,
    /// Calls whose callers may leave, by task.
    patient: RefCell<HashMap<usize, Rc<call::Context>>>,
    breakers: RefCell<breakers::Breakers>,
    fleet: Option<fleet::Fleet>,
    meter: RefCell<Meter>,
    looks: RefCell<Vec<super::report::Look>>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).finish_non_exhaustive()
    }
}

impl World {
    fn new(scenario: &Scenario, policy: Option<&Policy>) -> Rc<Self> {
        let scenario = Rc::new(scenario.clone());
        let built = paths::build(&scenario, policy);
        let instances = scenario.instances as usize;
        let pools = scenario
            .pools
            .iter()
            .map(|settings| (0..instances).map(|_| RefCell::new(Pool::new(settings))).collect())
            .collect();
        let stretches = 1 + scenario.phases.len();
        let rows = scenario.duration.div_ceil(scenario.step);
        let path_meters = built
            .paths
            .iter()
            .map(|_| meter::PathMeter::new(instances, stretches))
            .collect();
        let world = Rc::new(Self {
            now: Cell::new(0),
            events: RefCell::default(),
            tasks: Tasks::new(),
            fars: built.fars,
            running: RefCell::default(),
            pools,
            waiters: RefCell::default(),
            streams: RefCell::new(Streams::new(&scenario)),
            passages: RefCell::default(),
            patient: RefCell::default(),
            breakers: RefCell::new(breakers::Breakers::new(built.paths.len(), instances)),
            fleet: fleet::Fleet::of(policy, &built.paths),
            meter: RefCell::new(Meter::new(built.accounts, path_meters, scenario.step, rows)),
            looks: RefCell::default(),
            paths: built.paths,
            scenario,
        });
        world.foresee();
        world
    }

    /// What is known to happen from the beginning on.
    fn foresee(&self) {
        let scenario = &self.scenario;
        let mut events = self.events.borrow_mut();
        for (at, phase) in scenario.phases.iter().enumerate() {
            // One that ends where another begins ends first.
            events.add(phase.to, Class::Bound, Event::PhaseEnds(at));
        }
        for (at, phase) in scenario.phases.iter().enumerate() {
            events.add(phase.from, Class::Bound, Event::PhaseBegins(at));
        }
        for (path, far) in self.paths.iter().zip(0..) {
            let entries = self.fars[path.far].borrow();
            for (entry, described) in entries.entries().iter().enumerate() {
                if described.stretch && self.paths.iter().position(|other| other.far == path.far) == Some(far) {
                    events.add(described.from, Class::FarSide, Event::Stretches { path: far, entry });
                }
            }
        }
        for at in &scenario.look_at {
            events.add(*at, Class::Look, Event::Look);
        }
        if let Some(fleet) = &self.fleet {
            events.add(fleet.interval(), Class::Exchange, Event::Exchange);
        }
        for caller in 0..scenario.callers.len() {
            if let Some(first) = self.streams.borrow_mut().next(scenario, caller) {
                events.add_arrival(first, caller);
            }
        }
    }

    fn go(self: &Rc<Self>, progress: &dyn Fn(f64)) {
        let duration = self.scenario.duration;
        let mut steps: u64 = 0;
        loop {
            steps += 1;
            if steps.is_multiple_of(TOLD) {
                progress(super::report::seconds_of(self.now.get()) / super::report::seconds_of(duration));
            }
            let own = self.events.borrow().first();
            let timer = simulation::next_timer().map(|at| (at - BASE, Class::Timeout));
            let is_timer = match (own, timer) {
                (None, None) => break,
                (Some(own), Some(timer)) => timer <= own,
                (_, timer) => timer.is_some(),
            };
            let at = if is_timer { timer } else { own }.map_or(duration, |(at, _)| at);
            if at >= duration {
                break;
            }
            self.pass(at);
            if is_timer {
                simulation::fire();
            } else if let Some(event) = self.take() {
                self.happen(event);
            }
            self.tasks.run();
        }
        self.pass(duration);
        if self.scenario.look_at.last() == Some(&duration) {
            self.look();
        }
        progress(1.0);
    }

    fn take(&self) -> Option<Event> {
        self.events.borrow_mut().take()
    }

    fn pass(&self, now: Nanos) {
        if now != self.now.get() {
            self.meter.borrow_mut().pass(now, |account| self.pool_of(account));
            self.now.set(now);
            simulation::advance(BASE + now);
        }
    }

    fn happen(self: &Rc<Self>, event: Event) {
        match event {
            Event::PhaseBegins(phase) => self.meter.borrow_mut().begin(phase + 1),
            Event::PhaseEnds(phase) => self.sum_up(phase + 1),
            Event::Stretches { path, entry } => far::stretch(self, path, entry),
            Event::Answered { place, number } => self.running.borrow_mut().finish(place, number),
            Event::PoolPatience { place, number } => {
                self.waiters.borrow_mut().refuse(place, number);
            }
            Event::Patience { task, number } => call::lose_patience(self, task, number),
            Event::Arrives { caller } => call::arrive(self, caller),
            Event::Exchange => self.exchange(),
            Event::Look => self.look(),
        }
    }

    /// Something happens after so long.
    fn later(&self, after: Nanos, class: Class, event: Event) {
        let at = self.now.get().saturating_add(after);
        self.events.borrow_mut().add(at, class, event);
    }

    fn far_of<T>(&self, path: usize, act: impl FnOnce(&mut Far) -> T) -> T {
        act(&mut self.fars[self.paths[path].far].borrow_mut())
    }

    fn with_pool<T>(&self, (pool, instance): (usize, usize), act: impl FnOnce(&mut Pool) -> T) -> T {
        act(&mut self.pools[pool][instance].borrow_mut())
    }

    /// Connections taken and waited for, of all instances.
    fn pool_load(&self, pool: usize) -> (u64, u64) {
        self.pools[pool].iter().fold((0, 0), |(used, waiting), pool| {
            let pool = pool.borrow();
            (used + pool.used(), waiting + pool.waiting())
        })
    }

    fn pool_of(&self, account: &meter::Account) -> (u64, u64) {
        let mut pools: Vec<_> = account.paths.iter().filter_map(|path| self.paths[*path].pool).collect();
        pools.sort_unstable();
        pools.dedup();
        let loads = pools.into_iter().map(|pool| self.pool_load(pool));
        loads.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// The connections of a pool are other than they were.
    fn pool_changed(&self, (pool, _): (usize, usize)) {
        let (used, waiting) = self.pool_load(pool);
        let all = self.scenario.pools[pool].size * u64::from(self.scenario.instances);
        let now = self.now.get();
        let meter = &mut *self.meter.borrow_mut();
        for (path, books) in self.paths.iter().zip(&mut meter.paths) {
            if path.pool != Some(pool) {
                continue;
            }
            (books.pool_used, books.pool_waiting) = (used, waiting);
            books.observe(meter.active);
            if used == all && !path.has_slots {
                books.each(meter.active, |stretch| {
                    stretch.full.get_or_insert(now);
                });
            }
        }
    }
}
