//! What is so of one name, read where it stands.

use std::collections::BTreeMap;
use std::time::Duration;

use resilience_policy::names::sorted;
use resilience_policy::{Dependency as Settings, FailureKind};

use super::{DependencySnapshot, OverrideSnapshot, UntriedSnapshot, in_flight, record, unix};
use crate::attempts::{Counts, Ending};
use crate::clock;
use crate::dependency::{Entry, Pinned};
use crate::event::Served;
use crate::guard::read_breaker;
use crate::history::{FLAPPING, History};
use crate::layer::breaker::rate;
use crate::mode::Active;
use crate::runtime::{forms_of, functions_of, sites_of};
use crate::tally::CallOutcome;
use crate::words::State;

#[inline]
pub(super) fn of_entry(entry: &Entry) -> DependencySnapshot {
    let pinned = entry.pin();
    let now = clock::now();
    let reading = read_breaker(&pinned);
    let numbers = pinned.settings.breaker.as_ref();
    let totals = reading.map(|reading| reading.totals).unwrap_or_default();
    let share = |count| numbers.and_then(|numbers| rate(count, totals, numbers));
    let bulkhead = pinned.bulkhead();
    let (settings, own) = (&*pinned.settings, &*pinned.own);
    let (ended, counts) = (own.tally.ended(), own.counts());
    // Where the breaker is another name's, its changes are told there, and here too.
    let history = numbers.map(|_| &pinned.breaker_state().history);
    let openings = history.map_or(0, |history| history.openings(now));
    DependencySnapshot {
        state: reading.map(|reading| reading.state.as_str()),
        mode: pinned.mode.as_str(),
        cause: reading
            .and_then(|reading| reading.cause)
            .map(crate::words::Cause::as_str),
        since: reading.map(|reading| unix(record::wall_at(reading.since, now))),
        calls: totals.calls,
        failure_rate: share(totals.failed),
        slow_rate: share(totals.slow),
        bad_rate: share(totals.bad),
        retry_after: retry_after(&pinned, reading.and_then(|reading| reading.retry_after)),
        in_flight: in_flight(&pinned),
        limit: bulkhead.map(|(_, numbers)| numbers.max_concurrent),
        waiting: bulkhead.map_or(0, |(bulkhead, _)| bulkhead.waiting()),
        max_waiting: bulkhead.map(|(_, numbers)| numbers.max_waiting),
        retry_budget: pinned.retry().map(|(budget, numbers)| budget.left(numbers, now)),
        fallbacks: pinned.own_fallbacks(),
        degraded_ratio: pinned.own.tally.degraded_ratio(now),
        overridden: pinned.active.as_deref().map(of_override),
        functions: functions_of(&entry.name),
        about: settings.about.clone(),
        fail: settings.fail.as_str(),
        agreed: settings.agreed.clone(),
        window: numbers.map(|numbers| numbers.window.to_string()),
        minimum_calls: numbers.map(|numbers| numbers.minimum_calls),
        open_for: reading
            .and_then(|reading| reading.left_closed)
            .map(|left| seconds(now.saturating_sub(left))),
        next_probe_in: reading
            .filter(|reading| reading.state == State::Open)
            .and_then(|reading| reading.retry_after)
            .map(seconds),
        opened: history
            .and_then(History::opened)
            .map(|record| record::transition(&record, now)),
        transitions: history
            .map(History::last)
            .unwrap_or_default()
            .iter()
            .map(|record| record::transition(record, now))
            .collect(),
        openings,
        flapping: openings >= FLAPPING,
        outcomes: counted(
            CallOutcome::ALL
                .iter()
                .map(|outcome| (outcome.as_str(), ended[*outcome as usize].iter().sum())),
        ),
        served: counted(
            Served::ALL
                .iter()
                .map(|served| (served.as_str(), ended.iter().map(|row| row[*served as usize]).sum())),
        ),
        uncounted: uncounted(&counts, settings),
        attempts: by_word(&counts),
        rejections: counted(own.tally.rejections().map(|(reason, count)| (reason.as_str(), count))),
        retries: own.attempts.retries(),
        probes: history.map(|history| probes(history.probes())).unwrap_or_default(),
        never_ran: never_ran(&pinned, &entry.name),
        untried: untried(&pinned, &entry.name),
        numbers: record::numbers(&pinned),
        others: None,
    }
}

