//! `override`: writes the overrides file, whole and at once.

mod edit;
mod turn;

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use resilience_policy::overrides::{self, Entry};
use resilience_policy::{Mode, Policy, nearest, parse_duration};

use crate::UNREADABLE;
use crate::args::Override;
use crate::source;
use turn::Turn;

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
    let _turn = match Turn::take(&source.file, &file) {
        Ok(turn) => turn,
        Err(error) => {
            writeln!(err, "`{}` cannot be locked: {error}", file.display())?;
            return Ok(UNREADABLE);
        }
    };
    let now = SystemTime::now();
    match change(options, policy, &file, now) {
        Ok(said) => writeln!(out, "{said}").map(|()| 0),
        Err(Failed::Refused(why)) => writeln!(err, "{why}").map(|()| 1),
        Err(Failed::Unusable(why)) => writeln!(err, "{why}").map(|()| UNREADABLE),
    }
}

/// Why nothing was written.
enum Failed {
    /// What was asked for may not be.
    Refused(String),
    /// The file cannot be read or written.
    Unusable(String),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

fn change(options: &Override, policy: &Policy, file: &Path, now: SystemTime) -> Result<String, Failed> {
    let name = &options.dependency;
    let text = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(Failed::Unusable(format!(
                "`{}` cannot be read: {error}",
                file.display()
            )));
        }
    };
    let before = overrides::parse(&text, file, now).map_err(|error| format!("{error}\nnothing was written"))?;
    let known = before.iter().any(|entry| entry.name == *name);
    // What the policy has lost can still be taken back.
    if policy.dependency(name).is_none() && !(options.clear && known) {
        let near = policy
            .nearest(name)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(format!("the policy has no dependency `{name}`{near}").into());
    }
    if options.clear && !known {
        return Err(format!("`{}` has no override of `{name}`", file.display()).into());
    }
    let entry = if options.clear {
        None
    } else {
        Some(entry(options, now)?)
    };
    let said = match &entry {
        None => format!("{}: the override of `{name}` is taken back", file.display()),
        Some(entry) => format!(
            "{}: `{name}` is `{}` until {}",
            file.display(),
            entry.mode,
            utc(entry.until)
        ),
    };
    let kept = before.into_iter().filter(|entry| entry.name != *name && !entry.expired);
    let entries: Vec<Entry> = kept.chain(entry).collect();
    let text = edit::rewritten(&String::from_utf8_lossy(&text), &entries, file, now);
    write(file, &text).map_err(|error| Failed::Unusable(format!("`{}` cannot be written: {error}", file.display())))?;
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

/// Written beside and moved into place, so that a reader sees the old file or the new one. What a link points to is
/// replaced, not the link, and who may read the file stays as it was.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = std::path::PathBuf::from(beside);
    let written = std::fs::write(&beside, text)
        .and_then(|()| match std::fs::metadata(&file) {
            Ok(old) => std::fs::set_permissions(&beside, old.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| std::fs::rename(&beside, &file));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// A moment as TOML and people read it, in UTC and whole seconds.
fn utc(moment: SystemTime) -> String {
    overrides::utc(moment)
}
