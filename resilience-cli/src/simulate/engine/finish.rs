//! From books to a report, and looks on the way.

use resilience_policy::Policy;
use resilience_runtime::simulation;

use super::World;
use super::meter::{Account, PathStretch, Stretch, each};
use crate::simulate::report::{Ended, Look, PhaseSummary, Report, Summary, seconds_of};
use crate::simulate::scenario::Nanos;

impl World {
    /// A stretch ends: what there is at its end is written down.
    pub(super) fn sum_up(&self, stretch: usize) {
        let oldest: Vec<_> = (0..self.meter.borrow().accounts.len())
            .map(|account| self.oldest(account))
            .collect();
        let ended: Vec<_> = (0..self.paths.len()).map(|path| self.ended(path)).collect();
        let pools: Vec<_> = self
            .meter
            .borrow()
            .accounts
            .iter()
            .map(|account| self.pool_of(account))
            .collect();
        let meter = &mut *self.meter.borrow_mut();
        for ((account, oldest), pool) in meter.accounts.iter_mut().zip(oldest).zip(pools) {
            let gauges = account.gauges(pool);
            account.each(1 << stretch, |stretch| {
                stretch.gauges = gauges;
                stretch.oldest = oldest;
            });
        }
        for (path, ended) in meter.paths.iter_mut().zip(ended) {
            path.stretches[stretch].ended = ended;
        }
        meter.end(stretch);
    }

    fn ended(&self, path: usize) -> Vec<Ended> {
        let path = &self.paths[path];
        let state = |instance: usize| {
            let state = simulation::state(path.runtime(instance)?, &path.name)?;
            Some(Ended {
                dependency: path.name.clone(),
                instance: u32::try_from(instance).unwrap_or(u32::MAX),
                state: state.as_str(),
            })
        };
        (0..path.guards.len())
            .filter(|_| path.has_breaker)
            .filter_map(state)
            .collect()
    }

    /// How everything is at this moment.
    pub(super) fn look(&self) {
        let at = seconds_of(self.now.get());
        for (number, path) in self.paths.iter().enumerate() {
            for instance in 0..path.guards.len() {
                let runtime = path.runtime(instance);
                let would = runtime.map(|runtime| simulation::would(runtime, &path.name));
                let (would, told) = match would {
                    Some(Err((reason, told))) => (reason.as_str(), told),
                    Some(Ok(())) | None => ("admit", None),
                };
                let pool = path.pool.map(|pool| self.pools[pool][instance].borrow());
                let (pool_used, pool_waiting) = pool.map_or((0, 0), |pool| (pool.used(), pool.waiting()));
                let state = runtime.and_then(|runtime| simulation::state(runtime, &path.name));
                let load = self.meter.borrow().paths[number].loads[instance];
                self.looks.borrow_mut().push(Look {
                    at,
                    dependency: path.name.clone(),
                    instance: u32::try_from(instance).unwrap_or(u32::MAX),
                    state: state.map(resilience_runtime::State::as_str),
                    tasks: load.in_flight + load.waiting,
                    in_flight: load.in_flight,
                    waiting: load.waiting,
                    pool_used,
                    pool_waiting,
                    would,
                    retry_after_s: told.map(|told| told.as_secs_f64()),
                });
            }
        }
    }
}

pub(super) fn report(world: &World, policy: Option<&Policy>) -> Report {
    world.believe_the_rest();
    let active = world.meter.borrow().active;
    for stretch in each(active) {
        world.sum_up(stretch);
    }
    let meter = world.meter.borrow();
    let scenario = &world.scenario;
    let shown = || meter.accounts.iter().filter(|account| account.shown);
    let phase = |(number, name): (usize, &str)| {
        shown()
            .map(|account| PhaseSummary {
                name: name.to_owned(),
                caller: account.name.clone(),
                summary: summary(world, account, number + 1),
            })
            .collect::<Vec<_>>()
    };
    let mut transitions = std::mem::take(&mut world.breakers.borrow_mut().transitions);
    transitions.sort_by_key(|(at, _)| *at);
    Report {
        name: scenario.name.clone(),
        policy_hash: policy.map(|policy| policy.hash().to_owned()),
        summary: shown()
            .map(|account| (account.name.clone(), summary(world, account, 0)))
            .collect(),
        phases: scenario
            .phases
            .iter()
            .enumerate()
            .flat_map(|(number, described)| phase((number, &described.name)))
            .collect(),
        transitions: transitions.into_iter().map(|(_, made)| made).collect(),
        looks: std::mem::take(&mut world.looks.borrow_mut()),
        seconds: meter.seconds.clone(),
    }
}

