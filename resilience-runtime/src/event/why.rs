//! Why a breaker changed its state: what was known at that moment, put together and kept. No lock of the breaker's is
//! held any more.

use std::fmt::{self, Display};

use resilience_policy::Breaker as Numbers;

use crate::attempts::Ending;
use crate::dependency::Pinned;
use crate::history::{Change, Pooled, Record};
use crate::layer::breaker::{Totals, Transition, rate};
use crate::words::Cause;

/// Keeps a change in the history of its breaker, and gives what was kept. `by` is a good attempt whose call is not
/// counted yet.
pub(super) fn keep(
    pinned: &Pinned,
    numbers: &Numbers,
    made: Transition,
    by: Option<Ending>,
    pooled: Option<Pooled>,
) -> Record {
    let state = pinned.breaker_state();
    let mut counts = state.breaker_counts();
    if let Some(good @ (Ending::Success | Ending::Business)) = by {
        counts.ended[good.place()] += 1;
    }
    let change = Change {
        at: made.at,
        from: made.from,
        to: made.to,
        cause: made.cause,
        calls: made.totals.calls,
        failure_rate: rate(made.totals.failed, made.totals, numbers),
        slow_rate: rate(made.totals.slow, made.totals, numbers),
        bad_rate: rate(made.totals.bad, made.totals, numbers),
        cooldown: made.cooldown,
        pooled,
    };
    state.history.change(change, counts, &pinned.settings, &pinned.policy)
}

/// The number that decided, with its place. Looked up only where somebody reads it.
pub(super) struct Threshold<'r>(pub(super) &'r Record);

impl Display for Threshold<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(decided) = self.0.threshold() else {
            return f.write_str("by hand");
        };
        write!(f, "{} = {}", decided.key, decided.value)?;
        match (&decided.file, decided.line) {
            (Some(file), Some(line)) => write!(f, " at {file}:{line}"),
            (Some(variable), None) => write!(f, " by {variable}"),
            (None, _) => f.write_str(", built in"),
        }
    }
}

/// Where the counts of a pooled change come from: `own 3 of 3, fleet of 8 instances 21 of 24`.
pub(super) struct Evidence(pub(super) Cause, pub(super) Pooled);

impl Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(cause, Pooled { own, fleet, instances }) = self;
        let of = |totals: &Totals| match cause {
            Cause::SlowRate => totals.slow,
            Cause::BadRate => totals.bad,
            _ => totals.failed,
        };
        write!(
            f,
            "own {} of {}, fleet of {instances} instances {} of {}",
            of(own),
            own.calls,
            of(fleet),
            fleet.calls
        )
    }
}

/// The kinds of the last bad results.
pub(super) struct Kinds<'r>(pub(super) &'r Record);

impl Display for Kinds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, kind) in self.0.kinds().enumerate() {
            write!(f, "{}{kind}", if place > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The outcomes that happened, with how often.
pub(super) struct Counts<'r>(pub(super) &'r Record);

impl Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { counts, .. } = self.0;
        let mut first = true;
        let mut one = |name: &str, count: u64| {
            let comma = if std::mem::take(&mut first) { "" } else { ", " };
            write!(f, "{comma}{count} {name}")
        };
        for ending in Ending::ALL {
            let count = counts.of(ending);
            if count > 0 {
                let name = match ending {
                    Ending::Failure(kind) => kind.as_str(),
                    ending => ending.outcome(),
                };
                one(name, count)?;
            }
        }
        if counts.slow > 0 {
            one("slow", counts.slow)?;
        }
        Ok(())
    }
}
