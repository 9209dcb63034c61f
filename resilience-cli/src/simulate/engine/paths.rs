//! The paths of a scenario: a dependency, an operation, or what an unguarded caller does; each with its guards.

use std::cell::RefCell;

use resilience_policy::Policy;
use resilience_runtime::private::Site;
use resilience_runtime::{Guard, Runtime, simulation};

use super::far::Far;
use super::meter::Account;
use crate::simulate::scenario::{Does, Keys, Nanos, Scenario};

/// One path.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) name: String,
    pub(super) operation: Option<String>,
    /// Which far side it has; an operation shares its dependency's.
    pub(super) far: usize,
    pub(super) pool: Option<usize>,
    /// A connection is taken before the breaker and the timeout.
    pub(super) pool_outside: bool,
    /// The path whose breaker it uses.
    pub(super) breaker: usize,
    pub(super) has_breaker: bool,
    pub(super) has_slots: bool,
    /// By instance.
    pub(super) guards: Vec<Guarding>,
    pub(super) runtimes: Vec<Runtime>,
    pub(super) fallback: Option<Fallback>,
}

/// How calls of a path are guarded.
#[derive(Debug)]
pub(super) enum Guarding {
    None,
    Guard(Guard),
    /// With a key or a fallback: what the macros make of an annotated function.
    Function(&'static Site, Runtime),
}

/// What the fallback of a path does.
#[derive(Debug, Clone)]
pub(super) struct Fallback {
    pub(super) does: Work,
    pub(super) one_per_key: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Calls another path, in the books of an account of its own.
    Call {
        path: usize,
        account: usize,
    },
    Take(Nanos),
}

/// What a scenario is made of.
pub(super) struct Built {
    pub(super) paths: Vec<Path>,
    pub(super) fars: Vec<RefCell<Far>>,
    pub(super) accounts: Vec<Account>,
}

pub(super) fn build(scenario: &Scenario, policy: Option<&Policy>) -> Built {
    let runtimes: Vec<Runtime> = policy.map_or_else(Vec::new, |policy| {
        (0..scenario.instances)
            .map(|instance| simulation::runtime(policy.clone(), instance))
            .collect()
    });
    let names = names(scenario, policy);
    let place = |name: &str| names.iter().position(|(known, _)| known == name);
    let mut groups: Vec<String> = Vec::new();
    let mut paths: Vec<Path> = Vec::new();
    for (name, guarded) in &names {
        let settings = policy.filter(|_| *guarded).and_then(|policy| policy.dependency(name));
        let parent = settings.and_then(|settings| settings.parent.as_deref());
        let (group, operation) = match name.split_once('.').filter(|_| *guarded) {
            Some((group, operation)) => (group, Some(operation.to_owned())),
            None => (name.as_str(), None),
        };
        let far = groups.iter().position(|known| known == group).unwrap_or_else(|| {
            groups.push(group.to_owned());
            groups.len() - 1
        });
        let of = |wanted: &str| {
            scenario
                .pools
                .iter()
                .position(|pool| pool.of.iter().any(|of| of == wanted))
        };
        let pool = of(name).or_else(|| of(group));
        let shares = settings.is_some_and(|settings| settings.breaker_shared);
        let breaker = parent.filter(|_| shares).and_then(place);
        let keyed = scenario
            .callers
            .iter()
            .any(|caller| caller.keys != Keys::None && caller.calls.contains(name));
        let bulkhead = settings.and_then(|settings| settings.bulkhead.as_ref());
        let falls_back = scenario.fallbacks.contains_key(name) && settings.is_some();
        let function = falls_back || keyed && bulkhead.is_some_and(|numbers| numbers.per_key.is_some());
        let site = function.then(|| simulation::function(name, falls_back));
        let guards = (0..scenario.instances as usize).map(|instance| match (runtimes.get(instance), site) {
            (Some(runtime), Some(site)) if *guarded => Guarding::Function(site, runtime.clone()),
            (Some(runtime), None) if *guarded => {
                Guarding::Guard(runtime.guard(name).expect("names were looked up in the policy before"))
            }
            _ => Guarding::None,
        });
        paths.push(Path {
            operation,
            far,
            pool,
            pool_outside: pool.is_some_and(|pool| scenario.pools[pool].outside),
            breaker: breaker.unwrap_or(paths.len()),
            has_breaker: settings.is_some_and(|settings| settings.breaker.is_some()),
            has_slots: bulkhead.is_some(),
            guards: guards.collect(),
            runtimes: runtimes.clone(),
            fallback: None,
            name: name.clone(),
        });
    }
    let mut built = Built {
        fars: groups
            .iter()
            .map(|group| RefCell::new(Far::new(scenario.far.get(group).cloned().unwrap_or_default())))
            .collect(),
        accounts: accounts(scenario, &place),
        paths,
    };
    fallbacks(scenario, policy, &place, &mut built);
    for (name, start) in &scenario.starts {
        for runtime in &runtimes {
            simulation::start(runtime, name, start.successes, start.open);
        }
    }
    built
}

/// Every path's name, and whether it is guarded: dependencies that are called, those whose breaker an operation shares,
/// and callers that call none.
fn names(scenario: &Scenario, policy: Option<&Policy>) -> Vec<(String, bool)> {
    let mut names: Vec<(String, bool)> = Vec::new();
    let add = |name: &str, guarded: bool, names: &mut Vec<(String, bool)>| {
        if !names.iter().any(|(known, _)| known == name) {
            names.push((name.to_owned(), guarded));
        }
    };
    for caller in &scenario.callers {
        for call in &caller.calls {
            let settings = policy.and_then(|policy| policy.dependency(call));
            if let Some(parent) = settings.and_then(|settings| settings.parent.as_deref()) {
                add(parent, true, &mut names);
            }
            add(call, true, &mut names);
        }
    }
    for fallback in scenario.fallbacks.values() {
        if let Does::Call(name) = &fallback.does {
            add(name, true, &mut names);
        }
    }
    for caller in scenario.callers.iter().filter(|caller| caller.calls.is_empty()) {
        add(&caller.name, false, &mut names);
    }
    names
}

fn accounts(scenario: &Scenario, place: &dyn Fn(&str) -> Option<usize>) -> Vec<Account> {
    let stretches = 1 + scenario.phases.len();
    let mut accounts: Vec<Account> = scenario
        .callers
        .iter()
        .map(|caller| {
            let own = std::slice::from_ref(&caller.name);
            let calls = if caller.calls.is_empty() { own } else { &caller.calls };
            let paths = calls.iter().filter_map(|name| place(name)).collect();
            Account::new(caller.name.clone(), true, paths, stretches)
        })
        .collect();
    for (at, caller) in scenario.callers.iter().enumerate() {
        if caller.calls.len() > 1 {
            for name in &caller.calls {
                let paths = place(name).into_iter().collect();
                let part = accounts.len();
                accounts[at].parts.push(part);
                accounts.push(Account::new(name.clone(), false, paths, stretches));
            }
        }
    }
    accounts
}

fn fallbacks(scenario: &Scenario, policy: Option<&Policy>, place: &dyn Fn(&str) -> Option<usize>, built: &mut Built) {
    for (name, fallback) in &scenario.fallbacks {
        let Some(at) = place(name) else { continue };
        let does = match &fallback.does {
            Does::Take(nanos) => Work::Take(*nanos),
            Does::Call(called) => {
                let Some(path) = place(called) else { continue };
                let shown = policy.is_some();
                let account = Account::new(
                    format!("{name} (fallback)"),
                    shown,
                    vec![path],
                    1 + scenario.phases.len(),
                );
                built.accounts.push(account);
                Work::Call {
                    path,
                    account: built.accounts.len() - 1,
                }
            }
        };
        built.paths[at].fallback = Some(Fallback {
            does,
            one_per_key: fallback.one_per_key,
        });
    }
}

impl Path {
    pub(super) fn runtime(&self, instance: usize) -> Option<&Runtime> {
        self.runtimes
            .get(instance)
            .filter(|_| !matches!(self.guards[instance], Guarding::None))
    }
}
