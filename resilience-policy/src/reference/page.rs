//! The table as a page for people: `docs/reference.md`.

use std::fmt::Write as _;

use super::{Id, Key, Kind, Table};
use crate::units::format_duration;

const HEAD: &str = "\
# Reference: `resilience.toml`

Made from the loader's own table by `cargo run -q -p resilience-policy --example reference > docs/reference.md`; a test fails where it is not current.

A **duration** is a number and one of `us ms s m h`, parts may be joined (`1m30s`); `m` is minutes. A **rate** or a share is a fraction: fifty per cent is
`0.5`. A **window** is so many calls (`\"20 calls\"`) or a duration. A **name** is 1 to 64 of `a-z 0-9 _ -`, first a letter. The file has at most 16 MiB and
16 levels.

**A change while the service runs** acts:

| class | meaning |
|---|---|
";

const CLASSES: [super::Reload; 8] = [
    super::Reload::AtOnce,
    super::Reload::NextCall,
    super::Reload::WindowEmpty,
    super::Reload::Cooldown,
    super::Reload::Drains,
    super::Reload::Exchange,
    super::Reload::Restart,
    super::Reload::Words,
];

const TABLES: [(Table, &str, &str); 11] = [
    (Table::Top, "Above the first header", ""),
    (Table::Runtime, "`[runtime]`", "This process. All keys may be missing."),
    (
        Table::Fleet,
        "`[fleet]`",
        "Where the instances of the service meet. `resilience-admin` with its feature `fleet` reads it; without the table there \
         is no fleet.",
    ),
    (
        Table::Dependency,
        "`[dependency.NAME]`",
        "What a guarded function calls. The same keys stand in `[template.NAME]` and `[defaults]`, but `fail` and `inherits`, and in \
         `[dependency.NAME.operation.NAME]`, but `inherits`. The nearest one counts: own, template, defaults, built in.",
    ),
    (
        Table::Breaker,
        "`[dependency.NAME.breaker]`",
        "The circuit breaker. `breaker = false` takes an inherited one away.",
    ),
    (
        Table::Bulkhead,
        "`[dependency.NAME.bulkhead]`",
        "Slots. `bulkhead = false` takes an inherited one away.",
    ),
    (
        Table::Retry,
        "`[dependency.NAME.retry]`",
        "Further attempts. `retry = false` takes an inherited one away.",
    ),
    (
        Table::Fallback,
        "`[dependency.NAME.fallback]`",
        "What fallbacks may hold and take; there is always one, with its defaults.",
    ),
    (
        Table::Traffic,
        "`[dependency.NAME.traffic]`",
        "What is expected; `check` and `simulate` read it, nothing that runs does.",
    ),
    (
        Table::Chaos,
        "`[dependency.NAME.chaos]`",
        "Faults on purpose, where `runtime.chaos` is true. `chaos = false` takes an inherited one away.",
    ),
    (
        Table::Resource,
        "`[resource.NAME]`",
        "What several dependencies share; `check` and `explain` read it.",
    ),
];

/// Every key of the file, as a page of Markdown.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    // Writing into a string cannot fail.
    for class in CLASSES {
        let _ = writeln!(page, "| {} | {} |", class.class(), class.effect());
    }
    for (table, title, about) in TABLES {
        let _ = write!(page, "\n## {title}\n\n");
        if !about.is_empty() {
            let _ = write!(page, "{about}\n\n");
        }
        page.push_str(
            "| key | meaning | unit | range | default | for none | a change acts |\n|---|---|---|---|---|---|---|\n",
        );
        for id in table.keys() {
            row(&mut page, id);
        }
    }
    page
}

fn row(page: &mut String, id: Id) {
    let key = id.key();
    let cells = [
        format!("`{}`", key.name),
        key.meaning.into(),
        key.unit().into(),
        range(key),
        key.default.into(),
        key.none.into(),
        key.reload.class().into(),
    ];
    let cells = cells.map(|cell: String| cell.replace('|', "\\|").replace('<', "&lt;"));
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// What the messages say, without their examples.
fn range(key: &Key) -> String {
    match key.kind {
        Kind::Duration { zero: false } => "above 0, up to 24h".into(),
        Kind::Duration { zero: true } => "\"0s\" to 24h".into(),
        Kind::Interval(least, most) => format!("{} to {}", format_duration(least), format_duration(most)),
        Kind::Window => "1 to 100000 calls, or up to 1h".into(),
        Kind::Integer(least, most) => format!("{least} to {most}"),
        _ => key.allowed(),
    }
}

impl Key {
    /// What a value of it counts.
    pub const fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Duration { .. } | Kind::Interval(..) => "duration",
            Kind::Window => "calls or duration",
            Kind::Integer(..) | Kind::Version => "whole number",
            Kind::Number(range) if range.share => "fraction",
            Kind::Number(_) => "number",
            Kind::RateOrOff => "fraction, or `false`",
            Kind::Rates => "fractions",
            Kind::Bool => "true or false",
            Kind::Text => "text",
            Kind::Path => "path",
            Kind::Word(_) => "word",
            Kind::Words(_) => "words",
            Kind::Address => "address",
            Kind::Template | Kind::Name => "name",
            Kind::Resources => "names",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_every_class_stands_on_the_page() {
        let page = page();
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, Id::ALL.len());
        for id in Id::ALL {
            assert!(CLASSES.contains(&id.key().reload), "{}", id.key().path);
            assert!(page.contains(id.key().meaning), "{}", id.key().path);
        }
    }
}
