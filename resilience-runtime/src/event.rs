//! What is reported. The guard, the runtime and the watcher make events; observers turn them into
//! logs, metrics and records. Names and fields are stable, and never under a lock.

mod why;

use std::fmt::{self, Display};
use std::time::Duration;

use crate::attempts::Ending;
use crate::dependency::Pinned;
pub(crate) use crate::history::Pooled;
use crate::layer::breaker::Transition;
use crate::observe;
use crate::outcome::Outcome;
use crate::rejection::Rejection;

/// The target of every event.
pub(crate) const TARGET: &str = "resilience";

/// Who answered a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Primary,
    Fallback,
    Stale,
    Error,
}

impl Served {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Primary, Self::Fallback, Self::Stale, Self::Error];

    /// The word used in JSON and labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Fallback => "fallback",
            Self::Stale => "stale",
            Self::Error => "error",
        }
    }
}

/// One event, borrowing from where it happened, so that an event nobody reads costs nothing.
#[non_exhaustive]
pub(crate) enum Event<'a> {
    Transition {
        dependency: &'a str,
        instance: &'a str,
        from: &'static str,
        to: &'static str,
        cause: &'static str,
        failure_rate: Option<f64>,
        slow_rate: Option<f64>,
        calls: u32,
        cooldown_ms: Option<u64>,
        /// The number that decided, with its place.
        threshold: &'a dyn Display,
        /// Attempts since the change before, by outcome.
        counts: &'a dyn Display,
        /// The last kinds of bad results, newest first.
        kinds: &'a dyn Display,
        policy_hash: &'a str,
        /// Where the counts come from, if not from this instance alone.
        evidence: Option<&'a dyn Display>,
    },
    Rejected {
        dependency: &'a str,
        function: &'a str,
        reason: &'static str,
        retry_after_ms: Option<u64>,
        /// The mode let it through all the same.
        observed: bool,
    },
    Sample {
        dependency: &'a str,
        outcome: &'static str,
        slow: bool,
    },
    /// A dependency asked for a longer wait than is obeyed.
    HoldCut {
        dependency: &'a str,
        asked_ms: u64,
        obeyed_ms: u64,
    },
    FallbackFailed {
        dependency: &'a str,
        function: &'a str,
        kind: &'static str,
        why: &'a dyn Display,
        first: &'static str,
        /// It had no slot or no time: its bounds did what they are there for.
        shed: bool,
    },
    /// A policy is in force.
    Reloaded {
        file: &'a str,
        hash: &'a str,
        changes: usize,
        detail: &'a dyn Display,
    },
    /// A policy or overrides file was refused; what was in force stays.
    Refused {
        file: &'a str,
        error: &'a dyn Display,
    },
    Missing {
        file: &'a str,
    },
    /// The policy has a fleet, and nothing in this process meets it.
    FleetUnread {
        file: &'a str,
    },
    OverrideSet {
        dependency: &'a str,
        mode: &'static str,
        by: &'a str,
        reason: &'a str,
        seconds: u64,
    },
    OverrideExpiring {
        dependency: &'a str,
        mode: &'static str,
        by: &'a str,
        seconds: u64,
    },
    OverrideExpired {
        dependency: &'a str,
        mode: &'static str,
        by: &'a str,
    },
}

/// The value of a field, as it is recorded.
#[derive(Clone, Copy)]
pub(crate) enum Field<'a> {
    Text(&'a str),
    Shown(&'a dyn Display),
    Number(u64),
    Rate(f64),
    Bool(bool),
}

impl Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Shown(shown) => shown.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Bool(yes) => yes.fmt(f),
        }
    }
}

