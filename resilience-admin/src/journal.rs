//! What happened, found by comparing each snapshot with the one before it. So the page can tell nothing that the
//! snapshot does not say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use resilience_runtime::{OverrideSnapshot, Snapshot, TransitionSnapshot};
use serde::Serialize;

/// Entries that are kept for a page that comes later.
const KEPT: usize = 200;

/// One thing that happened. Its kind is the word of the runtime's own event.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Entry {
    pub(crate) at: f64,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dependency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// What was known at a change of state.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<TransitionSnapshot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Who took a hand off, and why: the runtime does not keep it.
#[derive(Debug, Clone)]
pub(crate) struct Cleared {
    pub(crate) dependency: String,
    pub(crate) by: String,
    pub(crate) reason: String,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: VecDeque<Arc<Entry>>,
    seen: Option<Seen>,
    /// The newest change of each breaker that was seen.
    last: BTreeMap<String, TransitionSnapshot>,
}

/// What of the last snapshot is compared.
#[derive(Debug, Default)]
struct Seen {
    hash: String,
    loaded_at: f64,
    refusal: Option<String>,
    overrides: BTreeMap<String, OverrideSnapshot>,
}

impl Journal {
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// What is new since the last look, oldest first.
    pub(crate) fn read(&mut self, at: f64, snapshot: &Snapshot, cleared: &[Cleared]) -> Vec<Arc<Entry>> {
        let overrides = overrides(snapshot);
        let mut found = self.transitions(snapshot);
        match &self.seen {
            Some(seen) => {
                found.extend(of_policy(at, seen, snapshot));
                found.extend(of_overrides(at, &seen.overrides, &overrides, cleared));
            }
            None => found.extend(of_overrides(at, &BTreeMap::new(), &overrides, &[])),
        }
        self.seen = Some(Seen {
            hash: snapshot.policy.hash.clone(),
            loaded_at: snapshot.policy.loaded_at,
            refusal: snapshot.policy.refusal.clone(),
            overrides,
        });
        found.sort_by(|one, other| one.at.total_cmp(&other.at));
        let found: Vec<_> = found.into_iter().map(Arc::new).collect();
        self.entries.extend(found.iter().cloned());
        self.entries.drain(..self.entries.len().saturating_sub(KEPT));
        found
    }

    /// Changes of state that the last look did not see. The first look takes all that are kept: they happened before
    /// anybody looked.
    fn transitions(&mut self, snapshot: &Snapshot) -> Vec<Entry> {
        let mut found = Vec::new();
        self.last.retain(|name, _| snapshot.dependencies.contains_key(name));
        for (name, dependency) in &snapshot.dependencies {
            let changes = &dependency.transitions;
            let Some(newest) = changes.last() else { continue };
            let seen = self
                .last
                .get(name)
                .and_then(|last| changes.iter().rposition(|change| change.is_same(last)));
            let new = &changes[seen.map_or(0, |seen| seen + 1)..];
            // Those of an operation that shares its dependency's breaker are told once.
            let parent = name.split_once('.').and_then(|(parent, _)| snapshot.dependency(parent));
            let shared = |change: &TransitionSnapshot| {
                parent.is_some_and(|parent| parent.transitions.iter().any(|other| change.is_same(other)))
            };
            found.extend(
                new.iter()
                    .filter(|change| !shared(change))
                    .map(|change| of_change(name, change)),
            );
            if !new.is_empty() {
                self.last.insert(name.clone(), newest.clone());
            }
        }
        found
    }
}

fn of_change(name: &str, change: &TransitionSnapshot) -> Entry {
    Entry {
        at: change.at,
        kind: "breaker.transition",
        dependency: Some(name.to_owned()),
        from: Some(change.from),
        to: Some(change.to),
        cause: Some(change.cause),
        change: Some(change.clone()),
        ..Entry::default()
    }
}