fn summary(world: &World, account: &Account, stretch: usize) -> Summary {
    let meter = world.meter.borrow();
    let Stretch {
        tally,
        first_ok,
        last_ok,
        first_rejection,
        first_failure,
        first_timeout,
        first_left,
        sold_out,
        longest_ok,
        ended,
        abandoned,
        twice,
        kept: (kept, promised),
        refused_working,
        gauges,
        oldest,
    } = &account.stretches[stretch];
    let at = |nanos: &Option<Nanos>| nanos.map(seconds_of);
    let mut sorted = ended.clone();
    sorted.sort_unstable();
    let mut summary = Summary {
        counts: tally.finish(),
        gauges: *gauges,
        first_ok_s: at(first_ok),
        last_ok_s: at(last_ok),
        first_rejection_s: first_rejection.map(|(at, _)| seconds_of(at)),
        first_rejection_reason: first_rejection.map(|(_, reason)| reason.as_str()),
        first_failure_s: at(first_failure),
        first_timeout_s: at(first_timeout),
        first_left_s: at(first_left),
        sold_out_s: at(sold_out),
        longest_ok_s: at(longest_ok),
        oldest_s: at(oldest),
        mean_ms: mean(&sorted),
        p50_ms: super::meter::percentile(&sorted, 50),
        p99_ms: super::meter::percentile(&sorted, 99),
        abandoned: *abandoned,
        twice: *twice,
        #[allow(clippy::cast_precision_loss)] // a share of calls
        retry_after_kept: (*promised > 0).then(|| *kept as f64 / *promised as f64),
        refused_working: *refused_working,
        ..Summary::default()
    };
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for path in &account.paths {
        let own = &meter.paths[*path].stretches[stretch];
        take_in(&mut summary, own);
        let owner = &meter.paths[world.paths[*path].breaker].stretches[stretch];
        opened.extend_from_slice(&owner.opened);
        closed.extend_from_slice(&owner.closed);
        summary.ended.extend_from_slice(&owner.ended);
        let recorded = &mut summary.recorded;
        recorded.success += owner.recorded.success;
        recorded.failure += owner.recorded.failure;
        recorded.slow += owner.recorded.slow;
        recorded.ignored += owner.recorded.ignored;
        recorded.late += owner.recorded.late;
    }
    opened.sort_unstable();
    closed.sort_unstable();
    summary.opened_s = opened.into_iter().map(seconds_of).collect();
    summary.closed_s = closed.into_iter().map(seconds_of).collect();
    summary.calls = account
        .parts
        .iter()
        .map(|part| {
            let part = &meter.accounts[*part];
            (part.name.clone(), self::summary(world, part, stretch))
        })
        .collect();
    summary
}

/// What a path's books add to a caller's: of several paths the highest peak, and who was full first.
fn take_in(summary: &mut Summary, path: &PathStretch) {
    let full = path.full.map(seconds_of);
    summary.full_s = match (summary.full_s, full) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    for (peak, other) in [
        (&mut summary.peak_in_flight, path.peak_in_flight),
        (&mut summary.peak_waiting, path.peak_waiting),
        (&mut summary.peak_tasks, path.peak_tasks),
        (&mut summary.peak_pool_used, path.peak_pool_used),
        (&mut summary.peak_pool_waiting, path.peak_pool_waiting),
        (&mut summary.peak_fallbacks, path.peak_fallbacks),
    ] {
        *peak = (*peak).max(other);
    }
}

#[allow(clippy::cast_precision_loss)] // sums of durations that are shown to a few digits
fn mean(lasted: &[Nanos]) -> Option<f64> {
    let sum: u128 = lasted.iter().map(|lasted| u128::from(*lasted)).sum();
    (!lasted.is_empty()).then(|| sum as f64 / lasted.len() as f64 / 1e6)
}
