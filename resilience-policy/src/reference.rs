//! The one table of keys: where each stands, its type and range, its default, what it means and what a change of
//! it does to running state. The checker, `explain`, the schema and the documentation all read it.

mod keys;
#[cfg(feature = "tools")]
mod page;

use crate::policy::Value;
use crate::units::format_duration;

pub use keys::Id;
pub(crate) use keys::RATE;
#[cfg(feature = "tools")]
pub use page::page;

/// One key of the file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// The table it stands in.
    pub table: Table,
    /// Its name there.
    pub name: &'static str,
    /// Its path below a dependency: `breaker.failure_rate`.
    pub path: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// What holds where it is not written, in words or in the file's notation.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What a change of it does while running.
    pub reload: Reload,
    /// How to say "none", "unbounded" or "off".
    pub none: &'static str,
    /// What other products call it.
    pub synonyms: &'static [&'static str],
}

/// The tables of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Table {
    /// Above the first header.
    Top,
    /// `[runtime]`.
    Runtime,
    /// `[fleet]`.
    Fleet,
    /// `[dependency.…]`, and the same in a template, the defaults and an operation.
    Dependency,
    /// `[dependency.….breaker]`.
    Breaker,
    /// `[dependency.….bulkhead]`.
    Bulkhead,
    /// `[dependency.….retry]`.
    Retry,
    /// `[dependency.….fallback]`.
    Fallback,
    /// `[dependency.….traffic]`.
    Traffic,
    /// `[dependency.….chaos]`.
    Chaos,
    /// `[resource.…]`.
    Resource,
}

impl Table {
    /// The tables below a dependency.
    pub const LAYERS: [Self; 6] = [
        Self::Breaker,
        Self::Bulkhead,
        Self::Retry,
        Self::Fallback,
        Self::Traffic,
        Self::Chaos,
    ];

    /// The table's own name; empty for the top and for the dependency itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Top | Self::Dependency => "",
            Self::Runtime => "runtime",
            Self::Fleet => "fleet",
            Self::Breaker => "breaker",
            Self::Bulkhead => "bulkhead",
            Self::Retry => "retry",
            Self::Fallback => "fallback",
            Self::Traffic => "traffic",
            Self::Chaos => "chaos",
            Self::Resource => "resource",
        }
    }

    /// Whether `breaker = false` is understood: it takes an inherited table away.
    pub const fn can_be_off(self) -> bool {
        matches!(self, Self::Breaker | Self::Bulkhead | Self::Retry | Self::Chaos)
    }

    /// Whether it stands below a dependency.
    pub const fn is_layer(self) -> bool {
        !matches!(
            self,
            Self::Top | Self::Runtime | Self::Fleet | Self::Dependency | Self::Resource
        )
    }

    /// The keys of this table, in order.
    pub fn keys(self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(move |id| id.key().table == self)
    }
}

/// The type and range of a value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Kind {
    /// Text for people.
    Text,
    /// The path of a file.
    Path,
    /// `true` or `false`.
    Bool,
    /// The number 1.
    Version,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// The name of a template.
    Template,
    /// A list of names of resources.
    Resources,
    /// A duration of at most 24 hours; `zero` says whether none at all is allowed.
    Duration {
        /// Whether `"0s"` is allowed.
        zero: bool,
    },
    /// A duration between these, both included.
    Interval(std::time::Duration, std::time::Duration),
    /// The address of a Redis, which may hold a password.
    Address,
    /// A name, as those of dependencies.
    Name,
    /// So many calls or so much time.
    Window,
    /// A whole number between these, both included.
    Integer(i64, i64),
    /// A number in this range.
    Number(Range),
    /// A rate above 0 and up to 1, or `false`.
    RateOrOff,
    /// A list of rates above 0 and up to 1.
    Rates,
}

/// A range of numbers. Written so that a value which is not a number lies outside.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// Whether the least itself lies outside.
    pub above: bool,
    /// The most.
    pub most: f64,
    /// Whether the most itself lies outside.
    pub below: bool,
    /// In the words of the documentation.
    pub words: &'static str,
    /// Whether it is a share of one, so that `50` was meant as per cent.
    pub share: bool,
}

