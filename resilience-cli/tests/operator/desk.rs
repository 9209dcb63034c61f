//! A folder of files, and the command run in this process on them.

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
}

/// Exit code, standard output and standard error; each `@` is the next of the paths.
pub(crate) fn run(words: &[&str], paths: &[&Path]) -> (u8, String, String) {
    let mut paths = paths.iter();
    let args = std::iter::once(OsString::from("resilience")).chain(words.iter().map(|word| match *word {
        "@" => paths.next().expect("a path for each @").into(),
        word => OsString::from(word),
    }));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = resilience_cli::run(args.collect::<Vec<_>>(), &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
