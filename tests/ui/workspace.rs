//! A workspace below cargo's folder for tests, and what cargo says of its packages.
#![allow(dead_code)] // each test binary uses a part of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) const HERE: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) const SCRATCH: &str = "resilience-scratch";

/// A workspace of its own, below cargo's folder for tests.
pub(crate) struct Workspace(pub(crate) PathBuf);

impl Workspace {
    pub(crate) fn new(name: &str, members: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(SCRATCH).join(name);
        let _ = fs::remove_dir_all(&root);
        let members: Vec<String> = members.iter().map(|member| format!("{member:?}")).collect();
        let workspace = Self(root);
        workspace.write(
            "Cargo.toml",
            &format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n", members.join(", ")),
        );
        // The versions of the workspace that is tested, so that nothing has to be looked up.
        let lock = Path::new(HERE).join("../../Cargo.lock");
        fs::copy(lock, workspace.0.join("Cargo.lock")).expect("the workspace has a lock file");
        workspace
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn member(&self, name: &str, edition: &str, runtime: &str, extra: &str) {
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = {edition:?}\n[dependencies]\n{runtime} = {{ package = \
             \"resilience-runtime\", path = \"{HERE}/../../resilience-runtime\", features = [\"testing\"] }}\n{extra}"
        );
        self.write(&format!("{name}/Cargo.toml"), &manifest);
    }

    /// What cargo says about the packages of this workspace, as JSON.
    pub(crate) fn check(&self, package: &str) -> Output {
        self.cargo(&[
            "check",
            "--quiet",
            "--bins",
            "--keep-going",
            "--message-format=json",
            "-p",
            package,
        ])
    }

    /// Any command of cargo's, all with one target folder.
    pub(crate) fn cargo(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .args(args)
            .current_dir(&self.0)
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("target"),
            )
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("RESILIENCE_POLICY")
            .output()
            .expect("cargo can be started")
    }
}

pub(crate) fn messages(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Not those about the crates that are tested.
    messages
        .filter(|message| message["package_id"].as_str().is_some_and(|id| id.contains(SCRATCH)))
        .collect()
}

pub(crate) fn policy() -> String {
    fs::read_to_string(Path::new(HERE).join("resilience.toml")).unwrap()
}

pub(crate) fn rendered(output: &Output) -> String {
    let texts: Vec<String> = messages(output)
        .iter()
        .filter_map(|message| message["message"]["rendered"].as_str().map(str::to_owned))
        .collect();
    texts.join("\n") + &String::from_utf8_lossy(&output.stderr)
}
