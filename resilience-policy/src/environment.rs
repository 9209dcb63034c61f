//! `RESILIENCE__PAYRAIL__BREAKER__FAILURE_RATE=0.3`: one variable, one key. Upper case, `-` as `_`, `__` between the
//! parts. No two names differ only in `-` and `_`, so the mapping can be read back.

use crate::fault::{Fault, FaultName};
use crate::level::{Entry, Level, Presence, Scope, Where, Written, full, layer_index};
use crate::name::{nearest, shown};
use crate::names::sorted;
use crate::reference::{Id, Table};
use crate::value::{read_text, without_password};

pub(crate) const PREFIX: &str = "RESILIENCE__";

/// The `RESILIENCE__…` variables of this process, sorted. A value that is no text is given with its bad parts
/// replaced, and so is refused where it is read.
#[inline]
pub fn environment() -> Vec<(String, String)> {
    let found: Vec<_> = std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    sorted(found, Ord::cmp)
}

/// Writes the variables over the file's own entries.
pub(crate) fn apply(written: &mut Written, environment: &[(String, String)], faults: &mut Vec<Fault>) {
    for (variable, text) in environment {
        let Some(rest) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        let lower = rest.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split("__").collect();
        if let Err(fault) = one(written, variable, &parts, text) {
            // What was meant for an address may be a password.
            let shown = if parts.first() == Some(&"fleet") {
                without_password(text)
            } else {
                text.clone()
            };
            faults.push(fault.with_value(&shown));
        }
    }
}

fn one(written: &mut Written, variable: &str, parts: &[&str], text: &str) -> Result<(), Box<Fault>> {
    match parts {
        ["runtime", key] => {
            let id = Table::Runtime.keys().find(|id| id.key().name == *key);
            let id = id.ok_or_else(|| unknown_key(variable, key, Table::Runtime.keys().map(|id| id.key().name)))?;
            set(written, &Target::Runtime, id, variable, text)
        }
        // A dependency may have this name too; it has no key of these.
        ["fleet", key] if Table::Fleet.keys().any(|id| id.key().name == *key) || !names_a_fleet(written) => {
            let id = Table::Fleet.keys().find(|id| id.key().name == *key);
            let id = id.ok_or_else(|| unknown_key(variable, key, Table::Fleet.keys().map(|id| id.key().name)))?;
            set(written, &Target::Fleet, id, variable, text)
        }
        ["defaults", rest @ ..] => below(written, &Target::Defaults, Scope::Defaults, variable, rest, text),
        [dependency, "operation", operation, rest @ ..] => {
            let name = find(variable, "dependency", dependency, written.dependencies.names())?;
            let operations = &written.dependencies.get(&name).expect("it was found by this name").1;
            let operation = find(variable, "operation", operation, operations.names())?;
            below(
                written,
                &Target::Operation(name, operation),
                Scope::Operation,
                variable,
                rest,
                text,
            )
        }
        [dependency, rest @ ..] => {
            let name = find(variable, "dependency", dependency, written.dependencies.names())?;
            below(
                written,
                &Target::Dependency(name),
                Scope::Dependency,
                variable,
                rest,
                text,
            )
        }
        [] => Ok(()),
    }
}

/// Whether a dependency is called as the table of the fleet is.
fn names_a_fleet(written: &Written) -> bool {
    written.dependencies.has(Table::Fleet.name())
}

enum Target {
    Runtime,
    Fleet,
    Defaults,
    Dependency(String),
    Operation(String, String),
}

impl Target {
    fn level<'w>(&self, written: &'w mut Written) -> Option<&'w mut Level> {
        match self {
            Self::Runtime => Some(&mut written.runtime),
            Self::Fleet => Some(written.fleet.get_or_insert_with(|| Level::new("fleet", 0..0))),
            Self::Defaults => Some(written.defaults.get_or_insert_with(|| Level::new("defaults", 0..0))),
            Self::Dependency(name) => written.dependencies.get_mut(name).map(|(level, _)| level),
            Self::Operation(name, operation) => written.dependencies.get_mut(name)?.1.get_mut(operation),
        }
    }
}

