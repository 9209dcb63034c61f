//! A folder of files, and the command run in this process on them.
#![allow(dead_code)] // every test binary uses a part of it

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Desk {
    pub(crate) folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// What a file holds; nothing where there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }
}

/// Exit code, standard output and standard error; each `@` is the next of the paths.
pub(crate) fn run(words: &[&str], paths: &[&Path]) -> (u8, String, String) {
    let mut paths = paths.iter();
    run_all(words.iter().map(|word| match *word {
        "@" => paths.next().expect("a path for each @").into(),
        word => OsString::from(word),
    }))
}

/// The same of words that are whole.
pub(crate) fn run_all(words: impl IntoIterator<Item = OsString>) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once(OsString::from("resilience")).chain(words);
    let code = resilience_cli::run(args.collect::<Vec<_>>(), &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
