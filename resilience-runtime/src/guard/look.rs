//! Looks at a guard that take nothing.

use resilience_policy::Mode;

use super::enter::split;
use crate::clock::{self, NEVER, nanos};
use crate::dependency::{Entry, Pinned};
use crate::event;
use crate::layer::breaker::Reading;
use crate::rejection::Reason;

/// Whether a call of this name would be admitted now, with every layer that it has; else why not, and what it would be
/// told. Takes nothing.
#[inline]
pub(crate) fn would_admit(entry: &Entry) -> Result<(), (Reason, Option<u64>)> {
    let pinned = entry.pin();
    match pinned.mode {
        Mode::Observe | Mode::Off => return Ok(()),
        Mode::Isolate => {
            let left = (pinned.until != NEVER).then(|| pinned.until.saturating_sub(clock::now()));
            return Err((Reason::Isolated, left));
        }
        Mode::Enforce => {}
    }
    if let Some(left) = pinned.hold().left(clock::now) {
        return Err((Reason::Held, Some(left)));
    }
    if let Some((breaker, _)) = pinned.breaker() {
        let (answer, made) = breaker.would_admit(clock::now());
        for transition in made.into_iter().flatten() {
            event::transition(&pinned, transition);
        }
        if let Err(refusal) = answer {
            let (reason, left) = split(refusal);
            return Err((reason, Some(left)));
        }
    }
    if let Some((bulkhead, numbers)) = pinned.bulkhead() {
        let may_wait = !numbers.max_wait.is_zero() && bulkhead.waiting() < numbers.max_waiting;
        if !bulkhead.has_room() && !may_wait {
            return Err((Reason::BulkheadFull, Some(nanos(numbers.retry_after))));
        }
    }
    Ok(())
}

/// The state of a breaker as it is now, transitions reported.
#[inline]
pub(crate) fn read_breaker(pinned: &Pinned) -> Option<Reading> {
    let (breaker, _) = pinned.breaker()?;
    let (reading, made) = breaker.read(clock::now());
    for transition in made.into_iter().flatten() {
        event::transition(pinned, transition);
    }
    Some(reading)
}