impl<'a> Event<'a> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Transition { .. } => "breaker.transition",
            Self::Rejected { .. } => "call.rejected",
            Self::Sample { .. } => "breaker.sample",
            Self::HoldCut { .. } => "hold.cut",
            Self::FallbackFailed { .. } => "fallback.failed",
            Self::Reloaded { .. } => "policy.reloaded",
            Self::Refused { .. } => "policy.refused",
            Self::Missing { .. } => "policy.missing",
            Self::FleetUnread { .. } => "fleet.unread",
            Self::OverrideSet { .. } => "override.set",
            Self::OverrideExpiring { .. } => "override.expiring",
            Self::OverrideExpired { .. } => "override.expired",
        }
    }

    /// Every field but an absent one, by name.
    #[cfg_attr(not(feature = "testing"), allow(dead_code))] // read by records only
    #[allow(clippy::too_many_lines)] // an arm for each event, with nothing to share
    pub(crate) fn fields(&self) -> Vec<(&'static str, Field<'a>)> {
        use Field::{Bool, Number, Rate, Shown, Text};
        let mut fields = Vec::new();
        match *self {
            Self::Transition {
                dependency,
                instance,
                from,
                to,
                cause,
                failure_rate,
                slow_rate,
                calls,
                cooldown_ms,
                threshold,
                counts,
                kinds,
                policy_hash,
                evidence,
            } => {
                fields.extend([
                    ("dependency", Text(dependency)),
                    ("instance", Text(instance)),
                    ("from", Text(from)),
                    ("to", Text(to)),
                    ("cause", Text(cause)),
                    ("calls", Number(u64::from(calls))),
                ]);
                fields.extend(failure_rate.map(|rate| ("failure_rate", Rate(rate))));
                fields.extend(slow_rate.map(|rate| ("slow_rate", Rate(rate))));
                fields.extend(cooldown_ms.map(|ms| ("cooldown_ms", Number(ms))));
                fields.extend([
                    ("threshold", Shown(threshold)),
                    ("counts", Shown(counts)),
                    ("kinds", Shown(kinds)),
                    ("policy_hash", Text(policy_hash)),
                ]);
                fields.extend(evidence.map(|evidence| ("evidence", Shown(evidence))));
            }
            Self::Rejected {
                dependency,
                function,
                reason,
                retry_after_ms,
                observed,
            } => {
                fields.extend([
                    ("dependency", Text(dependency)),
                    ("function", Text(function)),
                    ("reason", Text(reason)),
                    ("observed", Bool(observed)),
                ]);
                fields.extend(retry_after_ms.map(|ms| ("retry_after_ms", Number(ms))));
            }
            Self::Sample {
                dependency,
                outcome,
                slow,
            } => {
                fields.extend([
                    ("dependency", Text(dependency)),
                    ("outcome", Text(outcome)),
                    ("slow", Bool(slow)),
                ]);
            }
            Self::HoldCut {
                dependency,
                asked_ms,
                obeyed_ms,
            } => fields.extend([
                ("dependency", Text(dependency)),
                ("asked_ms", Number(asked_ms)),
                ("obeyed_ms", Number(obeyed_ms)),
            ]),
            Self::FallbackFailed {
                dependency,
                function,
                kind,
                why,
                first,
                shed,
            } => fields.extend([
                ("dependency", Text(dependency)),
                ("function", Text(function)),
                ("kind", Text(kind)),
                ("why", Shown(why)),
                ("first", Text(first)),
                ("shed", Bool(shed)),
            ]),
            Self::Reloaded {
                file,
                hash,
                changes,
                detail,
            } => fields.extend([
                ("file", Text(file)),
                ("hash", Text(hash)),
                ("changes", Number(changes as u64)),
                ("detail", Shown(detail)),
            ]),
            Self::Refused { file, error } => fields.extend([("file", Text(file)), ("error", Shown(error))]),
            Self::Missing { file } | Self::FleetUnread { file } => fields.push(("file", Text(file))),
            Self::OverrideSet {
                dependency,
                mode,
                by,
                reason,
                seconds,
            } => fields.extend([
                ("dependency", Text(dependency)),
                ("mode", Text(mode)),
                ("by", Text(by)),
                ("reason", Text(reason)),
                ("seconds", Number(seconds)),
            ]),
            Self::OverrideExpiring {
                dependency,
                mode,
                by,
                seconds,
            } => fields.extend([
                ("dependency", Text(dependency)),
                ("mode", Text(mode)),
                ("by", Text(by)),
                ("seconds", Number(seconds)),
            ]),
            Self::OverrideExpired { dependency, mode, by } => {
                fields.extend([("dependency", Text(dependency)), ("mode", Text(mode)), ("by", Text(by))]);
            }
        }
        fields
    }
}