fn below(
    written: &mut Written,
    target: &Target,
    scope: Scope,
    variable: &str,
    rest: &[&str],
    text: &str,
) -> Result<(), Box<Fault>> {
    let own = || Table::Dependency.keys().filter(|id| scope.allows(*id));
    match rest {
        [name] => {
            if let Some(id) = own().find(|id| id.key().name == *name) {
                return set(written, target, id, variable, text);
            }
            let layer = Table::LAYERS
                .iter()
                .find(|table| table.name() == *name && table.can_be_off());
            match (layer.and_then(|table| layer_index(*table)), text) {
                (Some(at), "false") => {
                    if let Some(level) = target.level(written) {
                        level.tables[at] = Presence::Off;
                    }
                    Ok(())
                }
                (Some(_), _) => {
                    let message = format!("`{name}` is a table: the variable can only be `false`, which takes it away");
                    Err(Box::new(
                        Fault::new(FaultName::WrongType, variable, *name, message).allowed_here("false"),
                    ))
                }
                (None, _) => {
                    let known = own()
                        .map(|id| id.key().name)
                        .chain(Table::LAYERS.iter().map(|table| table.name()));
                    Err(unknown_key(variable, name, known))
                }
            }
        }
        [table, name] => {
            let layer = Table::LAYERS.iter().copied().find(|layer| layer.name() == *table);
            let layer =
                layer.ok_or_else(|| unknown_key(variable, table, Table::LAYERS.iter().map(|table| table.name())))?;
            let id = layer.keys().find(|id| id.key().name == *name);
            let id = id.ok_or_else(|| unknown_key(variable, name, layer.keys().map(|id| id.key().name)))?;
            set(written, target, id, variable, text)
        }
        _ => {
            let message = "the variable names no key; it is `RESILIENCE__NAME__KEY` or `RESILIENCE__NAME__TABLE__KEY`";
            Err(Box::new(Fault::new(
                FaultName::UnknownKey,
                variable,
                rest.join("."),
                message,
            )))
        }
    }
}

fn set(written: &mut Written, target: &Target, id: Id, variable: &str, text: &str) -> Result<(), Box<Fault>> {
    let known = std::mem::take(&mut written.known);
    let read = read_text(id, text, &known);
    written.known = known;
    let Some(level) = target.level(written) else {
        return Ok(());
    };
    if let Some(at) = layer_index(id.key().table)
        && !matches!(level.tables[at], Presence::On(_))
    {
        level.tables[at] = Presence::On(level.header.clone());
    }
    let path = full(level, id);
    let (value, fault) = match read {
        Ok(value) => (Some(value), None),
        Err(draft) => {
            let fault = Fault::new(draft.name, variable, path, draft.message);
            (
                None,
                Some(fault.allowed_here(id.key().allowed()).suggest(draft.suggestion)),
            )
        }
    };
    level.set(Entry {
        id,
        value,
        place: Where::Variable(variable.into()),
    });
    fault.map_or(Ok(()), |fault| Err(Box::new(fault)))
}

fn find<'n>(
    variable: &str,
    what: &str,
    part: &str,
    names: impl Iterator<Item = &'n String>,
) -> Result<String, Box<Fault>> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if let Some(name) = names.iter().find(|name| name.replace('-', "_") == part) {
        return Ok((*name).to_owned());
    }
    let near = nearest(part, names.iter().copied());
    let message = format!(
        "the variable `{variable}` names no {what} of the policy: there is no `{}`",
        shown(part)
    );
    let near = near.map(|name| name.replace('-', "_").to_ascii_uppercase());
    Err(Box::new(
        Fault::new(FaultName::UnknownName, variable, part, message).suggest(near),
    ))
}

fn unknown_key(variable: &str, part: &str, known: impl Iterator<Item = &'static str>) -> Box<Fault> {
    let known: Vec<&str> = known.collect();
    let near = nearest(part, known.iter().copied()).map(str::to_ascii_uppercase);
    let message = format!("the variable `{variable}` fits no key: there is no `{}`", shown(part));
    let fault = Fault::new(FaultName::UnknownKey, variable, part, message);
    Box::new(fault.suggest(near).allowed_here(known.join(", ")))
}