impl Range {
    /// Whether `value` lies inside.
    pub fn contains(&self, value: f64) -> bool {
        let low = if self.above {
            value > self.least
        } else {
            value >= self.least
        };
        let high = if self.below {
            value < self.most
        } else {
            value <= self.most
        };
        low && high
    }
}

/// What a changed value does to running state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reload {
    /// From the next attempt on.
    AtOnce,
    /// From the next call on.
    NextCall,
    /// The window starts empty.
    WindowEmpty,
    /// An open breaker's end moves.
    Cooldown,
    /// A smaller number drains.
    Drains,
    /// From the next exchange of the fleet on.
    Exchange,
    /// Seen at the next start only.
    Restart,
    /// Nothing that runs reads it.
    Words,
}

impl Reload {
    /// When a change acts, in a few words, for tables: `live`, `next call`, `next window`, `drains`.
    pub const fn class(self) -> &'static str {
        match self {
            Self::AtOnce => "live",
            Self::NextCall => "next call",
            Self::WindowEmpty => "next window",
            Self::Cooldown => "live, this opening too",
            Self::Drains => "drains",
            Self::Exchange => "next exchange",
            Self::Restart => "next start",
            Self::Words => "nothing runs on it",
        }
    }

    /// In words, for reports.
    pub const fn effect(self) -> &'static str {
        match self {
            Self::AtOnce => "takes effect at once, with the next attempt",
            Self::NextCall => "takes effect with the next call",
            Self::WindowEmpty => "the window starts empty",
            Self::Cooldown => {
                "takes effect at once; the end of an open breaker moves to its opening plus the new cooldown"
            }
            Self::Drains => "takes effect at once; where it is smaller, running calls drain",
            Self::Exchange => "takes effect with the next exchange of the fleet",
            Self::Restart => "takes effect at the next start",
            Self::Words => "nothing that runs changes",
        }
    }
}

use Kind::{
    Address, Bool, Duration, Integer, Interval, Name, Number, Path, RateOrOff, Rates, Resources, Template, Text,
    Version, Window, Word, Words,
};

impl Key {
    /// What is allowed, for messages, the schema and the documentation.
    pub fn allowed(&self) -> String {
        match self.kind {
            Text => "a text of at least one character".into(),
            Path => "the path of a file".into(),
            Bool => "true or false".into(),
            Version => "1".into(),
            Word(words) => quoted(words),
            Words(words) => format!("a list of {}", quoted(words)),
            Template => "the name of a template".into(),
            Resources => "a list of names of resources".into(),
            Duration { zero: false } => {
                "a duration above 0 and up to 24h, such as \"400ms\", \"30s\" or \"1m30s\"".into()
            }
            Duration { zero: true } => "a duration from \"0s\" to 24h, such as \"400ms\", \"30s\" or \"1m30s\"".into(),
            Interval(least, most) => format!(
                "a duration from \"{}\" to \"{}\"",
                format_duration(least),
                format_duration(most)
            ),
            Address => "the address of a Redis: `redis://host:port/`, or with `rediss://` or `unix://`".into(),
            Name => crate::name::RULE.into(),
            Window => "\"1 calls\" to \"100000 calls\", or a duration up to 1h such as \"30s\"".into(),
            Integer(least, most) => format!("a whole number from {least} to {most}"),
            Number(range) => range.words.into(),
            RateOrOff => "0 < rate <= 1, or false".into(),
            Rates => "a list of rates, each 0 < rate <= 1".into(),
        }
    }

    pub(crate) fn read_built_in(&self) -> Option<Value> {
        let value = match self.kind {
            Word(_) if self.default != "required" => Value::String(self.default.into()),
            Words(words) => Value::List(words.iter().map(|word| Value::String((*word).into())).collect()),
            Duration { .. } | Interval(..) => Value::Duration(crate::units::duration(self.default).ok()?),
            Window => Value::String(self.default.into()),
            Integer(..) => Value::Integer(self.default.parse().ok()?),
            Number(_) | RateOrOff => Value::Float(self.default.parse().ok()?),
            _ => return None,
        };
        Some(value)
    }
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(", ")
}
