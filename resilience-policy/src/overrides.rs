//! The overrides file: the operator's hand over the policy's `mode`.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, SystemTime};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, FaultName, PolicyError};
use crate::locate::Text;
use crate::name::{nearest, refusal, shown};
use crate::syntax;
use crate::value::type_of;
use crate::words::Mode;

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

struct Reader<'t, 'a> {
    text: &'t Text<'a>,
    file: &'t str,
    now: SystemTime,
    faults: Vec<Fault>,
    partial: bool,
}

impl Reader<'_, '_> {
    fn entries(&mut self, tree: &DeTable<'_>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut tables: Vec<_> = tree.iter().collect();
        tables.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in tables {
            let name = key.get_ref().as_ref();
            let DeValue::Table(table) = value.get_ref() else {
                if name != "version" {
                    let message = format!(
                        "`{}` is a table, `[NAME]`, not {}",
                        shown(name),
                        type_of(value.get_ref())
                    );
                    self.fault(FaultName::WrongType, name, &value.span(), message);
                }
                continue;
            };
            // `[payrail.refund]` without quotes is a table in a table; it can only mean the operation.
            let is_entry = table.is_empty() || table.values().any(|value| !value.get_ref().is_table());
            if is_entry {
                entries.extend(self.entry(name, value.span(), key.span(), table));
            }
            for (operation, value) in table.iter().filter(|(_, value)| value.get_ref().is_table()) {
                let name = format!("{name}.{}", operation.get_ref());
                if let DeValue::Table(table) = value.get_ref() {
                    entries.extend(self.entry(&name, value.span(), operation.span(), table));
                }
            }
        }
        entries
    }

    fn entry(&mut self, name: &str, header: Range<usize>, key: Range<usize>, table: &DeTable<'_>) -> Option<Entry> {
        let before = self.faults.len();
        let mut parts = name.split('.');
        let bad = parts.clone().find_map(refusal);
        if let Some((why, ours)) = bad {
            self.fault(FaultName::BadName, name, &key, why);
            self.suggest(ours);
        } else if parts.by_ref().count() > 2 {
            let message = "an override is of a dependency, `[payrail]`, or of an operation, `[\"payrail.refund\"]`";
            self.fault(FaultName::BadName, name, &key, message.into());
        }
        for (key, value) in table.iter().filter(|(_, value)| !value.get_ref().is_table()) {
            let word = key.get_ref().as_ref();
            if !KEYS.contains(&word) {
                let near = nearest(word, KEYS);
                let message = format!("unknown key `{}` in the override of `{}`", shown(word), shown(name));
                self.fault(FaultName::UnknownKey, &format!("{name}.{word}"), &key.span(), message);
                self.allow(KEYS.join(", "));
                self.suggest(near.map(Into::into));
            } else if word != "until" && !value.get_ref().is_str() {
                let message = format!("`{word}` is a text, not {}", type_of(value.get_ref()));
                self.fault(FaultName::WrongType, &format!("{name}.{word}"), &value.span(), message);
            }
        }
        let mode = self.mode(name, &header, table);
        let by = self.required(name, &header, table, "by", Refusal::By);
        let reason = self.required(name, &header, table, "reason", Refusal::Reason);
        let until = self.until(name, &header, table);
        let answer = table
            .get("answer")
            .and_then(|value| value.get_ref().as_str())
            .map(ToOwned::to_owned);
        if self.faults.len() > before {
            return None;
        }
        let (mode, by, reason, until) = (mode?, by?, reason?, until?);
        let expired = until <= self.now;
        let line = self.text.line_number(header.start);
        Some(Entry {
            name: name.into(),
            mode,
            by,
            reason,
            until,
            answer,
            line,
            expired,
        })
    }

    fn mode(&mut self, name: &str, header: &Range<usize>, table: &DeTable<'_>) -> Option<Mode> {
        let words = Mode::ALL.iter().map(|mode| mode.as_str());
        let allowed: Vec<String> = words.clone().map(|word| format!("\"{word}\"")).collect();
        let Some(value) = table.get("mode") else {
            self.missing(name, header, "mode", "an override needs `mode`");
            self.allow(allowed.join(", "));
            return None;
        };
        let word = value.get_ref().as_str()?;
        let mode = Mode::from_word(word);
        if mode.is_none() {
            let near = nearest(word, words).map(|word| format!("\"{word}\""));
            let message = format!("`{}` is no mode", shown(word));
            self.fault(FaultName::OutOfRange, &format!("{name}.mode"), &value.span(), message);
            self.allow(allowed.join(", "));
            self.suggest(near);
        }
        mode
    }

