//! Which levels a dependency or an operation takes its values from, nearest first, and how far each layer's table
//! reaches among them.

use crate::level::{Entry, Level, Presence, layer_index};
use crate::policy::Value;
use crate::provenance::Origin;
use crate::reference::{Id, Table};

/// The levels, nearest first: own, for an operation its dependency's, template, defaults.
pub(crate) struct Chain<'a> {
    levels: Vec<(&'a Level, Origin)>,
    layers: [Reach; 6],
    /// The template is unknown, so nothing may be called missing.
    pub(crate) doubtful: bool,
}

/// How far a layer's table reaches.
#[derive(Clone, Copy)]
struct Reach {
    /// So many of the nearest levels count: `breaker = false` cuts off what lies behind it.
    levels: usize,
    /// The nearest level in which the table stands.
    nearest: Option<usize>,
    doubtful: bool,
}

/// A value that was written somewhere in the chain.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) level: &'a Level,
    pub(crate) depth: usize,
}

impl<'a> Found<'a> {
    /// `None` where what was written is at fault.
    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.entry.value.as_ref()
    }
}

impl<'a> Chain<'a> {
    pub(crate) fn new(levels: Vec<(&'a Level, Origin)>, doubtful: bool) -> Self {
        let layers = Table::LAYERS.map(|table| reach(&levels, table));
        Self {
            levels,
            layers,
            doubtful,
        }
    }

    pub(crate) fn own(&self) -> &'a Level {
        self.levels[0].0
    }

    pub(crate) fn origin(&self, depth: usize) -> &Origin {
        &self.levels[depth].1
    }

    /// Whether the layer is there: its table stands in the chain and is not taken away.
    pub(crate) fn is_on(&self, table: Table) -> bool {
        match layer_index(table) {
            Some(at) => table == Table::Fallback || self.layers[at].nearest.is_some(),
            None => true,
        }
    }

    /// Whether the table itself was written wrongly somewhere near.
    pub(crate) fn is_doubtful(&self, table: Table) -> bool {
        layer_index(table).is_some_and(|at| self.layers[at].doubtful)
    }

    /// The header of the layer's table, where it stands in the nearest level itself.
    pub(crate) fn own_header(&self, table: Table) -> Option<std::ops::Range<usize>> {
        match self.own().table(table) {
            Presence::On(span) => Some(span.clone()),
            _ => None,
        }
    }

    /// The nearest entry for a key.
    pub(crate) fn find(&self, id: Id) -> Option<Found<'a>> {
        let reach = layer_index(id.key().table).map_or(self.levels.len(), |at| self.layers[at].levels);
        self.levels[..reach].iter().enumerate().find_map(|(depth, (level, _))| {
            let entry = level.entry(id)?;
            Some(Found { entry, level, depth })
        })
    }
}

fn reach(levels: &[(&Level, Origin)], table: Table) -> Reach {
    let mut nearest = None;
    for (depth, (level, _)) in levels.iter().enumerate() {
        match level.table(table) {
            Presence::Absent => {}
            Presence::On(_) => nearest = nearest.or(Some(depth)),
            Presence::Off => {
                return Reach {
                    levels: depth,
                    nearest,
                    doubtful: false,
                };
            }
            Presence::Faulty => {
                return Reach {
                    levels: depth,
                    nearest,
                    doubtful: true,
                };
            }
        }
    }
    Reach {
        levels: levels.len(),
        nearest,
        doubtful: false,
    }
}
