//! What a simulation is told of an attempt and its breaker.

use crate::dependency::Pinned;
use crate::layer::breaker::{Breaker, Kind, Mark, Permit};
use crate::simulation::notes::{Note, tell};

fn name(pinned: &Pinned) -> (&str, &str) {
    (pinned.breaker_name(), pinned.instance())
}

fn is_probe(permit: &Permit) -> bool {
    matches!(permit.kind(), Kind::Probe(_))
}

pub(super) fn admitted(pinned: &Pinned, breaker: &Breaker, permit: &Permit) {
    if is_probe(permit) {
        tell(Note::Probe {
            breaker: name(pinned),
            ramp: breaker.is_ramping(),
        });
    }
}

/// Before the breaker takes it.
pub(super) fn result(pinned: &Pinned, breaker: &Breaker, permit: &Permit, mark: Mark) {
    if permit.kind() == Kind::Sample {
        return;
    }
    let (failed, slow) = match mark {
        Mark::Success { slow } => (Some(false), slow),
        Mark::Failure { slow, .. } => (Some(true), slow),
        Mark::Uncounted => (None, false),
    };
    tell(Note::Result {
        breaker: name(pinned),
        failed,
        slow,
        late: breaker.is_over(permit),
        probe: is_probe(permit),
    });
}

/// A call that was dropped is no result, but the place of its probe is free.
pub(super) fn abandoned(pinned: &Pinned, permit: &Permit) {
    if is_probe(permit) {
        tell(Note::Freed { breaker: name(pinned) });
    }
}
