//! From the tree of an overrides file to its entries.

use std::ops::Range;
use std::time::SystemTime;

use toml::de::{DeTable, DeValue};

use super::moment::moment;
use super::{Entry, KEYS, LONGEST, Refusal};
use crate::fault::{Fault, FaultName};
use crate::locate::Text;
use crate::name::{nearest, refusal, shown};
use crate::value::type_of;
use crate::walk::in_order;
use crate::words::Mode;

pub(super) struct Reader<'t, 'a> {
    pub(super) text: &'t Text<'a>,
    pub(super) file: &'t str,
    pub(super) now: SystemTime,
    pub(super) faults: Vec<Fault>,
    pub(super) partial: bool,
}

impl Reader<'_, '_> {
    #[inline]
    pub(super) fn entries(&mut self, tree: &DeTable<'_>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (key, value) in in_order(tree) {
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

    #[inline]
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

    #[inline]
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
            let near = nearest(word, words).map(Into::into);
            let message = format!("`{}` is no mode", shown(word));
            self.fault(FaultName::OutOfRange, &format!("{name}.mode"), &value.span(), message);
            self.allow(allowed.join(", "));
            self.suggest(near);
        }
        mode
    }

    #[inline]
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

    #[inline]
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

    #[inline]
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

    #[inline]
    fn fault(&mut self, kind: FaultName, key: &str, span: &Range<usize>, message: String) {
        let fault = Fault::new(kind, self.file, shown(key), message).at(self.text, span);
        let written = self.text.text.get(span.clone()).unwrap_or_default();
        self.faults.push(fault.with_value(written));
    }

    #[inline]
    fn allow(&mut self, allowed: String) {
        if let Some(fault) = self.faults.last_mut() {
            fault.allowed.get_or_insert(allowed);
        }
    }

    #[inline]
    fn suggest(&mut self, suggestion: Option<String>) {
        if let Some(fault) = self.faults.last_mut() {
            fault.suggestion = suggestion;
        }
    }
}
