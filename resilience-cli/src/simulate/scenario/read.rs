//! Bytes to a scenario, or to all its faults.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use resilience_policy::document::Document;
use resilience_policy::{Fault, Policy, PolicyError, nearest};
use toml::de::{DeTable, DeValue};

use super::draft::{Faults, Keys, Value, join};
use super::pieces::{self, Place};
use super::{Caller, Named, Phase, SECOND, Scenario};

/// Phases have a bit each.
const MOST_PHASES: usize = 60;

const KEYS: [&str; 13] = [
    "name",
    "about",
    "duration",
    "step",
    "seed",
    "instances",
    "look_at",
    "phase",
    "caller",
    "far",
    "pool",
    "start",
    "fallback",
];

/// Reads a scenario.
///
/// # Errors
///
/// Every fault of the file, those of names that a policy lacks excepted: see [`Scenario::unknown_names`].
pub(crate) fn read(bytes: &[u8], file: &str) -> Result<Scenario, PolicyError> {
    let document = Document::new(bytes, file)?;
    let (tree, _) = DeTable::parse_recoverable(document.text());
    let mut faults = Faults {
        document: &document,
        list: Vec::new(),
    };
    let scenario = scenario(&mut faults, tree.get_ref(), file);
    match scenario {
        Some(scenario) if faults.list.is_empty() => Ok(scenario),
        _ => Err(PolicyError::of(faults.list)),
    }
}

fn scenario(faults: &mut Faults<'_>, tree: &DeTable<'_>, file: &str) -> Option<Scenario> {
    let keys = Keys::new(faults, "", 0..0, tree, &KEYS);
    let name = keys.get(faults, &pieces::NAME);
    let duration = keys.need(faults, &pieces::DURATION);
    // What only depends on it can be looked at without it.
    let within = duration.unwrap_or(u64::MAX);
    let instances = keys.get(faults, &pieces::INSTANCES).unwrap_or(1);
    let mut look_at = keys.get(faults, &pieces::LOOK_AT).unwrap_or_default();
    if let (Some(value), Some(late)) = (keys.value("look_at"), look_at.iter().find(|at| **at > within)) {
        let message = format!("{} is after the end", super::values::shown(*late));
        faults.add("out_of_range", &value.span(), "look_at", message);
    }
    look_at.sort_unstable();
    look_at.dedup();
    let mut named = Vec::new();
    let mut phases: Vec<Phase> = Vec::new();
    for at in tables(faults, &keys, "phase") {
        let header = at.header.clone();
        let Some(phase) = pieces::phase(faults, at, within) else {
            continue;
        };
        if phases.iter().any(|other| other.name == phase.name) {
            twice(faults, "phase", &header, &phase.name);
        }
        phases.push(phase);
    }
    if phases.len() > MOST_PHASES {
        let message = format!("more than {MOST_PHASES} phases");
        let span = keys.value("phase").map_or(0..0, toml::Spanned::span);
        faults.add("out_of_range", &span, "phase", message);
    }
    let mut callers: Vec<Caller> = Vec::new();
    for at in tables(faults, &keys, "caller") {
        let header = at.header.clone();
        let Some(caller) = pieces::caller(faults, at, within, &mut named) else {
            continue;
        };
        if callers.iter().any(|other| other.name == caller.name) {
            twice(faults, "caller", &header, &caller.name);
        }
        callers.push(caller);
    }
    if !keys.has("caller") {
        keys.missing(faults, "caller", "nobody calls; add a table `[[caller]]`");
    }
    let mut far = BTreeMap::new();
    for (name, span, value) in entries(faults, &keys, "far") {
        let list = list_of(faults, &join("far", &name), value);
        let list = list
            .into_iter()
            .map(|at| pieces::far_side(faults, &name, instances, at, &mut named));
        far.insert(name.clone(), list.collect());
        named.push(header("far", name, span, true));
    }
    let mut pools = Vec::new();
    for (name, span, value) in entries(faults, &keys, "pool") {
        let Some(at) = table_of(faults, &join("pool", &name), value) else {
            continue;
        };
        let pool = pieces::pool(faults, &name, at, &mut named);
        if pool.as_ref().is_some_and(|pool| pool.of == [name.as_str()]) {
            named.push(header("pool", name, span, true));
        }
        pools.extend(pool);
    }
    let (mut starts, mut fallbacks) = (BTreeMap::new(), BTreeMap::new());
    for (name, span, value) in entries(faults, &keys, "start") {
        let Some(at) = table_of(faults, &join("start", &name), value) else {
            continue;
        };
        starts.insert(name.clone(), pieces::start(faults, at));
        named.push(header("start", name, span, false));
    }
    for (name, span, value) in entries(faults, &keys, "fallback") {
        let Some(at) = table_of(faults, &join("fallback", &name), value) else {
            continue;
        };
        if let Some(fallback) = pieces::fallback(faults, at, &mut named) {
            fallbacks.insert(name.clone(), fallback);
        }
        named.push(header("fallback", name, span, false));
    }
    Some(Scenario {
        name: name.unwrap_or_else(|| stem(file)),
        about: keys.get(faults, &pieces::ABOUT),
        step: keys.get(faults, &pieces::STEP).unwrap_or(SECOND),
        seed: keys.get(faults, &pieces::SEED).unwrap_or(1),
        instances,
        duration: duration?,
        look_at,
        phases,
        callers,
        far,
        pools,
        starts,
        fallbacks,
        named,
    })
}

