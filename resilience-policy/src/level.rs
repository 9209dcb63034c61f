//! The file as it was written: one level for each table that gives keys to dependencies. Never leaves the crate.

use std::ops::Range;

use crate::names::Names;
use crate::policy::Value;
use crate::reference::{Id, Table};
use crate::value::Known;

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
    pub(crate) fleet: Option<Level>,
    pub(crate) defaults: Option<Level>,
    pub(crate) templates: Names<Level>,
    pub(crate) dependencies: Names<(Level, Names<Level>)>,
    pub(crate) resources: Names<Level>,
    pub(crate) known: Known,
}

/// `dependency.payrail.breaker.failure_rate`
pub(crate) fn full(level: &Level, id: Id) -> String {
    let key = id.key();
    match key.table {
        Table::Top => key.name.into(),
        Table::Runtime | Table::Fleet | Table::Resource => format!("{}.{}", level.path, key.name),
        _ => format!("{}.{}", level.path, key.path),
    }
}
