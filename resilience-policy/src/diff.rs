//! What a newer policy changes, value by value, and what each change does to running state.

use std::cmp::Ordering;

use crate::names::Names;
use crate::policy::{Dependency, Policy, Value};
use crate::reference::{Id, Reload, Table};

/// One effective value that differs between two policies.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    key: String,
    old: Option<Value>,
    new: Option<Value>,
    old_text: String,
    new_text: String,
    line: Option<u32>,
    effect: String,
}

/// How a value that is not there is written.
const NONE: &str = "none";

impl Change {
    #[inline]
    fn of(key: String, old: Option<Value>, new: Option<Value>, line: Option<u32>, effect: impl Into<String>) -> Self {
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| NONE.into(), ToString::to_string);
        let (old_text, new_text) = (text(&old), text(&new));
        Self {
            key,
            old,
            new,
            old_text,
            new_text,
            line,
            effect: effect.into(),
        }
    }

    /// The key's path: `dependency.payrail.breaker.failure_rate`; `dependency.payrail` where it came or went.
    #[inline]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key below its dependency or operation: `breaker.failure_rate`; empty where that came or went.
    #[inline]
    pub fn path(&self) -> &str {
        let Some(rest) = self.key.strip_prefix("dependency.") else {
            return &self.key;
        };
        let rest = rest.split_once('.').map_or("", |(_, rest)| rest);
        match rest.strip_prefix("operation.") {
            Some(operation) => operation.split_once('.').map_or("", |(_, rest)| rest),
            None => rest,
        }
    }

    /// The old value in the file's notation; `none` where there was none.
    #[inline]
    pub fn old(&self) -> &str {
        &self.old_text
    }

    /// The new value in the file's notation; `none` where there is none any more.
    // Not a constructor: the pair `old` and `new` is what a change is.
    #[allow(clippy::new_ret_no_self, clippy::wrong_self_convention)]
    #[inline]
    pub fn new(&self) -> &str {
        &self.new_text
    }

    /// The new value.
    #[inline]
    pub fn new_value(&self) -> Option<&Value> {
        self.new.as_ref()
    }

    /// The old value.
    #[inline]
    pub fn old_value(&self) -> Option<&Value> {
        self.old.as_ref()
    }

    /// The line that gives the new value, if a file gives it.
    #[inline]
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// What the change does to running state, in words.
    #[inline]
    pub fn effect(&self) -> &str {
        &self.effect
    }
}

/// Changes that say the same of several dependencies, as one edit of a template makes them, are together; each group
/// stands where its first one stood.
#[inline]
pub fn grouped(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut places: Names<usize> = Names::default();
    let mut groups: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        let what = format!("{:?}", [change.path(), change.old(), change.new(), change.effect()]);
        if let Some(place) = places.get(&what).copied() {
            groups[place].push(change);
        } else {
            places.insert(what, groups.len());
            groups.push(vec![change]);
        }
    }
    groups
}

/// Every change from `old` to `new`, by key.
#[inline]
pub(crate) fn between(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = runtime(old, new);
    fleet(old, new, &mut changes);
    let (old_all, new_all) = (&old.inner.dependencies, &new.inner.dependencies);
    for name in of_both(old_all.names(), new_all.names()) {
        match (old_all.get(name), new_all.get(name)) {
            // Most of a large file is as it was, and comparing numbers is much cheaper than values one by one.
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => values(old, new, &mut changes),
            (None, Some(new)) => changes.push(Change::of(
                path(new),
                None,
                Some(Value::String("added".into())),
                Some(new.line),
                "guards of this name come into force, with empty state",
            )),
            (Some(old), None) => changes.push(Change::of(
                path(old),
                Some(Value::String("present".into())),
                None,
                None,
                "guards of this name end; a reload is refused while linked code names it",
            )),
            (None, None) => {}
        }
    }
    resources(old, new, &mut changes);
    changes
}

