//! Tables of a scenario file, read key by key; what is wrong is collected with its place.

use std::ops::Range;

use resilience_policy::document::Document;
use resilience_policy::{Fault, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Why a value is refused.
pub(super) struct Bad {
    pub(super) name: &'static str,
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
}

impl Bad {
    pub(super) fn new(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            message: message.into(),
            suggestion: None,
        }
    }

    pub(super) fn suggest(self, suggestion: Option<String>) -> Self {
        Self { suggestion, ..self }
    }
}

/// A key, how its value is read, and what may stand there.
pub(super) struct Key<T> {
    pub(super) name: &'static str,
    pub(super) allowed: &'static str,
    pub(super) read: fn(&DeValue<'_>) -> Result<T, Bad>,
}

/// Everything that is wrong with the file.
pub(super) struct Faults<'d> {
    pub(super) document: &'d Document<'d>,
    pub(super) list: Vec<Fault>,
}

impl Faults<'_> {
    pub(super) fn add(&mut self, name: &'static str, span: &Range<usize>, key: &str, message: impl Into<String>) {
        let fault = self.document.fault(name, span, key, message);
        self.list.push(fault);
    }

    pub(super) fn add_with(
        &mut self,
        name: &'static str,
        span: &Range<usize>,
        key: &str,
        message: impl Into<String>,
        finish: impl FnOnce(Fault) -> Fault,
    ) {
        let fault = self.document.fault(name, span, key, message);
        self.list.push(finish(fault));
    }

    /// The text of a span.
    pub(super) fn written(&self, span: &Range<usize>) -> String {
        self.document.text().get(span.clone()).unwrap_or("").to_owned()
    }
}

/// One table of the file.
pub(super) struct Keys<'t, 'a> {
    pub(super) path: String,
    pub(super) header: Range<usize>,
    table: &'t DeTable<'a>,
}

impl<'t, 'a> Keys<'t, 'a> {
    /// The table, after its keys were held against those it may have.
    pub(super) fn new(
        faults: &mut Faults<'_>,
        path: impl Into<String>,
        header: Range<usize>,
        table: &'t DeTable<'a>,
        known: &[&str],
    ) -> Self {
        let path = path.into();
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, _) in entries {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let full = join(&path, name);
            let near = nearest(name, known.iter().copied()).map(str::to_owned);
            let whose = if path.is_empty() { "a scenario" } else { path.as_str() };
            let message = match &near {
                Some(near) => format!("`{name}` is no key of {whose}; did you mean `{near}`?"),
                None => format!("`{name}` is no key of {whose}"),
            };
            faults.add_with("unknown_key", &key.span(), &full, message, |fault| {
                fault.allowing(known.join(", ")).suggesting(near)
            });
        }
        Self { path, header, table }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'t Value<'a>> {
        self.table.get(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.table.get(name).is_some()
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// The value of a key; `None` where it is absent or at fault.
    pub(super) fn get<T>(&self, faults: &mut Faults<'_>, key: &Key<T>) -> Option<T> {
        let value = self.table.get(key.name)?;
        match (key.read)(value.get_ref()) {
            Ok(read) => Some(read),
            Err(bad) => {
                let span = value.span();
                let written = faults.written(&span);
                let path = self.path_of(key.name);
                faults.add_with(bad.name, &span, &path, bad.message, |fault| {
                    fault.valued(&written).allowing(key.allowed).suggesting(bad.suggestion)
                });
                None
            }
        }
    }

    /// The value of a key that must be there.
    pub(super) fn need<T>(&self, faults: &mut Faults<'_>, key: &Key<T>) -> Option<T> {
        if !self.has(key.name) {
            self.missing(faults, key.name, key.allowed);
        }
        self.get(faults, key)
    }

    pub(super) fn missing(&self, faults: &mut Faults<'_>, name: &str, allowed: &str) {
        let path = self.path_of(name);
        let message = format!("`{name}` is missing: {allowed}");
        faults.add("missing_key", &self.header, &path, message);
    }

    /// Two keys of which only one may stand.
    pub(super) fn exclusive(&self, faults: &mut Faults<'_>, names: &[&str]) {
        let mut there: Vec<_> = names
            .iter()
            .filter_map(|name| Some((*name, self.table.get(*name)?.span())))
            .collect();
        there.sort_by_key(|(_, span)| span.start);
        for (name, span) in there.iter().skip(1) {
            let message = format!("`{name}` and `{}` exclude each other: keep one", there[0].0);
            faults.add("contradiction", span, &self.path_of(name), message);
        }
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
