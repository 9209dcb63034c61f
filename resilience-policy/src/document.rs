//! For the other files of the command line, which are read with the policy's own care: limits, encoding and syntax
//! first, and every fault with its place. Not for people: it changes with the command.

use std::ops::Range;

use toml::de::DeTable;

use crate::error::PolicyError;
use crate::fault::Fault;
use crate::locate::Text;
use crate::syntax;

/// A text that is TOML, and faults at its places.
#[derive(Debug)]
pub struct Document<'a> {
    text: Text<'a>,
    file: String,
}

impl<'a> Document<'a> {
    /// The text behind the bytes.
    ///
    /// # Errors
    ///
    /// It is too large, not UTF-8, too deep, or not TOML; all faults of the syntax at once.
    pub fn new(bytes: &'a [u8], file: &str) -> Result<Self, PolicyError> {
        let text = syntax::decode(bytes, file)
            .map(Text::new)
            .map_err(|fault| PolicyError::one(*fault))?;
        let faults = syntax::precheck(&text, file);
        if !faults.is_empty() {
            return Err(PolicyError::new(faults));
        }
        if let Some((faults, more)) = syntax::flood(&text, file) {
            return Err(PolicyError::new(faults).and(more));
        }
        let (_, errors) = DeTable::parse_recoverable(text.text);
        let judged = syntax::judge(&text, file, &errors);
        if judged.faults.is_empty() {
            return Ok(Self {
                text,
                file: file.to_owned(),
            });
        }
        Err(PolicyError::new(judged.faults).and(judged.more))
    }

    /// A text of lines that are no TOML, such as recorded traffic.
    pub fn plain(text: &'a str, file: &str) -> Self {
        Self {
            text: Text::new(text),
            file: file.to_owned(),
        }
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text.text
    }

    /// A fault at a place of the text, by the name that JSON gives it.
    pub fn fault(&self, name: &'static str, span: &Range<usize>, key: &str, message: impl Into<String>) -> Fault {
        Fault::named(name, &self.file, key, message).at(&self.text, span)
    }
}

impl Fault {
    /// With the value as it was written.
    #[doc(hidden)]
    #[must_use]
    pub fn valued(self, value: &str) -> Self {
        self.with_value(value)
    }

    /// With what may stand there.
    #[doc(hidden)]
    #[must_use]
    pub fn allowing(self, allowed: impl Into<String>) -> Self {
        self.allowed_here(allowed)
    }

    /// With what was probably meant.
    #[doc(hidden)]
    #[must_use]
    pub fn suggesting(self, suggestion: Option<String>) -> Self {
        self.suggest(suggestion)
    }
}

impl PolicyError {
    /// An error over faults, of which there is at least one.
    #[doc(hidden)]
    pub fn of(faults: Vec<Fault>) -> Self {
        Self::new(faults)
    }
}
