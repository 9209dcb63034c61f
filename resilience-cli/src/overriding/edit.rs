//! The new text of an overrides file: what others wrote stays as they wrote it, their comments included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use resilience_policy::overrides::{self, Entry};

const HEAD: &str = "# Written by `resilience override`.\n";

/// The text that says `entries`: the old one with parts taken out and added, or, where that cannot be done, a new one.
pub(super) fn rewritten(old: &str, entries: &[Entry], file: &Path, now: SystemTime) -> String {
    let edited = edited(old, entries);
    let says = overrides::parse(edited.as_bytes(), file, now);
    if says.is_ok_and(|says| same(&says, entries)) {
        return edited;
    }
    entries
        .iter()
        .fold(HEAD.to_owned(), |text, entry| text + "\n" + &table(entry))
}

/// The parts of the old text that are still true, and the new entries behind them.
fn edited(old: &str, entries: &[Entry]) -> String {
    let mut wanted: BTreeMap<&str, &Entry> = entries.iter().map(|entry| (&*entry.name, entry)).collect();
    let (head, parts) = parts(old);
    let mut text = if old.trim().is_empty() { HEAD.to_owned() } else { head };
    for (name, part) in parts {
        // One that came from the file has a line there.
        let stays = wanted.get(&*name).is_some_and(|entry| entry.line > 0);
        if stays {
            wanted.remove(&*name);
            text.push_str(&part);
        }
    }
    for entry in entries.iter().filter(|entry| wanted.contains_key(&*entry.name)) {
        let ends = text.ends_with('\n') || text.is_empty();
        text.push_str(if ends { "\n" } else { "\n\n" });
        text.push_str(&table(entry));
    }
    text
}

/// What stands above the first table, and each table with the comments right above it.
fn parts(text: &str) -> (String, Vec<(String, String)>) {
    let mut head = String::new();
    let mut parts: Vec<(String, String)> = Vec::new();
    let mut above = String::new();
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if words.starts_with('#') {
            above.push_str(line);
            continue;
        }
        if let Some(name) = header(words) {
            parts.push((name, std::mem::take(&mut above)));
        }
        let part = parts.last_mut().map_or(&mut head, |(_, part)| part);
        part.push_str(&std::mem::take(&mut above));
        part.push_str(line);
    }
    parts.last_mut().map_or(&mut head, |(_, part)| part).push_str(&above);
    (head, parts)
}

/// `payrail.refund` of `["payrail.refund"]`, `[payrail.refund]` and `[ payrail . "refund" ] # …`.
fn header(line: &str) -> Option<String> {
    let inside = line.strip_prefix('[')?.split_once(']')?.0;
    Some(
        inside
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'')
            .collect(),
    )
}

/// Whether two lists say the same, in whatever order.
fn same(left: &[Entry], right: &[Entry]) -> bool {
    let key = |entry: &Entry| {
        // The file has whole seconds.
        let until = overrides::utc(entry.until);
        (
            entry.name.clone(),
            entry.mode.as_str(),
            entry.by.clone(),
            entry.reason.clone(),
            until,
            entry.answer.clone(),
        )
    };
    let sorted = |entries: &[Entry]| {
        let mut keys: Vec<_> = entries.iter().map(key).collect();
        keys.sort();
        keys
    };
    sorted(left) == sorted(right)
}

fn table(entry: &Entry) -> String {
    let mut text = format!(
        "[{}]\nmode = \"{}\"\nby = {}\nreason = {}\nuntil = {}\n",
        quoted(&entry.name),
        entry.mode,
        quoted(&entry.by),
        quoted(&entry.reason),
        overrides::utc(entry.until),
    );
    if let Some(answer) = &entry.answer {
        let _ = writeln!(text, "answer = {}", quoted(answer));
    }
    text
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