#[inline]
fn runtime(old: &Policy, new: &Policy) -> Vec<Change> {
    let lines = &new.inner.runtime_lines;
    let line_of = |id| lines.iter().find(|(of, _)| *of == id).map(|(_, line)| *line);
    let (old, new) = (old.runtime(), new.runtime());
    let text = |value: &Option<String>| value.clone().map(Value::String);
    let path = |value: &std::path::Path| Some(Value::String(value.display().to_string()));
    let rows = [
        (Id::Instance, text(&old.instance), text(&new.instance)),
        (Id::Overrides, path(&old.overrides), path(&new.overrides)),
        (
            Id::ChaosSwitch,
            Some(Value::Bool(old.chaos)),
            Some(Value::Bool(new.chaos)),
        ),
    ];
    rows.into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(id, old, new)| {
            let key = id.key();
            let line = line_of(id);
            Change::of(format!("runtime.{}", key.name), old, new, line, key.reload.effect())
        })
        .collect()
}

#[inline]
fn fleet(old: &Policy, new: &Policy, changes: &mut Vec<Change>) {
    let value = |policy: &Policy, id| policy.fleet().and_then(|fleet| fleet.effective(id));
    // Two passwords look alike where they are shown, and are a change all the same.
    let elsewhere = old.fleet().map(|fleet| &fleet.redis) != new.fleet().map(|fleet| &fleet.redis);
    for id in Table::Fleet.keys() {
        let (was, is) = (value(old, id), value(new, id));
        let line = is.as_ref().and_then(|is| is.line);
        let (was, is) = (was.map(|was| was.value), is.map(|is| is.value));
        if was != is || id == Id::FleetRedis && elsewhere {
            let key = id.key();
            changes.push(Change::of(key.path.into(), was, is, line, key.reload.effect()));
        }
    }
}

#[inline]
fn values(old: &Dependency, new: &Dependency, changes: &mut Vec<Change>) {
    for id in Id::ALL.iter().copied() {
        let (was, is) = (old.value(id), new.value(id));
        if was != is {
            let key = id.key();
            changes.push(Change::of(
                format!("{}.{}", path(new), key.path),
                was,
                is,
                new.provenance.line(id),
                key.reload.effect(),
            ));
        }
    }
    let shared = [
        ("breaker", old.breaker_shared, new.breaker_shared),
        ("bulkhead", old.slots_shared, new.slots_shared),
        ("retry", old.budget_shared, new.budget_shared),
        ("fallback", old.fallback_shared, new.fallback_shared),
    ];
    for (table, was, is) in shared.into_iter().filter(|(_, was, is)| was != is) {
        let word = |shared| Some(Value::String(if shared { "shared" } else { "own" }.into()));
        let effect = format!("the operation's {table} starts empty");
        changes.push(Change::of(
            format!("{}.{table}", path(new)),
            word(was),
            word(is),
            Some(new.line),
            effect,
        ));
    }
}

#[inline]
fn resources(old: &Policy, new: &Policy, changes: &mut Vec<Change>) {
    let (old, new) = (&old.inner.resources, &new.inner.resources);
    for name in of_both(old.names(), new.names()) {
        let capacity = |capacity: u64| Value::Integer(i64::try_from(capacity).unwrap_or(i64::MAX));
        let was = old.get(name).map(|resource| capacity(resource.capacity));
        let is = new.get(name).map(|resource| capacity(resource.capacity));
        if was != is {
            let line = new.get(name).map(|resource| resource.line);
            changes.push(Change::of(
                format!("resource.{name}.capacity"),
                was,
                is,
                line,
                Reload::Words.effect(),
            ));
        }
    }
}

/// The names that either has, each once, in their order, which is that of both.
#[inline]
fn of_both<'n>(
    one: impl Iterator<Item = &'n String>,
    other: impl Iterator<Item = &'n String>,
) -> impl Iterator<Item = &'n String> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(left), Some(right)) => match left.cmp(right) {
            Ordering::Less => one.next(),
            Ordering::Greater => other.next(),
            Ordering::Equal => one.next().and(other.next()),
        },
        _ => one.next().or_else(|| other.next()),
    })
}

/// `dependency.payrail`, `dependency.payrail.operation.refund`
#[inline]
pub(crate) fn path(dependency: &Dependency) -> String {
    match &dependency.parent {
        None => format!("dependency.{}", dependency.name),
        Some(parent) => {
            let operation = dependency
                .name
                .strip_prefix(parent.as_str())
                .unwrap_or(&dependency.name);
            format!("dependency.{parent}.operation.{}", operation.trim_start_matches('.'))
        }
    }
}
