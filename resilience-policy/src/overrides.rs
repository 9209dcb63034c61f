//! The overrides file: the operator's hand over the policy's `mode`.

mod moment;
mod read;

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use toml::de::DeTable;

use crate::error::PolicyError;
use crate::locate::Text;
use crate::syntax;
use crate::words::Mode;

use read::Reader;

/// The longest time that an override may last.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

const KEYS: [&str; 5] = ["mode", "by", "reason", "until", "answer"];

/// One override.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The dependency or operation: `payrail`, `payrail.refund`.
    pub name: String,
    /// What the guards may do.
    pub mode: Mode,
    /// Who says so.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until: SystemTime,
    /// A word for the fallback.
    pub answer: Option<String>,
    /// The line of its header.
    pub line: u32,
    /// It had ended when the file was read: it is void.
    pub expired: bool,
}

impl Entry {
    /// An override that has not been written yet.
    #[inline]
    pub fn new(name: &str, mode: Mode, by: &str, reason: &str, until: SystemTime) -> Self {
        let (name, by, reason) = (name.into(), by.into(), reason.into());
        Self {
            name,
            mode,
            by,
            reason,
            until,
            answer: None,
            line: 0,
            expired: false,
        }
    }

    /// The same with a word for the fallback.
    #[must_use]
    #[inline]
    pub fn with_answer(self, answer: Option<String>) -> Self {
        Self { answer, ..self }
    }
}

/// A moment as the file writes it: RFC 3339, in UTC and whole seconds.
#[inline]
pub fn utc(moment: SystemTime) -> String {
    moment::written(moment)
}

/// Why an override is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Nobody's name.
    By,
    /// No reason.
    Reason,
    /// It has already ended.
    Past,
    /// More than seven days ahead.
    TooFar,
}

impl fmt::Display for Refusal {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::By => "an override needs `by`: write who sets it",
            Self::Reason => "an override needs `reason`: write why it is set",
            Self::Past => "`until` has passed; write a time ahead, at most 7 days",
            Self::TooFar => "`until` is more than 7 days ahead; write a nearer time and renew it",
        })
    }
}

impl std::error::Error for Refusal {}

/// The rules that an override from the file and one from code share.
///
/// # Errors
///
/// The first rule that is broken.
#[inline]
pub fn validate(by: &str, reason: &str, until: SystemTime, now: SystemTime) -> Result<(), Refusal> {
    if by.trim().is_empty() {
        return Err(Refusal::By);
    }
    if reason.trim().is_empty() {
        return Err(Refusal::Reason);
    }
    match until.duration_since(now) {
        Err(_) => Err(Refusal::Past),
        Ok(left) if left.is_zero() => Err(Refusal::Past),
        Ok(left) if left > LONGEST => Err(Refusal::TooFar),
        Ok(_) => Ok(()),
    }
}

/// Reads an overrides file. What has expired is kept and marked; it is no fault.
///
/// # Errors
///
/// Every fault of the file, together.
#[inline]
pub fn parse(bytes: &[u8], file: &Path, now: SystemTime) -> Result<Vec<Entry>, PolicyError> {
    let shown_file = file.to_string_lossy();
    let text = syntax::decode(bytes, &shown_file)
        .map(Text::new)
        .map_err(|fault| PolicyError::one(*fault))?;
    let faults = syntax::precheck(&text, &shown_file);
    if !faults.is_empty() {
        return Err(PolicyError::new(faults));
    }
    let (tree, errors) = DeTable::parse_recoverable(text.text);
    let judged = syntax::judge(&text, &shown_file, &errors);
    let mut reader = Reader {
        text: &text,
        file: &shown_file,
        now,
        faults: judged.faults,
        partial: judged.partial,
    };
    let entries = match &judged.mended {
        None => reader.entries(tree.get_ref()),
        Some(mended) => reader.entries(DeTable::parse_recoverable(mended).0.get_ref()),
    };
    if reader.faults.is_empty() {
        Ok(entries)
    } else {
        Err(PolicyError::new(reader.faults))
    }
}
