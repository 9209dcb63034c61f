//! A line that is no call.

use std::fmt;

use serde::Serialize;

/// The longest piece of a line that is shown.
const SHOWN: usize = 60;

/// A record that could not be read, with its place: the shape is that of the policy's faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BadLine {
    name: &'static str,
    file: String,
    line: usize,
    column: usize,
    value: String,
    message: String,
}

impl BadLine {
    pub(super) fn new(file: &str, line: usize, column: usize, value: &str, message: impl Into<String>) -> Self {
        let mut shown: String = value.chars().take(SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self {
            name: "syntax",
            file: file.to_owned(),
            line,
            column,
            value: shown,
            message: message.into(),
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            value,
            message,
            ..
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        if value.is_empty() {
            Ok(())
        } else {
            write!(f, ", not `{value}`")
        }
    }
}