fn of_policy(at: f64, seen: &Seen, snapshot: &Snapshot) -> Vec<Entry> {
    let policy = &snapshot.policy;
    let mut found = Vec::new();
    if seen.hash != policy.hash || (seen.loaded_at - policy.loaded_at).abs() > f64::EPSILON {
        found.push(Entry {
            at: policy.loaded_at,
            kind: "policy.reloaded",
            message: Some(format!("{} is in force, {}", policy.file, policy.hash)),
            ..Entry::default()
        });
    }
    if let Some(refusal) = policy.refusal.as_ref().filter(|_| seen.refusal != policy.refusal) {
        found.push(Entry {
            at,
            kind: "policy.refused",
            message: Some(refusal.clone()),
            ..Entry::default()
        });
    }
    found
}

/// A hand on a dependency is on its operations too, and told once.
fn overrides(snapshot: &Snapshot) -> BTreeMap<String, OverrideSnapshot> {
    let of = |name: &str| snapshot.dependency(name).and_then(|found| found.overridden.as_ref());
    let own = |name: &str, hand: &OverrideSnapshot| {
        let parent = name.split_once('.').and_then(|(parent, _)| of(parent));
        parent.is_none_or(|parent| !same(parent, hand))
    };
    snapshot
        .dependencies
        .iter()
        .filter_map(|(name, dependency)| Some((name, dependency.overridden.as_ref()?)))
        .filter(|(name, hand)| own(name, hand))
        .map(|(name, hand)| (name.clone(), hand.clone()))
        .collect()
}

pub(crate) fn same(one: &OverrideSnapshot, other: &OverrideSnapshot) -> bool {
    let text = |hand: &OverrideSnapshot| (hand.mode, hand.by.clone(), hand.reason.clone(), hand.answer.clone());
    text(one) == text(other) && (one.until - other.until).abs() < 0.001
}

fn of_overrides(
    at: f64,
    before: &BTreeMap<String, OverrideSnapshot>,
    now: &BTreeMap<String, OverrideSnapshot>,
    cleared: &[Cleared],
) -> Vec<Entry> {
    let set = now
        .iter()
        .filter(|(name, hand)| before.get(*name).is_none_or(|old| !same(old, hand)))
        .map(|(name, hand)| Entry {
            at,
            kind: "override.set",
            dependency: Some(name.clone()),
            mode: Some(hand.mode),
            by: Some(hand.by.clone()),
            message: Some(hand.reason.clone()),
            ..Entry::default()
        });
    let ended = before
        .iter()
        .filter(|(name, _)| !now.contains_key(*name))
        .map(|(name, hand)| {
            let act = cleared.iter().find(|act| &act.dependency == name);
            let expired = act.is_none() && at >= hand.until - 0.001;
            Entry {
                at: if expired { hand.until } else { at },
                kind: if expired {
                    "override.expired"
                } else {
                    "override.cleared"
                },
                dependency: Some(name.clone()),
                mode: Some(hand.mode),
                by: act.map(|act| act.by.clone()),
                message: act.map(|act| act.reason.clone()),
                ..Entry::default()
            }
        });
    set.chain(ended).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use resilience_runtime::{Policy, Runtime};

    use super::*;

    const POLICY: &str = "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n\
        breaker.consecutive_failures = 2\n[dependency.payrail.operation.refund]\ntimeout = \"2s\"\n";

    #[tokio::test]
    async fn a_change_is_told_once_whatever_the_clock_on_the_wall_does_meanwhile() {
        let runtime = Runtime::new(Policy::from_toml(POLICY).expect("a good policy"));
        let guard = runtime.guard("payrail").expect("a known name");
        for _ in 0..2 {
            let _ = guard.call(|| async { Err::<(), _>(io::Error::other("down")) }).await;
        }
        let mut journal = Journal::default();
        let told = |entries: Vec<Arc<Entry>>| entries.iter().map(|entry| entry.kind).collect::<Vec<_>>();
        // Its operation shares the breaker, and is read a moment later.
        let mut snapshot = runtime.snapshot();
        for late in [0.3, 3_600.0, -3_600.0] {
            let refund = snapshot.dependencies.get_mut("payrail.refund").expect("a known name");
            refund.transitions[0].at += late;
            let first = journal.entries.is_empty();
            let expected: &[_] = if first { &["breaker.transition"] } else { &[] };
            assert_eq!(told(journal.read(0.0, &snapshot, &[])), expected, "{late}");
            let payrail = snapshot.dependencies.get_mut("payrail").expect("a known name");
            payrail.transitions[0].at += late;
        }
    }
}
