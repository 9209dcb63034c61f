//! `override`: writes the overrides file, whole and at once.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use resilience_policy::overrides::{self, Entry};
use resilience_policy::{Mode, Policy, nearest, parse_duration};

use crate::UNREADABLE;
use crate::args::Override;
use crate::source;

pub(crate) fn run(options: &Override, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let source = match source::open(options.policy.as_deref(), false) {
        Ok(source) => source,
        Err(error) => {
            writeln!(err, "{error}")?;
            return Ok(UNREADABLE);
        }
    };
    let policy = &source.inspection.policy;
    let file = source::overrides_file(policy, &source.file);
    let now = SystemTime::now();
    let done = change(options, policy, &file, now);
    match done {
        Ok(said) => writeln!(out, "{said}").map(|()| 0),
        Err(why) => writeln!(err, "{why}").map(|()| 1),
    }
}

fn change(options: &Override, policy: &Policy, file: &Path, now: SystemTime) -> Result<String, String> {
    let name = &options.dependency;
    if policy.dependency(name).is_none() {
        let near = policy
            .nearest(name)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(format!("the policy has no dependency `{name}`{near}"));
    }
    let mut entries = match std::fs::read(file) {
        Ok(bytes) => overrides::parse(&bytes, file, now).map_err(|error| format!("{error}\nnothing was written"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("`{}` cannot be read: {error}", file.display())),
    };
    let before = entries.len();
    entries.retain(|entry| entry.name != *name && !entry.expired);
    if options.clear {
        if entries.len() == before {
            return Err(format!("`{}` has no override of `{name}`", file.display()));
        }
        write(file, &entries)?;
        return Ok(format!("{}: the override of `{name}` is taken back", file.display()));
    }
    let entry = entry(options, now)?;
    let said = format!(
        "{}: `{name}` is `{}` until {}",
        file.display(),
        entry.mode,
        utc(entry.until)
    );
    entries.push(entry);
    write(file, &entries)?;
    Ok(said)
}

fn entry(options: &Override, now: SystemTime) -> Result<Entry, String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let word = text(&options.mode);
    let mode = Mode::from_word(&word).ok_or_else(|| {
        let near = nearest(&word, Mode::ALL.iter().map(|mode| mode.as_str()));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("`{word}` is no mode: enforce, observe, isolate or off{near}")
    })?;
    let lasting = text(&options.lasting);
    let lasting =
        lasting_of(&lasting).ok_or_else(|| format!("`--for {lasting}` is no duration such as `1h`, `30m` or `3d`"))?;
    let until = now + lasting;
    let entry = Entry::new(
        &options.dependency,
        mode,
        &text(&options.by),
        &text(&options.reason),
        until,
    );
    let entry = entry.with_answer(options.answer.clone());
    overrides::validate(&entry.by, &entry.reason, until, now).map_err(|refusal| refusal.to_string())?;
    Ok(entry)
}

/// The file's durations, and days, which only an override lasts.
fn lasting_of(text: &str) -> Option<Duration> {
    if let Some(days) = text.strip_suffix('d') {
        return days
            .parse::<u64>()
            .ok()
            .and_then(|days| days.checked_mul(86_400))
            .map(Duration::from_secs);
    }
    parse_duration(text)
}

/// Written beside and moved into place, so that a reader sees the old file or the new one.
fn write(file: &Path, entries: &[Entry]) -> Result<(), String> {
    let mut text = String::from("# Written by `resilience override`.\n");
    for entry in entries {
        let quote = |text: &str| toml_text(text);
        let _ = write!(
            text,
            "\n[{}]\nmode = \"{}\"\nby = {}\nreason = {}\nuntil = {}\n",
            quote(&entry.name),
            entry.mode,
            quote(&entry.by),
            quote(&entry.reason),
            utc(entry.until),
        );
        if let Some(answer) = &entry.answer {
            let _ = writeln!(text, "answer = {}", quote(answer));
        }
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = std::path::PathBuf::from(beside);
    let moved = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, file));
    moved.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        format!("`{}` cannot be written: {error}", file.display())
    })
}

/// A basic string of TOML.
fn toml_text(text: &str) -> String {
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

/// A moment as TOML and people read it, in UTC and whole seconds.
fn utc(moment: SystemTime) -> String {
    overrides::utc(moment)
}
