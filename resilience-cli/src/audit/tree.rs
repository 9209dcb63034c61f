//! The files of a source tree, and where each of them stands among packages and modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use walkdir::{DirEntry, WalkDir};

/// One file of Rust.
pub(crate) struct Source {
    /// As people see it: below the path that was asked for.
    pub(crate) file: String,
    pub(crate) text: String,
    /// The folder of its package, from the root.
    pub(crate) package: PathBuf,
    /// The crate it belongs to: a package may have several, a library and examples.
    pub(crate) krate: String,
    /// Where it stands in its crate.
    pub(crate) module: Vec<String>,
}

/// What could not be looked at.
#[derive(Debug, Clone)]
pub(crate) struct Unread {
    pub(crate) file: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) message: String,
}

/// Folders of a package whose code serves no call.
const TESTS: [&str; 2] = ["tests", "benches"];
/// Folders of a package in which every file, and every folder with a `main.rs`, is a crate.
const CRATES: [&str; 3] = ["examples", "tests", "benches"];

/// Every file below `path`, in the order of their names.
pub(crate) fn read(path: &Path, tests: bool) -> io::Result<(Vec<Source>, Vec<Unread>)> {
    fs::metadata(path)?;
    let asked = std::path::absolute(path)?;
    let (mut sources, mut unread) = (Vec::new(), Vec::new());
    let mut packages = BTreeMap::new();
    let walk = WalkDir::new(path).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || worth_a_look(entry)) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                unread.push(unreadable(
                    &error.path().map_or_else(String::new, shown),
                    &error.to_string(),
                ));
                continue;
            }
        };
        if !entry.file_type().is_file() || entry.path().extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let file = shown(entry.path());
        let whole = std::path::absolute(entry.path())?;
        let package = package_of(whole.parent().unwrap_or(&asked), &asked, &mut packages);
        let inside = whole.strip_prefix(&package).unwrap_or(&whole).to_path_buf();
        let for_tests = inside
            .iter()
            .next()
            .is_some_and(|first| TESTS.iter().any(|tests| first == *tests));
        if (for_tests && !tests) || inside == Path::new("build.rs") {
            continue;
        }
        match fs::read(entry.path()).map(String::from_utf8) {
            Ok(Ok(text)) => {
                let (krate, module) = place(&inside);
                let krate = package.join(krate).to_string_lossy().into_owned();
                sources.push(Source {
                    file,
                    text,
                    package,
                    krate,
                    module,
                });
            }
            Ok(Err(_)) => unread.push(unreadable(&file, "it is not UTF-8")),
            Err(error) => unread.push(unreadable(&file, &error.to_string())),
        }
    }
    Ok((sources, unread))
}

fn unreadable(file: &str, why: &str) -> Unread {
    Unread {
        file: file.to_owned(),
        line: None,
        column: None,
        message: format!("cannot be read: {why}"),
    }
}

/// So deep may code be nested: what is deeper would end the reader of it before it ends.
const DEEPEST: usize = 256;

/// The items of a file.
pub(crate) fn parse(source: &Source) -> Result<syn::File, Unread> {
    let told = |error: syn::Error| {
        let at = error.span().start();
        let (line, column) = (Some(at.line), Some(at.column + 1));
        Unread {
            file: source.file.clone(),
            line,
            column,
            message: format!("cannot be parsed: {error}"),
        }
    };
    // Rust's own reader takes a byte order mark and a first line for the shell off, too.
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let tokens = text.parse::<proc_macro2::TokenStream>();
    if tokens.is_ok_and(|tokens| depth(tokens) > DEEPEST) {
        return Err(unreadable(&source.file, &format!("it is nested deeper than {DEEPEST}")));
    }
    syn::parse_file(text).map_err(told)
}

fn depth(tokens: proc_macro2::TokenStream) -> usize {
    let mut level = vec![tokens];
    for depth in 0.. {
        let groups = level.into_iter().flatten().filter_map(|token| match token {
            proc_macro2::TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        level = groups.collect();
        if level.is_empty() {
            return depth;
        }
    }
    0
}

/// Not what cargo, git or npm put there.
fn worth_a_look(entry: &DirEntry) -> bool {
    if !entry.file_type().is_dir() {
        return true;
    }
    let name = entry.file_name().to_string_lossy();
    let built = entry.path().join("CACHEDIR.TAG").exists();
    !(built || name.starts_with('.') || name == "target" || name == "node_modules")
}

/// The nearest folder with a `Cargo.toml`; without one the folder that was asked for.
fn package_of(folder: &Path, asked: &Path, known: &mut BTreeMap<PathBuf, PathBuf>) -> PathBuf {
    if let Some(package) = known.get(folder) {
        return package.clone();
    }
    let package = folder.ancestors().find(|folder| folder.join("Cargo.toml").is_file());
    let package = package
        .unwrap_or(if asked.is_dir() { asked } else { folder })
        .to_path_buf();
    known.insert(folder.to_path_buf(), package.clone());
    package
}

/// The crate's root below its package, and the module below the crate.
fn place(inside: &Path) -> (String, Vec<String>) {
    let mut parts: Vec<String> = inside
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let taken = match parts.first().map(String::as_str) {
        Some("src") if parts.get(1).is_some_and(|second| second == "bin") => 3,
        Some("src") => 1,
        Some(first) if CRATES.contains(&first) => 2,
        _ => 0,
    };
    let krate: Vec<String> = parts.drain(..taken.min(parts.len())).collect();
    if parts
        .last()
        .is_some_and(|last| ["main", "lib", "mod"].contains(&last.as_str()))
    {
        parts.pop();
    }
    (krate.join("/"), parts)
}

/// A path for people: without the `./` of a walk from here, and on one line.
pub(crate) fn shown(path: &Path) -> String {
    let path = path
        .strip_prefix(".")
        .ok()
        .filter(|path| *path != Path::new(""))
        .unwrap_or(path);
    path.to_string_lossy()
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// The name by which other crates import the library of a package.
pub(crate) fn crate_name(package: &Path) -> Option<String> {
    let manifest = fs::read_to_string(package.join("Cargo.toml")).ok()?;
    let (manifest, _) = toml::de::DeTable::parse_recoverable(&manifest);
    let name = |table: &str| {
        let table = manifest.get_ref().get(table)?.get_ref().as_table()?;
        Some(table.get("name")?.get_ref().as_str()?.replace('-', "_"))
    };
    name("lib").or_else(|| name("package"))
}
