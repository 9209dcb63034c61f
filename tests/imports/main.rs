//! Who may import whom: the `use` lines and paths of the code, read against the table.
//!
//! The pipe is: policy text → checked `Policy` → `Runtime` → a guard per dependency → outcome → events. A new module of
//! the runtime needs a row; a new arrow needs a word in the row of the module it starts from, and a reason in review.

mod source;
mod table;

use std::fmt;

use source::{Source, leaves, read, root, sources};
use table::{CRATES, MACROS, ORDER, POLICY, RUNTIME, Row, TWO_LAYERS};

struct Violation {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

#[test]
fn the_crates_build_on_each_other_as_the_table_says() {
    let mut found = Vec::new();
    for (name, may) in CRATES {
        let allowed = |other: &str| other == name || has(may, other);
        for source in sources(name) {
            for import in source.imports() {
                let other = import.root().replace('_', "-");
                if !import.own && other.starts_with("resilience-") && !allowed(&other) {
                    found.push(violation(
                        &source,
                        import.line,
                        format!("`{name}` may not build on `{other}`"),
                    ));
                }
            }
        }
        let manifest = read(&root().join(name).join("Cargo.toml"));
        for (line, other) in own_dependencies(&manifest) {
            if !allowed(other) {
                let rule = format!("`{name}` may not build on `{other}`");
                found.push(Violation {
                    file: format!("{name}/Cargo.toml"),
                    line,
                    rule,
                });
            }
        }
    }
    assert_none(&found);
}

#[test]
fn the_modules_import_each_other_as_the_table_says() {
    let mut found = Vec::new();
    for source in sources("resilience-runtime") {
        found.extend(check(&source, RUNTIME).unwrap_or_else(|missing| vec![missing]));
    }
    for (name, rows) in [("resilience-policy", POLICY), ("resilience-macros", MACROS)] {
        for source in sources(name) {
            found.extend(check(&source, rows).unwrap_or_default());
        }
    }
    assert_none(&found);
}

#[test]
fn no_row_is_about_a_module_that_is_gone() {
    for (name, rows) in [
        ("resilience-runtime", RUNTIME),
        ("resilience-policy", POLICY),
        ("resilience-macros", MACROS),
    ] {
        for row in rows {
            let file = root()
                .join(name)
                .join("src")
                .join(row.module.replace("::", "/"))
                .with_extension("rs");
            assert!(
                file.exists(),
                "the table has a row for `{}` of {name}, which is gone: remove it",
                row.module
            );
        }
    }
}

#[test]
fn one_file_for_each_way_names_the_order_of_the_layers() {
    let mut found = Vec::new();
    for source in sources("resilience-runtime") {
        for (file, act) in ORDER
            .iter()
            .flat_map(|(file, acts)| acts.iter().map(move |act| (file, act)))
        {
            let stands_here = source.file == *file;
            let lines = source.code.lines().zip(1..).filter(|(code, _)| code.contains(act));
            let lines: Vec<usize> = lines.map(|(_, line)| line).collect();
            assert!(
                !stands_here || !lines.is_empty(),
                "{file} says `{act}` no longer: correct the table"
            );
            if !stands_here {
                let rule = format!("`{act}` belongs to {file}, where the order stands");
                found.extend(lines.into_iter().map(|line| violation(&source, line, rule.clone())));
            }
        }
        let mut layers: Vec<_> = source
            .imports()
            .iter()
            .filter_map(|import| import.path.strip_prefix("layer::").filter(|_| import.own))
            .filter_map(|path| path.split("::").next().map(str::to_owned))
            .collect();
        layers.sort();
        layers.dedup();
        if layers.len() > 1 && !TWO_LAYERS.split(' ').any(|module| is_within(&source.module, module)) {
            found.push(violation(
                &source,
                1,
                format!("names more than one layer: {}", layers.join(", ")),
            ));
        }
    }
    assert_none(&found);
}

/// What of a file is against the table; `Err` if its module has no row.
fn check(source: &Source, rows: &[Row]) -> Result<Vec<Violation>, Violation> {
    let fitting = rows.iter().filter(|row| is_within(&source.module, row.module));
    let Some(row) = fitting.max_by_key(|row| row.module.len()) else {
        // The root of a crate only declares and re-exports.
        let missing = format!("`{}` has no row in the table: give it one", source.module);
        return if source.module.is_empty() {
            Ok(Vec::new())
        } else {
            Err(violation(source, 1, missing))
        };
    };
    let mut found = Vec::new();
    for import in source.imports() {
        let rule = if import.own {
            let own = is_within(&import.path, row.module);
            let allowed = own || row.may.split(' ').any(|may| is_within(&import.path, may));
            (!allowed).then(|| format!("`{}` may not import `{}`", row.module, import.path))
        } else {
            let known = ["std", "core"].contains(&import.root());
            let allowed = known || row.foreign.is_none_or(|foreign| has(foreign, import.root()));
            (!allowed).then(|| format!("`{}` may not use `{}`", row.module, import.root()))
        };
        found.extend(rule.map(|rule| violation(source, import.line, rule)));
    }
    for (code, line) in source.code.lines().zip(1..) {
        for word in row
            .never
            .split(' ')
            .filter(|word| !word.is_empty() && code.contains(word))
        {
            found.push(violation(
                source,
                line,
                format!("`{word}` may not stand in `{}`", row.module),
            ));
        }
    }
    Ok(found)
}

fn violation(source: &Source, line: usize, rule: String) -> Violation {
    Violation {
        file: source.file.clone(),
        line,
        rule,
    }
}

fn assert_none(found: &[Violation]) {
    let lines: Vec<_> = found.iter().map(Violation::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} against the table of imports:\n{}",
        lines.len(),
        lines.join("\n")
    );
}

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Those of our crates that a manifest builds on, tests apart.
fn own_dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for (line, at) in manifest.lines().zip(1..) {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        if section == "[dependencies]" && name.starts_with("resilience-") {
            found.push((at, name));
        }
    }
    found
}

