//! The file as it was written: one level for each table that gives keys to dependencies. Never leaves the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, FaultName};
use crate::locate::Text;
use crate::name::{RULE, refusal, shown};
use crate::policy::Value;
use crate::reference::{Id, Table};
use crate::unknown;
use crate::value::{self, Known, type_of};

/// A key that was written.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) id: Id,
    /// `None`: what was written is at fault and already reported.
    pub(crate) value: Option<Value>,
    pub(crate) place: Where,
}

/// Where something was written.
#[derive(Debug, Clone)]
pub(crate) enum Where {
    File { key: Range<usize> },
    Variable(String),
}

/// What a level says of a layer's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Presence {
    Absent,
    On(Range<usize>),
    /// `breaker = false`.
    Off,
    /// Written, and at fault.
    Faulty,
}

/// A table of keys: a dependency, an operation, a template or the defaults.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// `dependency.payrail`
    pub(crate) path: String,
    pub(crate) header: Range<usize>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) tables: [Presence; 6],
    /// It holds nothing but keys we do not know: to call more of it missing would be noise.
    pub(crate) only_unknown: bool,
}

impl Level {
    pub(crate) fn new(path: impl Into<String>, header: Range<usize>) -> Self {
        const ABSENT: Presence = Presence::Absent;
        Self {
            path: path.into(),
            header,
            entries: Vec::new(),
            tables: [ABSENT; 6],
            only_unknown: false,
        }
    }

    pub(crate) fn entry(&self, id: Id) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub(crate) fn table(&self, table: Table) -> &Presence {
        layer_index(table).map_or(&Presence::Absent, |at| &self.tables[at])
    }

    pub(crate) fn set(&mut self, entry: Entry) {
        self.entries.retain(|old| old.id != entry.id);
        self.entries.push(entry);
    }
}

pub(crate) fn layer_index(table: Table) -> Option<usize> {
    Table::LAYERS.iter().position(|layer| *layer == table)
}

/// Which keys of a dependency a level may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Dependency,
    Operation,
    Template,
    Defaults,
}

impl Scope {
    pub(crate) fn allows(self, id: Id) -> bool {
        match self {
            Self::Dependency => true,
            Self::Operation => id != Id::Inherits,
            Self::Template | Self::Defaults => !matches!(id, Id::Inherits | Id::Fail),
        }
    }
}

/// The whole file.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) runtime: Level,
    pub(crate) defaults: Option<Level>,
    pub(crate) templates: BTreeMap<String, Level>,
    pub(crate) dependencies: BTreeMap<String, (Level, BTreeMap<String, Level>)>,
    pub(crate) resources: BTreeMap<String, Level>,
    pub(crate) known: Known,
}

type Entries<'t, 'a> = Vec<(&'t Spanned<std::borrow::Cow<'a, str>>, &'t Spanned<DeValue<'a>>)>;

/// Walks the tree once, against the reference.
pub(crate) struct Walk<'t, 'a> {
    pub(crate) text: &'t Text<'a>,
    pub(crate) file: &'t str,
    pub(crate) faults: Vec<Fault>,
    /// Paths of keys whose lines could not be read.
    lost: &'t BTreeSet<String>,
    known: Known,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(crate) fn new(text: &'t Text<'a>, file: &'t str, lost: &'t BTreeSet<String>) -> Self {
        Self {
            text,
            file,
            faults: Vec::new(),
            lost,
            known: Known::default(),
        }
    }

