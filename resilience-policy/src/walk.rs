//! One walk over the tree of a file, against the reference: every value read, every key known or at fault.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, FaultName};
use crate::level::{Entry, Level, Presence, Scope, Where, Written, full};
use crate::locate::Text;
use crate::name::{RULE, refusal, shown};
use crate::names::{Names, sorted};
use crate::reference::{Id, Table};
use crate::unknown;
use crate::value::{self, Known, type_of};

/// A file of nothing but mistakes must not cost more than it can show; beyond this they are only counted.
pub(crate) const MAX_FAULTS: usize = 5_000;

type Entries<'t, 'a> = Vec<(&'t Spanned<std::borrow::Cow<'a, str>>, &'t Spanned<DeValue<'a>>)>;

/// Walks the tree once, against the reference.
pub(crate) struct Walk<'t, 'a> {
    pub(crate) text: &'t Text<'a>,
    pub(crate) file: &'t str,
    pub(crate) faults: Vec<Fault>,
    /// Faults that were only counted.
    pub(crate) more: usize,
    /// Paths of keys whose lines could not be read.
    lost: &'t Names<()>,
    known: Known,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(crate) fn new(text: &'t Text<'a>, file: &'t str, lost: &'t Names<()>) -> Self {
        Self {
            text,
            file,
            faults: Vec::new(),
            more: 0,
            lost,
            known: Known::default(),
        }
    }

    /// `partial` says that the tree lacks lines, so that nothing may be called missing.
    pub(crate) fn file(&mut self, tree: &DeTable<'_>, partial: bool) -> Written {
        self.known = Known {
            open: partial,
            ..known(tree)
        };
        let mut written = Written {
            runtime: Level::new("runtime", 0..0),
            fleet: None,
            defaults: None,
            templates: Names::default(),
            dependencies: Names::default(),
            resources: Names::default(),
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
                ("fleet", DeValue::Table(table)) => {
                    let mut level = Level::new("fleet", value.span());
                    self.keys(&mut level, table, Table::Fleet);
                    written.fleet = Some(level);
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
                (known @ ("runtime" | "fleet" | "defaults" | "template" | "dependency" | "resource"), other) => {
                    self.not_a_table(known, key.span(), value.span(), other);
                }
                _ if self.is_full() => {}
                (name, other) => {
                    let fault = unknown::at_top(self.file, name, other, &self.known);
                    self.faults.push(fault.at(self.text, &key.span()));
                }
            }
        }
        if !partial && top.entry(Id::Version).is_none() {
            let message = if tree.is_empty() && self.lost.is_empty() {
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
        if self.lost.has(&key) {
            return;
        }
        let fault = Fault::new(FaultName::MissingKey, self.file, key, message)
            .at(self.text, &level.header)
            .allowed_here(id.key().allowed());
        self.faults.push(fault);
    }

    /// Whether another fault is only to be counted; counts it.
    fn is_full(&mut self) -> bool {
        let full = self.faults.len() >= MAX_FAULTS;
        self.more += usize::from(full);
        full
    }

    fn dependency(&mut self, name: &str, span: Range<usize>, table: &DeTable<'_>) -> (Level, Names<Level>) {
        let path = format!("dependency.{name}");
        let level = self.level(path.clone(), span, table, Scope::Dependency);
        let mut operations = Names::default();
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
        let mut alike: Names<(String, Range<usize>)> = Names::default();
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
                if self.is_full() {
                    continue;
                }
                let fault = unknown::in_level(self.file, &level.path, scope, name, value.get_ref());
                self.faults.push(fault.at(self.text, &key.span()));
            }
        }
        let below = level.path.len() + 1;
        for path in self.lost.names().filter(|path| {
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
            } else if !self.is_full() {
                let fault = unknown::in_table(self.file, &level.path, which, name);
                self.faults.push(fault.at(self.text, &key.span()));
            }
        }
    }

    fn value(&mut self, level: &mut Level, id: Id, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let span = value.span();
        let read = value::read(id, value, &self.known).map_err(|draft| {
            if self.is_full() {
                return;
            }
            let at = draft.span.unwrap_or_else(|| {
                if value.get_ref().is_table() {
                    key.clone()
                } else {
                    span.clone()
                }
            });
            // A line with a password in it is not repeated.
            let written = &self.text.text[at.clone()];
            let shown = value::shown_of(id, written);
            let hides = shown != written;
            let fault = Fault::new(draft.name, self.file, full(level, id), draft.message)
                .at(self.text, &at)
                .with_value(&shown)
                .allowed_here(id.key().allowed())
                .suggest(draft.suggestion);
            self.faults.push(if hides { fault.without_echo() } else { fault });
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

/// The parser sorts by key; people read from top to bottom.
pub(crate) fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Entries<'t, 'a> {
    sorted(table.iter().collect(), |(one, _), (other, _)| {
        one.span().start.cmp(&other.span().start)
    })
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
        open: false,
        compared: std::cell::Cell::default(),
    }
}