    fn required(
        &mut self,
        name: &str,
        header: &Range<usize>,
        table: &DeTable<'_>,
        key: &str,
        refusal: Refusal,
    ) -> Option<String> {
        let Some(value) = table.get(key) else {
            self.missing(name, header, key, &refusal.to_string());
            return None;
        };
        let text = value.get_ref().as_str()?;
        if text.trim().is_empty() {
            self.fault(
                FaultName::OutOfRange,
                &format!("{name}.{key}"),
                &value.span(),
                refusal.to_string(),
            );
            return None;
        }
        Some(text.into())
    }

    fn until(&mut self, name: &str, header: &Range<usize>, table: &DeTable<'_>) -> Option<SystemTime> {
        let Some(value) = table.get("until") else {
            self.missing(
                name,
                header,
                "until",
                "an override needs `until`: write when it ends, at most 7 days ahead",
            );
            return None;
        };
        let key = format!("{name}.until");
        match moment(value) {
            Ok(until) if until.duration_since(self.now).is_ok_and(|left| left > LONGEST) => {
                self.fault(FaultName::OutOfRange, &key, &value.span(), Refusal::TooFar.to_string());
                self.allow("a time at most 7 days ahead, with its offset".into());
                None
            }
            Ok(until) => Some(until),
            Err((kind, message)) => {
                self.fault(kind, &key, &value.span(), message);
                self.allow("a time at most 7 days ahead, with its offset, such as 2026-11-30T18:00:00Z".into());
                None
            }
        }
    }

    fn missing(&mut self, name: &str, header: &Range<usize>, key: &str, message: &str) {
        if !self.partial {
            let fault = Fault::new(
                FaultName::MissingKey,
                self.file,
                format!("{}.{key}", shown(name)),
                message,
            );
            self.faults.push(fault.at(self.text, header));
        }
    }

    fn fault(&mut self, kind: FaultName, key: &str, span: &Range<usize>, message: String) {
        let fault = Fault::new(kind, self.file, shown(key), message).at(self.text, span);
        let written = self.text.text.get(span.clone()).unwrap_or_default();
        self.faults.push(fault.with_value(written));
    }

    fn allow(&mut self, allowed: String) {
        if let Some(fault) = self.faults.last_mut() {
            fault.allowed.get_or_insert(allowed);
        }
    }

    fn suggest(&mut self, suggestion: Option<String>) {
        if let Some(fault) = self.faults.last_mut() {
            fault.suggestion = suggestion;
        }
    }
}

/// A date-time of TOML, or a text that is one.
fn moment(value: &Spanned<DeValue<'_>>) -> Result<SystemTime, (FaultName, String)> {
    let written = match value.get_ref() {
        DeValue::Datetime(moment) => *moment,
        DeValue::String(text) => text.parse::<toml_datetime::Datetime>().map_err(|_| {
            (
                FaultName::WrongType,
                format!(
                    "`{}` is no date and time; write one such as 2026-11-30T18:00:00Z",
                    shown(text)
                ),
            )
        })?,
        other => {
            return Err((
                FaultName::WrongType,
                format!("`until` is a date and time, not {}", type_of(other)),
            ));
        }
    };
    let (Some(date), Some(time)) = (written.date, written.time) else {
        return Err((FaultName::WrongType, "`until` needs a date and a time".into()));
    };
    let Some(offset) = written.offset else {
        return Err((
            FaultName::OutOfRange,
            "`until` needs its offset, such as `Z` or `+02:00`: nobody knows whose clock is meant".into(),
        ));
    };
    let minutes = match offset {
        toml_datetime::Offset::Z => 0,
        toml_datetime::Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_from_civil(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let seconds = days * 86_400
        + i64::from(time.hour) * 3600
        + (i64::from(time.minute) - minutes) * 60
        + i64::from(time.second.unwrap_or(0));
    let since = Duration::new(seconds.unsigned_abs(), time.nanosecond.unwrap_or(0));
    let moment = if seconds >= 0 {
        SystemTime::UNIX_EPOCH.checked_add(since)
    } else {
        SystemTime::UNIX_EPOCH.checked_sub(since)
    };
    moment.ok_or_else(|| {
        (
            FaultName::OutOfRange,
            "`until` lies beyond what a clock can hold".into(),
        )
    })
}

/// Days since 1970-01-01 of a date of the Gregorian calendar: Howard Hinnant's algorithm, years counted from March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
