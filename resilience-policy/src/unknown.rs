//! Keys we do not know: where they belong, what they are called here, or what they probably mean.

use toml::de::DeValue;

use crate::fault::{Fault, FaultName};
use crate::level::Scope;
use crate::name::{nearest, plain, shown};
use crate::reference::{Id, Table};
use crate::value::Known;

const TOP: [&str; 7] = [
    "version",
    "runtime",
    "fleet",
    "defaults",
    "template",
    "dependency",
    "resource",
];

/// A key or table above or beside the known tables.
pub(crate) fn at_top(file: &str, name: &str, value: &DeValue<'_>, known: &Known) -> Fault {
    let fault =
        |message: String| Fault::new(FaultName::UnknownKey, file, shown(name), message).allowed_here(TOP.join(", "));
    if !value.is_table()
        && let Some(home) = home_of(name)
    {
        let place = if matches!(home, Table::Dependency) {
            "[dependency.NAME]".into()
        } else {
            format!("[dependency.NAME.{}]", home.name())
        };
        return fault(format!(
            "`{}` stands above every header; it belongs to `{place}`",
            shown(name)
        ));
    }
    if let Some(near) = nearest(name, TOP) {
        let message = format!("unknown {} `{}`; did you mean `{near}`?", what(value), shown(name));
        return fault(message).suggest(Some(near));
    }
    if let DeValue::Table(table) = value {
        let is_dependency = known.dependencies.iter().any(|dependency| dependency == name)
            || table.keys().any(|key| is_key_of_level(key.get_ref()));
        if is_dependency {
            let below = table
                .iter()
                .find(|(key, value)| value.get_ref().is_table() && is_layer(key.get_ref()));
            let below = below.map_or(String::new(), |(key, _)| format!(".{}", key.get_ref()));
            let ours = format!("[dependency.{}{below}]", shown(name));
            return fault(format!("unknown table `{}`; its header is `{ours}`", shown(name))).suggest(Some(ours));
        }
    }
    fault(format!("unknown {} `{}`", what(value), shown(name)))
}

/// A key or table directly in a dependency, an operation, a template or the defaults.
pub(crate) fn in_level(file: &str, path: &str, scope: Scope, name: &str, value: &DeValue<'_>) -> Fault {
    let keys: Vec<&str> = Table::Dependency
        .keys()
        .filter(|id| scope.allows(*id))
        .map(|id| id.key().name)
        .collect();
    let tables = Table::LAYERS.iter().map(|table| table.name());
    let allowed: Vec<&str> = keys
        .into_iter()
        .chain(tables)
        .chain((scope == Scope::Dependency).then_some("operation"))
        .collect();
    let key = format!("{path}.{}", shown(name));
    let fault =
        |message: String| Fault::new(FaultName::UnknownKey, file, key, message).allowed_here(allowed.join(", "));
    let out_of_scope = match (scope, name) {
        (Scope::Template | Scope::Defaults, "fail") => {
            Some("`fail` is never inherited: each dependency says it itself")
        }
        (Scope::Template, "inherits") => Some("a template inherits nothing; write its keys out"),
        (Scope::Defaults, "inherits") => Some("the defaults inherit nothing; write their keys out"),
        (Scope::Operation, "inherits") => {
            Some("an operation takes what it does not write from its dependency; it has no template of its own")
        }
        (Scope::Operation, "operation") => Some("an operation has no operations of its own"),
        (_, "operation") => Some("operations stand below a dependency only"),
        _ => None,
    };
    if let Some(message) = out_of_scope {
        return fault(message.into());
    }
    if let DeValue::Table(table) = value
        && nearest(name, allowed.iter().copied()).is_none()
    {
        if let Some(dotted) = dotted_name(path, name, table) {
            let ours = dotted.replace('.', "-");
            let message = format!(
                "unknown table `{}` in {path}; if `{dotted}` is the name: a name has no dots",
                shown(name)
            );
            return fault(message).suggest(Some(format!("[dependency.{ours}]")));
        }
        if scope != Scope::Dependency {
            return fault(format!("unknown table `{}` in {path}", shown(name)));
        }
        let ours = format!("[{path}.operation.{}]", shown(name));
        let message = format!(
            "unknown table `{}` in {path}; an operation is `{ours}`, and a name has no dots",
            shown(name)
        );
        return fault(message).suggest(Some(ours));
    }
    elsewhere_or_near(fault, path, Table::Dependency, name, &allowed)
}

