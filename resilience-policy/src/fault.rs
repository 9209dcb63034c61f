//! A fault: what is wrong, where, and the way out; and the error that holds all of them.

use std::fmt;

use crate::level::Where;
use crate::locate::{Place, Text};
use crate::name::shown;

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultName {
    Syntax,
    UnknownKey,
    MissingKey,
    Duplicate,
    WrongType,
    BadDuration,
    OutOfRange,
    Contradiction,
    UnknownName,
    BadName,
    Encoding,
    TooLarge,
    TooDeep,
    Unreadable,
}

impl FaultName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnknownKey => "unknown_key",
            Self::MissingKey => "missing_key",
            Self::Duplicate => "duplicate",
            Self::WrongType => "wrong_type",
            Self::BadDuration => "bad_duration",
            Self::OutOfRange => "out_of_range",
            Self::Contradiction => "contradiction",
            Self::UnknownName => "unknown_name",
            Self::BadName => "bad_name",
            Self::Encoding => "encoding",
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One fault of a file, or one finding of a lint.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub(crate) name: &'static str,
    pub(crate) file: String,
    pub(crate) place: Option<Place>,
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) message: String,
    pub(crate) allowed: Option<String>,
    pub(crate) suggestion: Option<String>,
    pub(crate) numbers: Vec<(&'static str, f64)>,
    pub(crate) related: Vec<Related>,
    pub(crate) echo: Option<Echo>,
}

/// Another place that a fault is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its file.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its column in characters, from 1.
    pub column: u32,
    /// What stands there.
    pub message: String,
}

/// The line of the file around a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Echo {
    text: String,
    /// Characters before the caret, and under it.
    before: usize,
    width: usize,
}

impl Fault {
    pub(crate) fn new(name: FaultName, file: &str, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::named(name.as_str(), file, key, message)
    }

    pub(crate) fn named(name: &'static str, file: &str, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            name,
            file: file.into(),
            place: None,
            key: key.into(),
            value: None,
            message: message.into(),
            allowed: None,
            suggestion: None,
            numbers: Vec::new(),
            related: Vec::new(),
            echo: None,
        }
    }

    pub(crate) fn at(mut self, text: &Text<'_>, span: &std::ops::Range<usize>) -> Self {
        let place = text.place(span);
        self.echo = Some(Echo::new(text.line(place.line as usize - 1), place));
        self.place = Some(place);
        self
    }

    pub(crate) fn with_value(mut self, value: &str) -> Self {
        self.value = Some(shown(value));
        self
    }

    pub(crate) fn without_echo(mut self) -> Self {
        self.echo = None;
        self
    }

    pub(crate) fn allowed_here(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    pub(crate) fn suggest(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    /// At what was written in the file, or in the name of the variable that gave it.
    pub(crate) fn at_entry(self, text: &Text<'_>, place: &Where) -> Self {
        match place {
            Where::File { key, .. } => self.at(text, key),
            Where::Variable(name) => Self {
                file: name.clone(),
                ..self
            },
        }
    }

    pub(crate) fn relate_entry(
        mut self,
        text: &Text<'_>,
        file: &str,
        place: &Where,
        message: impl Into<String>,
    ) -> Self {
        if let Where::File { key, .. } = place {
            let at = text.place(key);
            self.related.push(Related {
                file: file.into(),
                line: at.line,
                column: at.column,
                message: message.into(),
            });
        }
        self
    }

    pub(crate) fn relate(mut self, text: &Text<'_>, span: &std::ops::Range<usize>, message: impl Into<String>) -> Self {
        let place = text.place(span);
        let file = self.file.clone();
        self.related.push(Related {
            file,
            line: place.line,
            column: place.column,
            message: message.into(),
        });
        self
    }

    /// The kind of fault, or the lint's name: `unknown_key`, `thin_evidence`.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The file, as it was named; for a fault of an environment variable the variable.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1; `None` for a fault of the file as a whole and of a variable.
    pub fn line(&self) -> Option<u32> {
        self.place.map(|place| place.line)
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> Option<u32> {
        self.place.map(|place| place.column)
    }

    /// The column after the last one.
    pub fn end_column(&self) -> Option<u32> {
        self.place.map(|place| place.end_column)
    }

    /// The key's path: `dependency.payrail.breaker.failure_rate`. For a missing key the path it should have.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as it was written, escaped and cut.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What is wrong, and the way out.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What may stand there.
    pub fn allowed(&self) -> Option<&str> {
        self.allowed.as_deref()
    }

    /// What was probably meant, as it would be written.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    /// The figures a lint rests on.
    pub fn numbers(&self) -> &[(&'static str, f64)] {
        &self.numbers
    }

    /// Other places that the fault is about.
    pub fn related(&self) -> &[Related] {
        &self.related
    }
}

impl Fault {
    /// Whether the message says by itself which key it is about.
    fn key_is_told(&self) -> bool {
        let (table, name) = self.key.rsplit_once('.').unwrap_or(("", &self.key));
        self.message.contains(&self.key)
            || !table.is_empty() && self.message.contains(table) && self.message.contains(name)
    }
}

impl Echo {
    /// Cuts a long line to what stands around the caret.
    fn new(line: &str, place: Place) -> Self {
        const AROUND: usize = 120;
        let column = place.column as usize - 1;
        let width = (place.end_column - place.column) as usize;
        let length = line.chars().count();
        let first = if length <= AROUND {
            0
        } else {
            column.saturating_sub(AROUND / 3).min(length - AROUND)
        };
        let mut text: String = line
            .chars()
            .skip(first)
            .take(AROUND)
            .map(|c| match c {
                '\u{feff}' => '·',
                c if c.is_control() => ' ',
                c => c,
            })
            .collect();
        if first + AROUND < length {
            text.push('…');
        }
        let mut before = column - first;
        if first > 0 {
            text.insert(0, '…');
            before += 1;
        }
        Self {
            text,
            before,
            width: width.min(AROUND),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown_file(&self.file))?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.key_is_told() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        if let (Some(echo), Some(place)) = (&self.echo, self.place) {
            let (before, caret) = (" ".repeat(echo.before), "^".repeat(echo.width));
            write!(f, "\n{:>5} | {}\n      | {before}{caret}", place.line, echo.text)?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(
                f,
                "{}write {suggestion}",
                if self.echo.is_some() { " " } else { "\n   " }
            )?;
        }
        if let Some(allowed) = self
            .allowed
            .as_ref()
            .filter(|allowed| !self.message.contains(allowed.as_str()))
        {
            write!(f, "\n   allowed here: {allowed}")?;
        }
        for related in &self.related {
            write!(
                f,
                "\n   {}:{}:{}: {}",
                shown_file(&related.file),
                related.line,
                related.column,
                related.message
            )?;
        }
        Ok(())
    }
}

/// A path may hold anything; a message stays on its line.
fn shown_file(file: &str) -> String {
    file.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
