//! The `[fleet]` table: where the instances of the service meet.

use std::fmt;
use std::time::Duration;

use crate::level::{Level, Where};
use crate::locate::Text;
use crate::policy::Value;
use crate::provenance::{Effective, Origin, Provenance};
use crate::reference::{Id, Table};
use crate::value::without_password;
use crate::words::Evidence;

/// The `[fleet]` table.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct FleetSettings {
    /// The address of the Redis at which the instances meet. It may hold a password, so it is for who connects and for
    /// nobody's eyes; [`values`](Self::values) has it without.
    pub redis: String,
    /// The name of the service there; `None` is the program's name.
    pub name: Option<String>,
    /// What is made of what the others counted.
    pub evidence: Evidence,
    /// How often an instance publishes and reads.
    pub interval: Duration,
    provenance: Provenance,
}

impl FleetSettings {
    /// `None` without a good address: that is a fault already.
    pub(crate) fn new(level: &Level, text: &Text<'_>, file: &str) -> Option<Self> {
        let value = |id: Id| level.entry(id).and_then(|entry| entry.value.clone());
        let string = |id: Id| match value(id) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let built_in = |id: Id| match id.built_in() {
            Some(Value::Duration(time)) => *time,
            _ => Duration::from_secs(1),
        };
        let mut provenance = Provenance::new(file.into());
        for id in Table::Fleet.keys() {
            match level.entry(id).map(|entry| &entry.place) {
                Some(Where::File { key }) => provenance.note_line(id, text.line_number(key.start), &Origin::Own),
                Some(Where::Variable(name)) => provenance.note_variable(id, name),
                None => {}
            }
        }
        Some(Self {
            redis: string(Id::FleetRedis)?,
            name: string(Id::FleetName),
            evidence: string(Id::FleetEvidence)
                .and_then(|word| Evidence::from_word(&word))
                .unwrap_or(Evidence::View),
            interval: match value(Id::FleetInterval) {
                Some(Value::Duration(time)) => time,
                _ => built_in(Id::FleetInterval),
            },
            provenance,
        })
    }

    /// Each effective value with its place, the address without its password.
    pub fn values(&self) -> impl Iterator<Item = Effective> {
        Table::Fleet.keys().filter_map(|id| self.effective(id))
    }

    pub(crate) fn effective(&self, id: Id) -> Option<Effective> {
        let value = match id {
            Id::FleetRedis => Value::String(without_password(&self.redis)),
            Id::FleetName => Value::String(self.name.clone()?),
            Id::FleetEvidence => Value::String(self.evidence.as_str().into()),
            Id::FleetInterval => Value::Duration(self.interval),
            _ => return None,
        };
        Some(self.provenance.effective(id, value))
    }
}

impl fmt::Debug for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetSettings")
            .field("redis", &without_password(&self.redis))
            .field("name", &self.name)
            .field("evidence", &self.evidence)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