/// Hands an event to every observer.
pub(crate) fn emit(event: &Event<'_>) {
    observe::tracing::event(event);
    #[cfg(feature = "testing")]
    crate::testing::note(event);
}

pub(crate) fn transition(pinned: &Pinned, made: Transition) {
    transition_by(pinned, made, None);
}

/// A change that an attempt made which ended well; only its call will count it.
pub(crate) fn transition_by(pinned: &Pinned, made: Transition, by: Option<Ending>) {
    tell_transition(pinned, made, by, None);
}

/// A change that own results and those of other instances made together.
#[inline]
pub(crate) fn transition_pooled(pinned: &Pinned, made: Transition, pooled: Pooled) {
    tell_transition(pinned, made, None, Some(pooled));
}

fn tell_transition(pinned: &Pinned, made: Transition, by: Option<Ending>, pooled: Option<Pooled>) {
    let Some(numbers) = &pinned.settings.breaker else {
        return;
    };
    #[cfg(feature = "simulation")]
    crate::simulation::notes::tell(crate::simulation::notes::Note::Transition {
        breaker: (pinned.breaker_name(), pinned.instance()),
        from: made.from.as_str(),
        to: made.to.as_str(),
        cause: made.cause.as_str(),
        at: made.at,
        cooldown: made.cooldown,
    });
    let record = why::keep(pinned, numbers, made, by, pooled);
    let evidence = record
        .change
        .pooled
        .map(|pooled| why::Evidence(record.change.cause, pooled));
    emit(&Event::Transition {
        dependency: pinned.breaker_name(),
        instance: pinned.instance(),
        from: record.change.from.as_str(),
        to: record.change.to.as_str(),
        cause: record.change.cause.as_str(),
        failure_rate: record.change.failure_rate,
        slow_rate: record.change.slow_rate,
        calls: record.change.calls,
        cooldown_ms: record.change.cooldown.map(|nanos| nanos / 1_000_000),
        threshold: &why::Threshold(&record),
        counts: &why::Counts(&record),
        kinds: &why::Kinds(&record),
        policy_hash: &record.policy,
        evidence: evidence.as_ref().map(|evidence| evidence as &dyn Display),
    });
}

/// Refusing is to cost less than serving, so nothing is put together for nobody.
#[inline]
pub(crate) fn rejected(function: &str, rejection: &Rejection, observed: bool) {
    rejected_as(function, || rejection.clone(), observed);
}

/// The same of a rejection that is made only where somebody hears of it.
#[inline]
pub(crate) fn rejected_as(function: &str, rejection: impl FnOnce() -> Rejection, observed: bool) {
    if cfg!(feature = "testing") || observe::tracing::hears_debug() {
        tell_rejected(function, &rejection(), observed);
    }
}

#[cold]
fn tell_rejected(function: &str, rejection: &Rejection, observed: bool) {
    emit(&Event::Rejected {
        dependency: rejection.dependency(),
        function,
        reason: rejection.reason().as_str(),
        retry_after_ms: rejection
            .retry_after()
            .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        observed,
    });
}

pub(crate) fn sample(pinned: &Pinned, outcome: Outcome, slow: bool) {
    emit(&Event::Sample {
        dependency: pinned.breaker_name(),
        outcome: outcome.word(),
        slow,
    });
}

pub(crate) fn hold_cut(pinned: &Pinned, asked: Duration, obeyed: Duration) {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    emit(&Event::HoldCut {
        dependency: pinned.identity.name(),
        asked_ms: ms(asked),
        obeyed_ms: ms(obeyed),
    });
}

/// `first` is what the call itself ended with: the reason of its rejection, or the word of its failure.
pub(crate) fn fallback_failed(
    pinned: &Pinned,
    function: &str,
    kind: &'static str,
    why: &dyn Display,
    first: &'static str,
    shed: bool,
) {
    emit(&Event::FallbackFailed {
        dependency: pinned.identity.name(),
        function,
        kind,
        why,
        first,
        shed,
    });
}

#[cfg(test)]
mod tests;