/// The test can fail: made-up lines, and what is said of them.
mod made_up {
    use super::*;

    fn verdicts(module: &str, text: &str) -> Vec<String> {
        let source = Source::new("made_up.rs".to_owned(), module, text);
        let found = check(&source, RUNTIME).unwrap_or_else(|missing| vec![missing]);
        found.iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_layer_that_imports_its_sibling_is_told_with_file_line_and_rule() {
        assert_eq!(
            verdicts("layer::retry", "//! Pauses.\n\nuse crate::layer::breaker::Permit;\n"),
            ["made_up.rs:3: `layer::retry` may not import `layer::breaker::Permit`"]
        );
        assert_eq!(
            verdicts("layer::hold", "fn f() { super::breaker::rate(1, 2); }"),
            ["made_up.rs:1: `layer::hold` may not import `layer::breaker::rate`"]
        );
    }

    #[test]
    fn the_pure_machine_reads_no_clock_and_knows_no_runtime_and_no_lock() {
        assert_eq!(
            verdicts(
                "layer::breaker::state",
                "use crate::clock::{self, NEVER};\nuse tokio::time::Sleep;\n"
            ),
            [
                "made_up.rs:1: `layer::breaker::state` may not import `clock`",
                "made_up.rs:2: `layer::breaker::state` may not use `tokio`",
            ]
        );
        assert_eq!(
            verdicts("layer::breaker::window", "use std::sync::Mutex;\n"),
            ["made_up.rs:1: `Mutex` may not stand in `layer::breaker::window`"]
        );
    }

    #[test]
    fn an_observer_sees_events_and_nothing_else() {
        assert_eq!(
            verdicts(
                "observe::tracing",
                "use crate::event::Event;\nuse crate::{guard, event::{TARGET, Served}};\n"
            ),
            ["made_up.rs:2: `observe` may not import `guard`"]
        );
    }

    #[test]
    fn a_module_without_a_row_is_told_to_get_one() {
        assert_eq!(
            verdicts("news", "use std::fmt;"),
            ["made_up.rs:1: `news` has no row in the table: give it one"]
        );
    }

    #[test]
    fn what_stands_in_comments_texts_and_tests_is_no_import() {
        let text = "// use crate::guard;\nfn f() -> &'static str { \"crate::guard::Guard\" }\n\n#[cfg(test)]\nmod tests {\n    use crate::guard;\n}\n";
        assert_eq!(verdicts("words", text), [""; 0]);
    }

    #[test]
    fn a_tree_of_imports_is_read_to_its_leaves() {
        assert_eq!(
            leaves("a::{b, c::{d, self}, e as f}"),
            ["a::b", "a::c::d", "a::c", "a::e as f"]
        );
    }
}
