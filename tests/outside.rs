//! A crate beyond the workspace, with the README's quick start typed in: it compiles, runs and guards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Where the README supposes the clone to be, seen from the user's crate.
const CLONE: &str = "../resilience";

/// The crate, copied out of the clone: so the clone stays clean, and the versions are those that the workspace has.
fn crate_outside() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
        fs::create_dir_all(copy.join("src")).expect("cargo's folder for tests can be written");
        let runtime = Path::new(ROOT)
            .join("resilience-runtime")
            .display()
            .to_string()
            .replace('\\', "/");
        for file in ["Cargo.toml", "resilience.toml", "src/main.rs", "src/tests.rs"] {
            let text = typed_in(file).replace("../../resilience-runtime", &runtime);
            fs::write(copy.join(file), text).expect("the copy can be written");
        }
        fs::copy(Path::new(ROOT).join("Cargo.lock"), copy.join("Cargo.lock")).expect("the workspace has a lock file");
        copy
    })
}

fn typed_in(file: &str) -> String {
    read(&Path::new(ROOT).join("tests/outside").join(file))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .replace("\r\n", "\n")
}

/// What cargo says of the crate; without a look at the network if it can be helped.
fn cargo(command: &str) -> String {
    let run = |offline: &[&str]| -> Output {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .arg(command)
            .arg("--quiet")
            .args(offline)
            .current_dir(crate_outside());
        cargo.env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside-target"),
        );
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        // What the tester's own shell says of policies is not the user's.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RESILIENCE_")) {
            cargo.env_remove(name);
        }
        cargo.output().expect("cargo can be started")
    };
    let mut output = run(&["--offline"]);
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("offline") {
        output = run(&[]);
    }
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "cargo {command}:\n{said}\n{complained}");
    said.replace("\r\n", "\n")
}

#[test]
fn the_quick_start_fails_four_times_refuses_with_the_time_to_wait_and_recovers() {
    let said = cargo("run");
    assert_eq!(said.trim_end(), what_it_prints().trim_end());
}

#[test]
fn the_quick_starts_own_test_passes_on_paused_time() {
    let said = cargo("test");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn the_readme_says_what_the_crate_outside_has_typed_in() {
    let readme = read(&Path::new(ROOT).join("README.md"));
    let manifest = typed_in("Cargo.toml").replace("../../", &format!("{CLONE}/"));
    let dependencies = manifest
        .split("\n[")
        .find(|part| part.starts_with("dependencies]"))
        .expect("it has dependencies");
    let for_tests = manifest
        .split("\n[")
        .find(|part| part.starts_with("dev-dependencies]"))
        .expect("it has a test");
    let main = typed_in("src/main.rs");
    let (main, of_tests) = main.split_once("\n#[cfg(test)]").expect("it has a test");
    for (file, language, text) in [
        ("Cargo.toml", "toml", format!("[{}", dependencies.trim_end())),
        ("Cargo.toml", "toml", format!("[{}", for_tests.trim_end())),
        (
            "resilience.toml",
            "toml",
            typed_in("resilience.toml").trim_end().to_owned(),
        ),
        ("src/main.rs", "rust", main.trim_end().to_owned()),
        ("src/main.rs", "rust", format!("#[cfg(test)]{}", of_tests.trim_end())),
        ("src/tests.rs", "rust", typed_in("src/tests.rs").trim_end().to_owned()),
        ("what it prints", "text", what_it_prints()),
    ] {
        let block = format!("```{language}\n{text}\n```");
        assert!(readme.contains(&block), "the README lacks this of {file}:\n{block}");
    }
}

fn what_it_prints() -> String {
    let failed = ["failed: connection refused"; 4];
    let refused = ["refused: not available at the moment, try again in 1 s"; 2];
    [failed.as_slice(), &refused, &["charged"]].concat().join("\n")
}
