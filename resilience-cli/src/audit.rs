//! `audit`: what the source guards, and what it does not.

mod attributes;
mod body;
mod clients;
mod comments;
mod findings;
mod gather;
mod index;
mod macros;
mod mermaid;
mod policies;
mod report;
mod table;
mod tree;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::UNREADABLE;
use crate::args::{Audit, AuditFormat};
use crate::status;

use comments::Comments;
use gather::Standing;
use index::{Index, Module, Place};
use policies::Policies;
use report::Report;
use tree::{Source, Unread};

/// What is reserved is not used: only deep code touches it.
const STACK: usize = 256 << 20;

pub(crate) fn run(options: &Audit, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match deeply(|| audit(options))? {
        Ok((ok, text)) => {
            write!(out, "{text}")?;
            Ok(u8::from(!ok))
        }
        Err(why) => {
            writeln!(err, "{why}")?;
            Ok(UNREADABLE)
        }
    }
}

/// Whether all is well, and what to print; or why nothing could be read.
fn audit(options: &Audit) -> Result<(bool, String), String> {
    let path = options.path.as_deref().unwrap_or(Path::new("."));
    let unreadable = |error: io::Error| format!("`{}` cannot be read: {error}", path.display());
    let (sources, unread) = tree::read(path, options.tests).map_err(unreadable)?;
    let (index, unread, packages) = index_of(&sources, unread, path, options.tests);
    let policies = Policies::find(options.policy.as_deref(), &packages).map_err(|error| error.to_string())?;
    let findings = findings::conclude(&index);
    let never_ran = options.snapshot.as_deref().map(status::never_ran).transpose()?;
    let mut report = Report::new(tree::shown(path), &index, &findings, &policies, unread);
    report.never_ran = never_ran.map(|kinds| report.untried(&kinds));
    let text = match options.format {
        AuditFormat::Table => table::print(&report),
        AuditFormat::Json => format!("{:#}\n", report.json()),
        AuditFormat::Mermaid => mermaid::graph(&report),
    };
    Ok((report.ok(), text))
}

/// The fallbacks that a source tree has for each dependency, as they are written.
pub(crate) fn forms(path: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    deeply(|| {
        let unreadable = |error: io::Error| format!("`{}` cannot be read: {error}", path.display());
        let (sources, unread) = tree::read(path, false).map_err(unreadable)?;
        let (index, _, _) = index_of(&sources, unread, path, false);
        let mut forms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for guard in index.functions.iter().filter_map(|function| function.guard.as_ref()) {
            let written: Vec<String> = guard.fallbacks.iter().map(report::plain).collect();
            forms
                .entry(guard.dependency.clone().unwrap_or_default())
                .or_default()
                .insert(written.join(", then "));
        }
        Ok(forms)
    })
    .unwrap_or_else(|error| Err(error.to_string()))
}

/// Code is read by recursion, and people write long chains: on a stack of its own.
fn deeply<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the audit has panicked"))
    })
}

/// Everything that the files say. A file that cannot be parsed is told, and stops nothing.
fn index_of(
    sources: &[Source],
    mut unread: Vec<Unread>,
    path: &Path,
    tests: bool,
) -> (Index, Vec<Unread>, Vec<PathBuf>) {
    let mut index = Index::default();
    let mut numbers: BTreeMap<&Path, usize> = BTreeMap::new();
    let mut packages: Vec<PathBuf> = Vec::new();
    let mut parsed = Vec::new();
    for source in sources {
        let package = *numbers.entry(&source.package).or_insert_with(|| {
            packages.push(source.package.clone());
            if let Some(name) = tree::crate_name(&source.package) {
                index
                    .crates
                    .insert(name, source.package.join("src").to_string_lossy().into_owned());
            }
            packages.len() - 1
        });
        match tree::parse(source) {
            Ok(file) => {
                let module = Module {
                    krate: source.krate.clone(),
                    path: source.module.clone(),
                };
                parsed.push((source, package, module, file));
            }
            Err(why) => unread.push(why),
        }
    }
    let mut of_tests = Vec::new();
    for (_, _, module, file) in parsed.iter().filter(|_| !tests) {
        gather::test_modules(module, &file.items, &mut of_tests);
    }
    let for_tests = |module: &Module| {
        of_tests
            .iter()
            .any(|tests| tests.krate == module.krate && module.path.starts_with(&tests.path))
    };
    parsed.retain(|(_, _, module, _)| !for_tests(module));
    for (_, _, module, file) in &parsed {
        gather::imports(&mut index, module, &file.items, tests);
    }
    for (_, _, module, file) in &parsed {
        gather::shapes(&mut index, module, &file.items);
    }
    for (source, package, module, file) in &parsed {
        let comments = Comments::read(&source.text);
        let unreasoned = comments.unreasoned.iter();
        index.unreasoned.extend(unreasoned.map(|line| Place {
            file: source.file.clone(),
            line: *line,
            column: 1,
        }));
        let standing = Standing {
            file: &source.file,
            package: *package,
            module: module.clone(),
            comments: &comments,
            tests,
        };
        gather::functions(&mut index, &standing, &file.items);
    }
    // A tree without a file of Rust has a policy all the same, none of whose entries is used.
    if packages.is_empty() {
        packages.push(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
    }
    (index, unread, packages)
}
