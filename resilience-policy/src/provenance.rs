//! Where the effective values came from. A value itself stands in the dependency's numbers, so only its place is
//! kept, in a few bytes: a policy may hold tens of thousands of dependencies.

use std::sync::Arc;

use crate::policy::Value;
use crate::reference::Id;

/// One effective value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Effective {
    /// The key's path below the dependency: `breaker.failure_rate`.
    pub key: &'static str,
    /// The value, in the file's own notation.
    pub value: Value,
    /// The file that gave it; for an environment variable its name; for a built-in value nothing.
    pub file: Option<Arc<str>>,
    /// The line that gave it, from 1.
    pub line: Option<u32>,
    /// Where it came from.
    pub from: Origin,
}

/// Where an effective value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The dependency's or operation's own table.
    Own,
    /// An operation's value that stands in its dependency.
    Dependency,
    /// The template of this name.
    Template(Arc<str>),
    /// The `[defaults]` table.
    Defaults,
    /// Built in.
    BuiltIn,
    /// An environment variable.
    Environment,
}

/// The places of one dependency's values; what has none is built in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Provenance {
    file: Arc<str>,
    /// A dependency inherits one template at most.
    template: Option<Arc<str>>,
    variables: Vec<Arc<str>>,
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    id: Id,
    source: Source,
    /// The line; of a variable its index.
    at: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Own,
    Dependency,
    Template,
    Defaults,
    Variable,
}

impl Provenance {
    pub(crate) fn new(file: Arc<str>) -> Self {
        Self {
            file,
            template: None,
            variables: Vec::new(),
            places: Vec::with_capacity(Id::ALL.len()),
        }
    }

    /// The value of `id` stands in the file, at a level of this origin.
    pub(crate) fn note_line(&mut self, id: Id, line: u32, origin: &Origin) {
        let source = match origin {
            Origin::Dependency => Source::Dependency,
            Origin::Template(name) => {
                self.template.get_or_insert_with(|| Arc::clone(name));
                Source::Template
            }
            Origin::Defaults => Source::Defaults,
            // What is built in has no line, and a variable no level of its own.
            Origin::Own | Origin::BuiltIn | Origin::Environment => Source::Own,
        };
        self.places.push(Place { id, source, at: line });
    }

    /// The value of `id` was given by this variable.
    pub(crate) fn note_variable(&mut self, id: Id, name: &str) {
        // There are as many at most as there are keys.
        let at = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        self.variables.push(name.into());
        self.places.push(Place {
            id,
            source: Source::Variable,
            at,
        });
    }

    /// Gives back the room that was taken ahead.
    pub(crate) fn shrink(&mut self) {
        self.places.shrink_to_fit();
        self.variables.shrink_to_fit();
    }

    /// Whether somebody gave the value of `id`.
    pub(crate) fn knows(&self, id: Id) -> bool {
        self.place(id).is_some()
    }

    /// The line that gives the value of `id`, if a file gives it.
    pub(crate) fn line(&self, id: Id) -> Option<u32> {
        self.place(id)
            .filter(|place| place.source != Source::Variable)
            .map(|place| place.at)
    }

    /// `value` with the place of `id`.
    pub(crate) fn effective(&self, id: Id, value: Value) -> Effective {
        let (from, file, line) = match self.place(id) {
            None => (Origin::BuiltIn, None, None),
            Some(place) if place.source == Source::Variable => {
                let name = self.variables.get(place.at as usize).cloned();
                (Origin::Environment, name, None)
            }
            Some(place) => (self.origin(place.source), Some(Arc::clone(&self.file)), Some(place.at)),
        };
        Effective {
            key: id.key().path,
            value,
            file,
            line,
            from,
        }
    }

    fn place(&self, id: Id) -> Option<&Place> {
        // They were noted in the order of the reference.
        let at = self.places.binary_search_by_key(&id, |place| place.id).ok()?;
        self.places.get(at)
    }

    fn origin(&self, source: Source) -> Origin {
        match source {
            Source::Own => Origin::Own,
            Source::Dependency => Origin::Dependency,
            Source::Template => self.template.clone().map_or(Origin::Own, Origin::Template),
            Source::Defaults => Origin::Defaults,
            Source::Variable => Origin::Environment,
        }
    }
}
