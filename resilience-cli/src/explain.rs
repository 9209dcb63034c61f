//! `explain`: every effective number with its place and origin.

mod holds;
mod picture;
mod picture_of_time;
mod refusals;
mod sign_off;
mod traffic;
mod worst_case;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use comfy_table::{Table, presets};
use resilience_policy::overrides::{self, Entry};
use resilience_policy::{Dependency, Effective, Origin, Policy, lookup};
use serde_json::{Map, json};

use crate::UNREADABLE;
use crate::args::{Explain, Format};
use crate::source::{self, Source};
use crate::{audit, check, json};

pub(crate) fn run(options: &Explain, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let (file, wanted) = words(options);
    let source = match source::open(file.as_deref(), options.env) {
        Ok(source) => source,
        Err(error) => {
            check::unreadable(options.format, &error, out, err)?;
            return Ok(UNREADABLE);
        }
    };
    if let Some(error) = &source.inspection.error {
        match options.format {
            Format::Json => check::unreadable(options.format, error, out, err)?,
            Format::Text => writeln!(err, "{error}")?,
        }
        return Ok(if error.is_unreadable() { UNREADABLE } else { 1 });
    }
    let policy = &source.inspection.policy;
    if let Some(name) = wanted.as_ref().filter(|name| policy.dependency(name).is_none()) {
        let near = policy
            .nearest(name)
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        writeln!(err, "{} has no dependency `{name}`{near}", source.file.display())?;
        return Ok(1);
    }
    let hand = Hand::read(&source, err)?;
    let chosen = wanted.as_deref().and_then(|name| policy.dependency(name));
    if let Some(file) = &options.svg {
        let drawn: Vec<&Dependency> = chosen.map_or_else(|| policy.dependencies().collect(), |one| vec![one]);
        if let Err(error) = std::fs::write(file, picture_of_time::svg(&drawn)) {
            writeln!(err, "`{}` cannot be written: {error}", file.display())?;
            return Ok(UNREADABLE);
        }
    }
    match (options.format, chosen) {
        (Format::Json, chosen) => print_json(policy, chosen, &hand, out)?,
        (Format::Text, Some(dependency)) => print_text(policy, dependency, &hand, out)?,
        (Format::Text, None) => {
            let forms = match options.source.as_deref().map(audit::forms).transpose() {
                Ok(forms) => forms,
                Err(why) => {
                    writeln!(err, "{why}")?;
                    return Ok(UNREADABLE);
                }
            };
            write!(out, "{}", sign_off::table(policy, forms.as_ref()))?;
            print_fleet(policy, out)?;
        }
    }
    Ok(0)
}

/// A single word that is no file is the dependency.
fn words(options: &Explain) -> (Option<PathBuf>, Option<String>) {
    match (&options.file, &options.dependency) {
        (Some(only), None) if !only.exists() && only.extension().is_none_or(|ending| ending != "toml") => {
            (None, Some(only.to_string_lossy().into_owned()))
        }
        // `payrail.toml` names a file, there or not; so does a path.
        (file, dependency) => (file.clone(), dependency.clone()),
    }
}

/// The operator's hand: overrides that are in force.
struct Hand {
    file: String,
    entries: Vec<Entry>,
}

impl Hand {
    /// A bad overrides file is not this command's matter, and never blocks the policy.
    fn read(source: &Source, err: &mut dyn Write) -> io::Result<Self> {
        let file = source::overrides_file(&source.inspection.policy, &source.file);
        let bytes = lookup::bytes(&file).unwrap_or_default();
        let entries = match overrides::parse(&bytes, &file, SystemTime::now()) {
            Ok(entries) => entries.into_iter().filter(|entry| !entry.expired).collect(),
            Err(error) => {
                writeln!(
                    err,
                    "{error}\nthe overrides are left out here; a running service keeps the last good ones"
                )?;
                Vec::new()
            }
        };
        Ok(Self {
            file: file.to_string_lossy().into_owned(),
            entries,
        })
    }

    /// The override of a dependency; isolating a dependency isolates its operations.
    fn over(&self, dependency: &Dependency) -> Option<&Entry> {
        let of = |name: &str| self.entries.iter().find(|entry| entry.name == name);
        of(&dependency.name).or_else(|| of(dependency.parent.as_deref()?))
    }
}

/// One effective value as both outputs show it.
struct Row {
    key: &'static str,
    value: serde_json::Value,
    text: String,
    file: Option<String>,
    line: Option<u32>,
    from: String,
    from_in_full: String,
}

