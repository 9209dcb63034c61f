//! `resilience audit`, on source trees of its own.

mod back;
mod clients;
mod formats;
mod found;
#[path = "../kit/mod.rs"]
mod kit;
mod tree;

use std::ffi::OsString;

use serde_json::Value;
use tempfile::TempDir;

const POLICY: &str = "version = 1
[dependency.payrail]
about    = \"card payments\"
fail     = \"open\"
timeout  = \"1s\"
breaker  = { }
bulkhead = { max_concurrent = 5 }
retry    = { }
[dependency.redis]
fail     = \"open\"
timeout  = \"1s\"
breaker  = { }
";

/// A source tree, and what the command says of it.
struct Tree {
    folder: TempDir,
}

impl Tree {
    /// With the policy and one file.
    fn of(source: &str) -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        tree.with("resilience.toml", POLICY).with("src/lib.rs", source)
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Exit code, standard output and standard error, with the tree's own path left out.
    fn run(&self, words: &[&str]) -> (u8, String, String) {
        let mut args: Vec<OsString> = vec!["audit".into(), self.folder.path().into()];
        args.extend(words.iter().map(OsString::from));
        let (code, out, err) = kit::run_all(args);
        let root = format!("{}/", self.folder.path().display());
        let short = |text: String| text.replace(&root, "");
        (code, short(out), short(err))
    }

    fn json(&self) -> Value {
        let (code, out, err) = self.run(&["--format", "json"]);
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}{err}"));
        assert_eq!(report["ok"], Value::Bool(code == 0), "{out}");
        report
    }

    /// `kind function or dependency`, for each gap but the entries that no code names.
    fn gaps(&self) -> Vec<String> {
        let report = self.json();
        let word = |gap: &Value, key: &str| gap[key].as_str().map(|word| format!(" {word}")).unwrap_or_default();
        let gaps = report["gaps"].as_array().unwrap().iter();
        let gaps = gaps.filter(|gap| gap["kind"] != "unused_entry");
        gaps.map(|gap| format!("{}{}", gap["kind"].as_str().unwrap(), word(gap, "function")))
            .collect()
    }

    /// `dependency function [layers] forms`, for each guarded function.
    fn guarded(&self) -> Vec<String> {
        let report = self.json();
        let mut lines = Vec::new();
        for dependency in report["dependencies"].as_array().unwrap() {
            for function in dependency["functions"].as_array().unwrap() {
                let words = |list: &Value| {
                    let words = list.as_array().unwrap().iter();
                    words
                        .map(|word| word.as_str().unwrap().to_owned())
                        .collect::<Vec<_>>()
                        .join(" ")
                };
                let forms = function["fallbacks"].as_array().unwrap().iter();
                let forms: Vec<_> = forms.map(|form| form["kind"].as_str().unwrap()).collect();
                let name = (
                    dependency["name"].as_str().unwrap(),
                    function["function"].as_str().unwrap(),
                );
                lines.push(format!(
                    "{} {} [{}] {}",
                    name.0,
                    name.1,
                    words(&function["layers"]),
                    forms.join(" ")
                ));
            }
        }
        lines
    }
}