impl Scenario {
    /// Names of dependencies that a policy lacks, at their places in the file.
    pub(crate) fn unknown_names(&self, bytes: &[u8], file: &str, policy: &Policy) -> Vec<Fault> {
        let Ok(document) = Document::new(bytes, file) else {
            return Vec::new();
        };
        let known = || policy.dependencies().map(|dependency| dependency.name.as_str());
        let unknown = self.named.iter().filter(|named| {
            let caller = |caller: &Caller| named.or_caller && caller.calls.is_empty() && caller.name == named.name;
            policy.dependency(&named.name).is_none() && !self.callers.iter().any(caller)
        });
        let fault = |named: &Named| {
            let near = nearest(&named.name, known()).map(str::to_owned);
            let shown = named.name.escape_debug();
            let whose = policy.file().display();
            let message = match &near {
                Some(near) => format!("`{shown}` is no dependency of `{whose}`; did you mean `{near}`?"),
                None => format!("`{shown}` is no dependency of `{whose}`"),
            };
            document
                .fault("unknown_name", &named.span, &named.key, message)
                .valued(&named.name)
                .allowing(known().collect::<Vec<_>>().join(", "))
                .suggesting(near.map(|near| format!("\"{near}\"")))
        };
        unknown.map(fault).collect()
    }
}

fn twice(faults: &mut Faults<'_>, what: &str, span: &Range<usize>, name: &str) {
    let message = format!("two of `{what}` are named `{}`", name.escape_debug());
    faults.add("duplicate", span, what, message);
}

fn stem(file: &str) -> String {
    Path::new(file)
        .file_stem()
        .map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The tables of `[[name]]`.
fn tables<'t, 'a>(faults: &mut Faults<'_>, keys: &Keys<'t, 'a>, name: &str) -> Vec<Place<'t, 'a>> {
    keys.value(name)
        .map_or_else(Vec::new, |value| list_of(faults, name, value))
}

fn list_of<'t, 'a>(faults: &mut Faults<'_>, path: &str, value: &'t Value<'a>) -> Vec<Place<'t, 'a>> {
    let DeValue::Array(list) = value.get_ref() else {
        let message = format!("one table for each entry: use double brackets, `[[{path}]]`");
        faults.add("wrong_type", &value.span(), path, message);
        return Vec::new();
    };
    let tables = list.iter().filter_map(|element| table_of(faults, path, element));
    tables.collect()
}

fn table_of<'t, 'a>(faults: &mut Faults<'_>, path: &str, value: &'t Value<'a>) -> Option<Place<'t, 'a>> {
    if let DeValue::Table(table) = value.get_ref() {
        return Some(Place {
            path: path.to_owned(),
            header: value.span(),
            table,
        });
    }
    faults.add(
        "wrong_type",
        &value.span(),
        path,
        format!("`{path}` is a table, `[{path}]`"),
    );
    None
}

/// What stands below `[name.…]`, with the place of its key, in the order of the file.
fn entries<'t, 'a>(
    faults: &mut Faults<'_>,
    keys: &Keys<'t, 'a>,
    name: &str,
) -> Vec<(String, Range<usize>, &'t Value<'a>)> {
    let Some(value) = keys.value(name) else {
        return Vec::new();
    };
    let Some(at) = table_of(faults, name, value) else {
        return Vec::new();
    };
    let mut entries: Vec<_> = at.table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| (key.get_ref().to_string(), key.span(), value))
        .collect()
}

/// The name in a header: what nobody knows would be about nothing, in silence.
fn header(table: &str, name: String, span: Range<usize>, or_caller: bool) -> Named {
    Named {
        key: join(table, &name),
        name,
        span,
        or_caller,
    }
}