#[inline]
fn retry_after(pinned: &Pinned, breaker: Option<u64>) -> Option<f64> {
    let held = pinned.hold().left(clock::now);
    breaker.max(held).map(seconds)
}

#[inline]
fn of_override(active: &Active) -> OverrideSnapshot {
    let set = &active.set;
    OverrideSnapshot {
        mode: set.mode.as_str(),
        by: set.by.clone(),
        reason: set.reason.clone(),
        until: unix(set.until),
        answer: set.answer.clone(),
    }
}

/// Not collected: that sorts first, and would be compiled for each of these once more.
#[inline]
fn counted(counts: impl Iterator<Item = (&'static str, u64)>) -> BTreeMap<&'static str, u64> {
    let mut by_word = BTreeMap::new();
    by_word.extend(counts);
    by_word
}

/// Attempts by the word of their outcome, of a failure by its kind.
#[inline]
fn by_word(counts: &Counts) -> BTreeMap<&'static str, u64> {
    let word = |ending| match ending {
        Ending::Failure(kind) => FailureKind::as_str(kind),
        ending => ending.outcome(),
    };
    counted(Ending::ALL.iter().map(|ending| (word(*ending), counts.of(*ending))))
}

#[inline]
fn uncounted(counts: &Counts, settings: &Settings) -> BTreeMap<&'static str, u64> {
    let unlisted = FailureKind::ALL
        .iter()
        .filter(|kind| !settings.failures.contains(**kind))
        .map(|kind| (kind.as_str(), counts.of(Ending::Failure(*kind))));
    let neither = [Ending::Throttled, Ending::Ignored].map(|ending| (ending.outcome(), counts.of(ending)));
    counted(unlisted.chain(neither).filter(|(_, count)| *count > 0))
}

/// Probes by the word of their outcome; failures of all kinds together.
#[inline]
fn probes(ended: [u64; Ending::COUNT]) -> BTreeMap<&'static str, u64> {
    let mut probes = BTreeMap::new();
    for (ending, count) in Ending::ALL.into_iter().zip(ended) {
        *probes.entry(ending.outcome()).or_default() += count;
    }
    probes
}

/// The kinds that may answer and never did, by any function.
#[inline]
fn never_ran(pinned: &Pinned, name: &str) -> Vec<&'static str> {
    let ran = pinned.own_fallbacks();
    forms_of(name)
        .into_iter()
        .filter(|kind| may_answer(kind) && is_new(&ran, kind))
        .collect()
}

/// The forms that may answer and never did, function by function.
#[inline]
fn untried(pinned: &Pinned, name: &str) -> Vec<UntriedSnapshot> {
    let ran = pinned.own_fallbacks();
    let mut found = Vec::new();
    for site in sites_of(name) {
        for (place, form) in site.spec().forms.iter().enumerate() {
            let kind = form.kind();
            if may_answer(kind) && (is_new(&ran, kind) || !site.has_answered(place)) {
                found.push(UntriedSnapshot {
                    function: site.path(),
                    kind,
                    path: form.path(),
                });
            }
        }
    }
    sorted(found, |one, other| one.function.cmp(&other.function))
}

#[inline]
fn may_answer(kind: &str) -> bool {
    matches!(kind, "value" | "path" | "with" | "stale")
}

#[inline]
fn is_new(ran: &BTreeMap<&'static str, u64>, kind: &str) -> bool {
    ran.get(kind).is_none_or(|count| *count == 0)
}

#[inline]
pub(super) fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}
