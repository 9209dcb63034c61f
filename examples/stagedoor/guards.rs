//! What the running policy says of its dependencies, as any dashboard would read it.

use resilience_runtime::{DependencySnapshot, PolicySnapshot, Runtime, Snapshot};

use crate::service::Route;

pub(crate) struct Guards(Snapshot);

impl Guards {
    pub(crate) fn read() -> Self {
        Self(Runtime::current().snapshot())
    }

    pub(crate) fn policy(&self) -> &PolicySnapshot {
        &self.0.policy
    }

    /// Nothing where the policy in force does not name it.
    pub(crate) fn of(&self, route: Route) -> Option<&DependencySnapshot> {
        self.0.dependency(route.dependency())
    }

    pub(crate) fn states(&self) -> [&'static str; 3] {
        Route::ALL.map(|route| self.of(route).and_then(|guard| guard.state).unwrap_or("-"))
    }
}