fn rows(dependency: &Dependency, hand: &Hand) -> Vec<Row> {
    let over = hand.over(dependency);
    dependency
        .values()
        .map(|effective| match over.filter(|_| effective.key == "mode") {
            Some(entry) => Row {
                key: effective.key,
                value: json!(entry.mode.as_str()),
                text: entry.mode.to_string(),
                file: Some(hand.file.clone()),
                line: Some(entry.line),
                from: "override".into(),
                from_in_full: format!("override by {} until {}", entry.by, overrides::utc(entry.until)),
            },
            None => row(dependency, &effective),
        })
        .collect()
}

fn row(dependency: &Dependency, effective: &Effective) -> Row {
    let from = origin(&effective.from);
    let in_full = match &effective.from {
        Origin::Dependency => dependency.parent.clone().unwrap_or_default(),
        _ => from.clone(),
    };
    Row {
        key: effective.key,
        value: json::value(&effective.value),
        text: effective.value.to_string(),
        file: effective.file.as_deref().map(Into::into),
        line: effective.line,
        from,
        from_in_full: in_full,
    }
}

fn origin(from: &Origin) -> String {
    match from {
        Origin::Template(name) => format!("template {name}"),
        Origin::Defaults => "defaults".into(),
        Origin::BuiltIn => "built in".into(),
        Origin::Environment => "environment".into(),
        // To a program an operation and its dependency are one table; people want to know which of the two.
        _ => "own".into(),
    }
}

fn print_json(policy: &Policy, chosen: Option<&Dependency>, hand: &Hand, out: &mut dyn Write) -> io::Result<()> {
    let mut dependencies = Map::new();
    let wanted = policy
        .dependencies()
        .filter(|one| chosen.is_none_or(|chosen| chosen.name == one.name));
    for dependency in wanted {
        let keys: Map<_, _> = rows(dependency, hand)
            .into_iter()
            .map(|row| {
                (
                    row.key.to_owned(),
                    json!({ "value": row.value, "file": row.file, "line": row.line, "from": row.from }),
                )
            })
            .collect();
        dependencies.insert(dependency.name.clone(), keys.into());
    }
    let mut all = json!({ "dependencies": dependencies });
    if let (Some(fleet), None) = (policy.fleet(), chosen) {
        let keys: Map<_, _> = fleet.values().map(|value| of_fleet(&value)).collect();
        all["fleet"] = keys.into();
    }
    writeln!(out, "{all:#}")
}

fn of_fleet(value: &Effective) -> (String, serde_json::Value) {
    let row = json!({
        "value": json::value(&value.value), "file": value.file.as_deref(), "line": value.line, "from": origin(&value.from),
    });
    (value.key.trim_start_matches("fleet.").to_owned(), row)
}

fn print_fleet(policy: &Policy, out: &mut dyn Write) -> io::Result<()> {
    let Some(fleet) = policy.fleet() else { return Ok(()) };
    let told: Vec<_> = fleet
        .values()
        .map(|value| format!("{} = {}", value.key, value.value))
        .collect();
    writeln!(out, "\nthe instances meet: {}", told.join(", "))
}

fn print_text(policy: &Policy, dependency: &Dependency, hand: &Hand, out: &mut dyn Write) -> io::Result<()> {
    let about = dependency
        .about
        .as_ref()
        .map_or(String::new(), |about| format!(": {about}"));
    writeln!(out, "{}{about}", dependency.name)?;
    writeln!(out, "{}\n", sign_off::decision(dependency))?;

    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["key", "value", "from", "where"]);
    for row in rows(dependency, hand) {
        let place = match (&row.file, row.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(variable), None) => variable.clone(),
            _ => String::new(),
        };
        table.add_row([row.key.to_owned(), row.text, row.from_in_full, place]);
    }
    writeln!(out, "{}\n", table.trim_fmt())?;
    writeln!(out, "the layers, from outside in:\n\n{}", picture::layers(dependency))?;
    let line = worst_case::line(dependency);
    writeln!(out, "a call at worst:\n\n{}", line.text())?;
    writeln!(
        out,
        "at most it holds of each instance:\n\n{}",
        holds::most(dependency, &line)
    )?;
    writeln!(
        out,
        "what a caller gets when it is refused:\n\n{}\n",
        refusals::table(dependency)
    )?;
    let figures = traffic::figures(policy, dependency);
    if !figures.is_empty() {
        writeln!(out, "what the expected traffic makes of it:\n\n{figures}")?;
    }
    Ok(())
}