/// A key in a layer's table, in `[runtime]`, in `[fleet]` or in a resource.
pub(crate) fn in_table(file: &str, path: &str, table: Table, name: &str) -> Fault {
    let allowed: Vec<&str> = table.keys().map(|id| id.key().name).collect();
    let below = if table.is_layer() {
        format!("{path}.{}", table.name())
    } else {
        path.to_owned()
    };
    let key = format!("{below}.{}", shown(name));
    let fault =
        |message: String| Fault::new(FaultName::UnknownKey, file, key, message).allowed_here(allowed.join(", "));
    elsewhere_or_near(fault, path, table, name, &allowed)
}

fn elsewhere_or_near(
    fault: impl FnOnce(String) -> Fault,
    path: &str,
    table: Table,
    name: &str,
    allowed: &[&str],
) -> Fault {
    let below = if table.is_layer() {
        format!("{path}.{}", table.name())
    } else {
        path.to_owned()
    };
    let unknown = format!("unknown key `{}` in {below}", shown(name));
    if matches!(plain(name).as_str(), "enabled" | "enable" | "disabled" | "disable") {
        let way = if table.can_be_off() {
            format!(
                "a table that is not there is off; to take an inherited one away write `{} = false`",
                table.name()
            )
        } else {
            "a layer is off where its table is not there; `mode = \"off\"` switches the guards off".into()
        };
        return fault(format!("{unknown}: {way}"));
    }
    let inside_level = !matches!(table, Table::Runtime | Table::Fleet | Table::Resource);
    if inside_level && let Some(home) = home_of(name).filter(|home| *home != table) {
        let place = if home == Table::Dependency {
            path.to_owned()
        } else {
            format!("{path}.{}", home.name())
        };
        return fault(format!("{unknown}: `{name}` belongs to {place}"));
    }
    if let Some(near) = nearest(name, allowed.iter().copied()) {
        return fault(format!("{unknown}; did you mean `{near}`?")).suggest(Some(near));
    }
    if let Some(id) = synonym(name, table) {
        let key = id.key();
        let ours = if key.table == table {
            key.name.to_owned()
        } else {
            key.path.to_owned()
        };
        return fault(format!("{unknown}; here it is called `{ours}`")).suggest(Some(ours));
    }
    fault(unknown)
}

/// The table in which a key of exactly this name may stand, if it is one below a dependency.
fn home_of(name: &str) -> Option<Table> {
    Id::ALL
        .iter()
        .map(|id| id.key())
        .find(|key| key.name == name && (key.table == Table::Dependency || key.table.is_layer()))
        .map(|key| key.table)
}

/// What another product's word is called here; this table's own keys first.
fn synonym(name: &str, table: Table) -> Option<Id> {
    let wanted = plain(name);
    let means = |id: &&Id| {
        let key = id.key();
        let below = key.table == Table::Dependency || key.table.is_layer();
        (below || key.table == table)
            && (plain(key.name) == wanted || key.synonyms.iter().any(|word| plain(word) == wanted))
    };
    let here = Id::ALL.iter().find(|id| id.key().table == table && means(id));
    here.or_else(|| Id::ALL.iter().find(means)).copied()
}

/// `[dependency.api.example.com]`: a host's name whose dots made tables of it.
fn dotted_name(path: &str, name: &str, table: &toml::de::DeTable<'_>) -> Option<String> {
    let dependency = path.strip_prefix("dependency.")?;
    let mut dotted = format!("{dependency}.{}", shown(name));
    let mut inner = table;
    while let Some((key, value)) = inner.iter().next() {
        let DeValue::Table(next) = value.get_ref() else { break };
        if inner.len() != 1 || is_layer(key.get_ref()) {
            break;
        }
        dotted = format!("{dotted}.{}", shown(key.get_ref()));
        inner = next;
    }
    // One dot alone is as likely an operation.
    if dotted.matches('.').count() < 2 {
        return None;
    }
    inner.keys().any(|key| is_key_of_level(key.get_ref())).then_some(dotted)
}

fn is_layer(name: &str) -> bool {
    Table::LAYERS.iter().any(|table| table.name() == name)
}

fn is_key_of_level(name: &str) -> bool {
    is_layer(name) || name == "operation" || Table::Dependency.keys().any(|id| id.key().name == name)
}

fn what(value: &DeValue<'_>) -> &'static str {
    if value.is_table() { "table" } else { "key" }
}
