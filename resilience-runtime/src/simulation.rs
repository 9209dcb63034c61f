//! What `resilience simulate` needs to run these very layers on a clock of its own. Not for people: it changes with the
//! command, version by version.

pub(crate) mod notes;

use std::time::Duration;

use resilience_policy::Policy;

pub use notes::{Note, listen};

pub use crate::clock::{Entered, advance, enter, fire, next_timer};

use crate::guard;
use crate::layer::breaker::Mark;
use crate::private::{Form, LAYER_BREAKER, LAYER_BULKHEAD, LAYER_RETRY, LAYER_TIMEOUT, Site, Spec};
use crate::rejection::Reason;
use crate::runtime::Runtime;
use crate::words::{Cause, State};

/// One of several instances, by its number.
pub fn runtime(policy: Policy, instance: u32) -> Runtime {
    Runtime::of_instance(policy, &instance.to_string())
}

/// An annotated function with every layer and `#[fallback(path)]`, or no fallback. It is leaked, as an annotated
/// function is a static.
pub fn function(dependency: &str, falls_back: bool) -> &'static Site {
    let forms: &'static [Form] = if falls_back {
        &[Form::Path("fallback")]
    } else {
        &[Form::None("simulated")]
    };
    Box::leak(Box::new(Site::new(Spec {
        dependency: dependency.to_owned().leak(),
        function: "simulated",
        module: "simulation",
        file: "",
        line: 0,
        package: "",
        policy_file: "",
        policy: "",
        layers: LAYER_BREAKER | LAYER_BULKHEAD | LAYER_RETRY | LAYER_TIMEOUT,
        forms,
        plain: false,
        here: || "simulated",
    })))
}

/// Whether a call would be let through at this moment, and what it would be told otherwise. Takes nothing. Where there is
/// no slot it is told what callers without one are told, whether or not it might wait for one.
///
/// # Errors
///
/// The reason and the time that the caller would be told.
pub fn would(runtime: &Runtime, dependency: &str) -> Result<(), (Reason, Option<Duration>)> {
    let Ok(entry) = runtime.entry(dependency) else {
        return Ok(());
    };
    let pinned = entry.pin();
    let full = pinned.bulkhead().filter(|(bulkhead, _)| !bulkhead.has_room());
    let told = full.map(|(_, numbers)| (Reason::BulkheadFull, Some(numbers.retry_after)));
    // Only a call that waits is told that the breaker is open; the others do not come so far.
    let waits = full.is_some_and(|(_, numbers)| numbers.max_waiting > 0 && !numbers.max_wait.is_zero());
    match (guard::would_admit(&entry), told) {
        (Ok(()), None) => Ok(()),
        (Err((Reason::Open | Reason::ProbesBusy, _)) | Ok(()), Some(told)) if !waits => Err(told),
        (Err((reason, left)), _) => Err((reason, left.map(Duration::from_nanos))),
        (Ok(()), Some(told)) => Err(told),
    }
}

/// The state of a breaker now; none where the dependency has none.
pub fn state(runtime: &Runtime, dependency: &str) -> Option<State> {
    let entry = runtime.entry(dependency).ok()?;
    guard::read_breaker(&entry.pin()).map(|reading| reading.state)
}

/// Slots taken, and their limit; none where the dependency has no bulkhead.
pub fn slots(runtime: &Runtime, dependency: &str) -> Option<(u32, u32)> {
    let pinned = runtime.entry(dependency).ok()?.pin();
    let (bulkhead, numbers) = pinned.bulkhead()?;
    Some((bulkhead.in_flight(), numbers.max_concurrent))
}

/// Fills the window with successes, and then opens the breaker where that is asked for, without a word to anybody.
pub fn start(runtime: &Runtime, dependency: &str, successes: u32, open: bool) {
    let Ok(entry) = runtime.entry(dependency) else { return };
    let pinned = entry.pin();
    let Some((breaker, _)) = pinned.breaker() else { return };
    let now = crate::clock::now();
    for _ in 0..successes {
        if let (Ok(permit), _) = breaker.admit(|| now, u64::MAX) {
            breaker.settle(permit, Mark::Success { slow: false }, || now);
        }
    }
    if open {
        breaker.trip(Cause::Trip, now);
    }
}