    /// `partial` says that the tree lacks lines, so that nothing may be called missing.
    pub(crate) fn file(&mut self, tree: &DeTable<'_>, partial: bool) -> Written {
        self.known = known(tree);
        let mut written = Written {
            runtime: Level::new("runtime", 0..0),
            defaults: None,
            templates: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            resources: BTreeMap::new(),
            known: Known::default(),
        };
        let mut top = Level::new("", 0..0);
        for (key, value) in in_order(tree) {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("version", _) => self.value(&mut top, Id::Version, key.span(), value),
                ("runtime", DeValue::Table(table)) => {
                    written.runtime.header = value.span();
                    self.keys(&mut written.runtime, table, Table::Runtime);
                }
                ("defaults", DeValue::Table(table)) => {
                    written.defaults = Some(self.level("defaults".into(), value.span(), table, Scope::Defaults));
                }
                ("template", DeValue::Table(table)) => {
                    for (name, span, table) in self.named("template", table) {
                        let path = format!("template.{name}");
                        let level = self.level(path, span, table, Scope::Template);
                        written.templates.insert(name, level);
                    }
                }
                ("dependency", DeValue::Table(table)) => {
                    for (name, span, table) in self.named("dependency", table) {
                        let found = self.dependency(&name, span, table);
                        written.dependencies.insert(name, found);
                    }
                }
                ("resource", DeValue::Table(table)) => {
                    for (name, span, table) in self.named("resource", table) {
                        let mut level = Level::new(format!("resource.{name}"), span);
                        self.keys(&mut level, table, Table::Resource);
                        if !partial && level.entry(Id::ResourceCapacity).is_none() {
                            self.missing(
                                &level,
                                Id::ResourceCapacity,
                                "a resource needs its `capacity`, such as `capacity = 20`",
                            );
                        }
                        written.resources.insert(name, level);
                    }
                }
                (known @ ("runtime" | "defaults" | "template" | "dependency" | "resource"), other) => {
                    self.not_a_table(known, key.span(), value.span(), other);
                }
                (name, other) => {
                    let fault = unknown::at_top(self.file, name, other, &self.known);
                    self.faults.push(fault.at(self.text, &key.span()));
                }
            }
        }
        if !partial && top.entry(Id::Version).is_none() {
            let message = if tree.is_empty() {
                "the file is empty; a policy begins with `version = 1`"
            } else {
                "`version` is missing; write `version = 1` above the first header"
            };
            self.missing(&top, Id::Version, message);
        }
        written.known = std::mem::take(&mut self.known);
        written
    }

    pub(crate) fn missing(&mut self, level: &Level, id: Id, message: impl Into<String>) {
        let path = if level.path.is_empty() || level.path.starts_with("resource") {
            last(id)
        } else {
            id.key().path
        };
        let key = if level.path.is_empty() {
            path.to_owned()
        } else {
            format!("{}.{path}", level.path)
        };
        if self.lost.contains(&key) {
            return;
        }
        let fault = Fault::new(FaultName::MissingKey, self.file, key, message)
            .at(self.text, &level.header)
            .allowed_here(id.key().allowed());
        self.faults.push(fault);
    }

    fn dependency(&mut self, name: &str, span: Range<usize>, table: &DeTable<'_>) -> (Level, BTreeMap<String, Level>) {
        let path = format!("dependency.{name}");
        let level = self.level(path.clone(), span, table, Scope::Dependency);
        let mut operations = BTreeMap::new();
        if let Some((key, value)) = table.get_key_value("operation") {
            let below = format!("{path}.operation");
            if let DeValue::Table(table) = value.get_ref() {
                for (name, span, table) in self.named(&below, table) {
                    let level = self.level(format!("{below}.{name}"), span, table, Scope::Operation);
                    operations.insert(name, level);
                }
            } else {
                self.not_a_table(&below, key.span(), value.span(), value.get_ref());
            }
        }
        (level, operations)
    }

    /// The tables below `[dependency]` and its like, by checked name.
    fn named<'v, 'd>(&mut self, below: &str, table: &'v DeTable<'d>) -> Vec<(String, Range<usize>, &'v DeTable<'d>)> {
        let mut found = Vec::new();
        let mut alike: BTreeMap<String, (String, Range<usize>)> = BTreeMap::new();
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let path = format!("{below}.{}", shown(name));
            let DeValue::Table(table) = value.get_ref() else {
                self.not_a_table(&path, key.span(), value.span(), value.get_ref());
                continue;
            };
            if let Some((why, ours)) = refusal(name) {
                let fault = Fault::new(FaultName::BadName, self.file, path, why).with_value(name);
                self.faults
                    .push(fault.at(self.text, &key.span()).allowed_here(RULE).suggest(ours));
            } else {
                let folded = name.replace('-', "_");
                if let Some((other, first)) = alike.get(&folded) {
                    let message = format!(
                        "`{name}` and `{other}` differ only in `-` and `_`; one variable of the environment would mean both"
                    );
                    let fault = Fault::new(FaultName::BadName, self.file, path, message).with_value(name);
                    let fault = fault.at(self.text, &key.span()).allowed_here(RULE);
                    self.faults
                        .push(fault.relate(self.text, first, format!("`{other}` stands here")));
                } else {
                    alike.insert(folded, (name.to_owned(), key.span()));
                }
            }
            found.push((name.to_owned(), value.span(), table));
        }
        found
    }

    fn level(&mut self, path: String, header: Range<usize>, table: &DeTable<'_>, scope: Scope) -> Level {
        let mut level = Level::new(path, header);
        let mut unknown = 0;
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if let Some(id) = Table::Dependency
                .keys()
                .find(|id| id.key().name == name && scope.allows(*id))
            {
                self.value(&mut level, id, key.span(), value);
            } else if let Some(at) = Table::LAYERS.iter().position(|table| table.name() == name) {
                level.tables[at] = self.layer(&mut level, Table::LAYERS[at], key.span(), value);
            } else if name != "operation" || scope != Scope::Dependency {
                unknown += 1;
                let fault = unknown::in_level(self.file, &level.path, scope, name, value.get_ref());
                self.faults.push(fault.at(self.text, &key.span()));
            }
        }
        let below = level.path.len() + 1;
        for path in self.lost.iter().filter(|path| {
            path.strip_prefix(level.path.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        }) {
            if let Some(id) = Id::ALL
                .iter()
                .copied()
                .find(|id| id.key().path == &path[below..] && level.entry(*id).is_none())
            {
                let place = Where::File {
                    key: level.header.clone(),
                };
                level.entries.push(Entry { id, value: None, place });
            }
        }
        level.only_unknown = unknown > 0 && unknown == table.len();
        level
    }

    fn layer(&mut self, level: &mut Level, table: Table, key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Presence {
        let path = format!("{}.{}", level.path, table.name());
        match value.get_ref() {
            DeValue::Table(keys) => {
                self.keys(level, keys, table);
                Presence::On(value.span())
            }
            DeValue::Boolean(false) if table.can_be_off() => Presence::Off,
            DeValue::Boolean(value_is) => {
                let message = if table.can_be_off() {
                    format!(
                        "`{0}` is a table, or `false` to take an inherited one away; for its defaults write `{0} = {{}}`",
                        table.name()
                    )
                } else {
                    format!("`{}` is a table and cannot be switched off", table.name())
                };
                let fault = Fault::new(FaultName::WrongType, self.file, path, message);
                self.faults
                    .push(fault.at(self.text, &value.span()).with_value(&value_is.to_string()));
                Presence::Faulty
            }
            other => {
                self.not_a_table(&path, key, value.span(), other);
                Presence::Faulty
            }
        }
    }

    fn keys(&mut self, level: &mut Level, table: &DeTable<'_>, which: Table) {
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if let Some(id) = which.keys().find(|id| id.key().name == name) {
                self.value(level, id, key.span(), value);
            } else {
                let fault = unknown::in_table(self.file, &level.path, which, name);
                self.faults.push(fault.at(self.text, &key.span()));
            }
        }
    }

    fn value(&mut self, level: &mut Level, id: Id, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let span = value.span();
        let read = value::read(id, value, &self.known).map_err(|draft| {
            let at = draft.span.unwrap_or_else(|| {
                if value.get_ref().is_table() {
                    key.clone()
                } else {
                    span.clone()
                }
            });
            let fault = Fault::new(draft.name, self.file, full(level, id), draft.message)
                .at(self.text, &at)
                .with_value(&self.text.text[at.clone()])
                .allowed_here(id.key().allowed())
                .suggest(draft.suggestion);
            self.faults.push(fault);
        });
        level.entries.push(Entry {
            id,
            value: read.ok(),
            place: Where::File { key },
        });
    }

    fn not_a_table(&mut self, path: &str, key: Range<usize>, value: Range<usize>, found: &DeValue<'_>) {
        let name = path.rsplit('.').next().unwrap_or(path);
        let (message, at) = match found {
            DeValue::Array(list) if list.iter().all(|element| element.get_ref().is_table()) && !list.is_empty() => {
                (format!("one table for each name: use single brackets, `[{path}]`"), key)
            }
            other => (
                format!("`{name}` is a table, `[{path}]`, not {}", type_of(other)),
                value.clone(),
            ),
        };
        let fault = Fault::new(FaultName::WrongType, self.file, path, message).at(self.text, &at);
        self.faults.push(fault.with_value(&self.text.text[value]));
    }
}

fn last(id: Id) -> &'static str {
    id.key().name
}

/// `dependency.payrail.breaker.failure_rate`
pub(crate) fn full(level: &Level, id: Id) -> String {
    let key = id.key();
    match key.table {
        Table::Top => key.name.into(),
        Table::Runtime | Table::Resource => format!("{}.{}", level.path, key.name),
        _ => format!("{}.{}", level.path, key.path),
    }
}

/// The parser sorts by key; people read from top to bottom.
fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Entries<'t, 'a> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn known(tree: &DeTable<'_>) -> Known {
    let names = |table: &str| match tree.get(table).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => table.keys().map(|key| key.get_ref().to_string()).collect(),
        _ => Vec::new(),
    };
    Known {
        templates: names("template"),
        dependencies: names("dependency"),
        resources: names("resource"),
    }
}
