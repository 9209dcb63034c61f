//! Instances that tell each other what they counted, as they do through a store that is always there.

use resilience_policy::{Evidence, Policy};
use resilience_runtime::Runtime;

use super::World;
use super::events::{Class, Event};
use super::paths::Path;
use crate::simulate::scenario::Nanos;

/// The runtimes of all instances, where the policy pools what they count.
#[derive(Debug)]
pub(super) struct Fleet {
    runtimes: Vec<Runtime>,
    interval: Nanos,
}

impl Fleet {
    pub(super) fn of(policy: Option<&Policy>, paths: &[Path]) -> Option<Self> {
        let settings = policy?.fleet().filter(|fleet| fleet.evidence == Evidence::Pooled)?;
        // Each path has the runtimes of all instances.
        let runtimes = paths.first()?.runtimes.clone();
        let interval = Nanos::try_from(settings.interval.as_nanos()).ok()?;
        (runtimes.len() > 1).then_some(Self { runtimes, interval })
    }

    pub(super) fn interval(&self) -> Nanos {
        self.interval
    }
}

impl World {
    /// All tell, then all hear.
    pub(super) fn exchange(&self) {
        let Some(fleet) = &self.fleet else { return };
        let counted: Vec<_> = fleet.runtimes.iter().map(Runtime::counted).collect();
        for runtime in &fleet.runtimes {
            runtime.pool(&counted);
        }
        self.later(fleet.interval, Class::Exchange, Event::Exchange);
    }
}
