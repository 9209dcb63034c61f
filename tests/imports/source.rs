//! A file of the code, and the paths that it imports or names.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that the code names by path without a `use`.
const FOREIGN: [&str; 9] = [
    "std",
    "core",
    "tokio",
    "tracing",
    "metrics",
    "notify",
    "fastrand",
    "coarsetime",
    "inventory",
];

/// One file, without comments, texts and tests.
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) module: String,
    pub(crate) code: String,
}

/// A path made whole: `layer::breaker::Permit` of the same crate, or `tokio::time::sleep`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) line: usize,
    pub(crate) own: bool,
    pub(crate) path: String,
}

impl Import {
    /// Its first word: the crate, where it is not our own.
    pub(crate) fn root(&self) -> &str {
        self.path.split("::").next().unwrap_or_default()
    }
}

impl Source {
    pub(crate) fn new(file: String, module: &str, text: &str) -> Self {
        Self {
            file,
            module: module.to_owned(),
            code: code_of(text),
        }
    }

    /// Everything that the code imports or names by path, `use` or not.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let children = children(&self.code);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((start, is_use)) = next_path(&self.code, at) {
            let line = 1 + self.code[..start].matches('\n').count();
            let rest = &self.code[start..];
            let length = if is_use {
                rest.find(';').unwrap_or(rest.len())
            } else {
                path_length(rest)
            };
            for written in leaves(&rest[..length]) {
                if let Some((own, path)) = self.whole(&written, &children, is_use) {
                    found.push(Import { line, own, path });
                }
            }
            at = start + length;
        }
        found
    }

    /// A written path made whole; `None` for what names nothing beyond this module.
    fn whole(&self, written: &str, children: &[String], is_use: bool) -> Option<(bool, String)> {
        let written = written.split(" as ").next()?.trim();
        let (absolute, written) = written.strip_prefix("::").map_or((false, written), |rest| (true, rest));
        let mut parts: Vec<&str> = written.split("::").map(str::trim).collect();
        let mut base: Vec<&str> = self.module.split("::").filter(|part| !part.is_empty()).collect();
        match parts.first().copied()? {
            "crate" if !absolute => {
                base.clear();
                parts.remove(0);
            }
            "self" if !absolute && parts.len() > 1 => {
                parts.remove(0);
            }
            "super" => {
                while parts.first() == Some(&"super") {
                    base.pop();
                    parts.remove(0);
                }
            }
            child if !absolute && children.iter().any(|known| known == child) => {}
            // A type, a variant, a macro's own name: only a `use`, or a crate's name, makes it an import.
            name if is_use || absolute || FOREIGN.contains(&name) || name.starts_with("resilience_") => {
                return name
                    .starts_with(|c: char| c.is_ascii_lowercase())
                    .then(|| (false, parts.join("::")));
            }
            _ => return None,
        }
        base.extend(parts);
        Some((true, base.join("::")))
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a crate, by name.
pub(crate) fn sources(name: &str) -> Vec<Source> {
    let src = root().join(name).join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    files.sort();
    assert!(!files.is_empty(), "{name} has no source");
    files.retain(|file| !file.ends_with("tests.rs") && !file.ends_with("loom.rs"));
    let source = |file: PathBuf| {
        let below = file.strip_prefix(&src).expect("collected below it").with_extension("");
        let module = below
            .iter()
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join("::");
        let module = if ["lib", "main"].contains(&module.as_str()) {
            ""
        } else {
            &module
        };
        let shown = file
            .strip_prefix(root())
            .expect("collected below it")
            .to_string_lossy()
            .replace('\\', "/");
        Source::new(shown, module, &read(&file))
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder can be read to its end").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Where the next path begins: after a `use`, or two words with `::` between them.
fn next_path(code: &str, from: usize) -> Option<(usize, bool)> {
    let bytes = code.as_bytes();
    let mut at = from;
    while at < code.len() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let begins = !before.is_some_and(|byte| is_word(byte) || byte == b':' || byte == b'$' || byte == b'\'');
        let length = if begins { path_length(&code[at..]) } else { 0 };
        let path = &code[at..at + length];
        if path == "use" {
            let rest = &code[at + length..];
            return Some((code.len() - rest.trim_start().len(), true));
        }
        if path.contains("::") {
            return Some((at, false));
        }
        at += length.max(1);
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn path_length(code: &str) -> usize {
    let bytes = code.as_bytes();
    let mut at = 0;
    loop {
        if code[at..].starts_with("::") && bytes.get(at + 2).is_some_and(|byte| is_word(*byte)) {
            at += 2;
        } else if bytes.get(at).is_some_and(|byte| is_word(*byte)) {
            at += 1;
        } else {
            return at;
        }
    }
}

/// `a::{b, c::{d, self}}` as `a::b`, `a::c::d`, `a::c`.
pub(crate) fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((base, rest)) = tree.split_once('{') else {
        let leaf = tree.trim_end_matches("::self").trim_end_matches("::*");
        return if leaf.is_empty() {
            Vec::new()
        } else {
            vec![leaf.to_owned()]
        };
    };
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    let parts = inside.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| leaves(&format!("{base}{part}"))).collect()
}

/// The modules that a file declares.
fn children(code: &str) -> Vec<String> {
    let child = |line: &str| {
        let (before, name) = line.trim().strip_suffix(';')?.rsplit_once("mod ")?;
        (before.is_empty() || before.starts_with("pub")).then(|| name.to_owned())
    };
    code.lines().filter_map(child).collect()
}

/// The code alone: comments and texts blanked, lines kept, the tests at the end of the file left out.
fn code_of(text: &str) -> String {
    let mut rest = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::with_capacity(rest.len());
    while let Some(first) = rest.chars().next() {
        let length = not_code(rest);
        if length == 0 {
            code.push(if first.is_ascii() { first } else { ' ' });
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// The length of the comment, text or quote character at the beginning; 0 where code begins.
fn not_code(text: &str) -> usize {
    let until = |begin: usize, end: &str| text[begin..].find(end).map_or(text.len(), |at| begin + at + end.len());
    let hashes = text
        .strip_prefix('r')
        .map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
    if text.starts_with("//") {
        text.find('\n').unwrap_or(text.len())
    } else if text.starts_with("/*") {
        until(2, "*/")
    } else if text.starts_with('r') && text[1 + hashes..].starts_with('"') {
        until(hashes + 2, &format!("\"{}", "#".repeat(hashes)))
    } else if let Some(inside) = text.strip_prefix('"') {
        let mut escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        end.map_or(text.len(), |at| at + 2)
    } else {
        ["'\"'", "'\\\"'", "'\\''"]
            .into_iter()
            .find(|quote| text.starts_with(quote))
            .map_or(0, str::len)
    }
}
