//! The ways in which editors and tools save, step by step as they do it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::events::save;
use crate::stand::beside;

pub(crate) type Save = fn(&Path, &str);

pub(crate) const ALL: [(&str, Save); 9] = [
    ("vim", vim),
    ("vim with backupcopy=yes", vim_in_place),
    ("sed -i", sed),
    ("vs code, atomic", save),
    ("mv", mv),
    ("emacs", emacs),
    ("cp --remove-destination", cp),
    ("in two steps", in_two_steps),
    ("scp into the file", in_place),
];

/// Tries whether the folder can be written, moves the file away as its backup, writes a new one, removes the backup.
fn vim(file: &Path, text: &str) {
    let (probe, swap, backup) = (
        beside(file, "4913"),
        beside(file, ".resilience.toml.swp"),
        beside(file, "resilience.toml~"),
    );
    File::create(&probe).unwrap();
    fs::remove_file(&probe).unwrap();
    fs::write(&swap, "b0VIM").unwrap();
    fs::rename(file, &backup).unwrap();
    let mut new = File::create(file).unwrap();
    new.write_all(text.as_bytes()).unwrap();
    new.sync_all().unwrap();
    fs::remove_file(&backup).unwrap();
    fs::remove_file(&swap).unwrap();
}

/// Copies to the backup and writes into the same file.
fn vim_in_place(file: &Path, text: &str) {
    let backup = beside(file, "resilience.toml~");
    fs::copy(file, &backup).unwrap();
    fs::write(file, text).unwrap();
    fs::remove_file(&backup).unwrap();
}

/// The real one, on the one line that differs.
fn sed(file: &Path, text: &str) {
    let timeout = text.lines().rfind(|line| line.starts_with("timeout")).unwrap();
    let edit = format!("s/^timeout = \".*ms\"$/{timeout}/");
    let done = Command::new("sed").arg("-i").arg(edit).arg(file).status().unwrap();
    assert!(done.success());
}

fn mv(file: &Path, text: &str) {
    let new = beside(file, "new.toml");
    fs::write(&new, text).unwrap();
    assert!(Command::new("mv").args([&new, file]).status().unwrap().success());
}

/// Moves the file away as its backup, which stays, and writes a new one; a lock is a link that leads nowhere.
fn emacs(file: &Path, text: &str) {
    let lock = beside(file, ".#resilience.toml");
    #[cfg(unix)]
    std::os::unix::fs::symlink("ops@box.4711:1", &lock).unwrap();
    fs::rename(file, beside(file, "resilience.toml~")).unwrap();
    fs::write(file, text).unwrap();
    #[cfg(unix)]
    fs::remove_file(&lock).unwrap();
}

fn cp(file: &Path, text: &str) {
    let new = beside(file, "new.toml");
    fs::write(&new, text).unwrap();
    let done = Command::new("cp")
        .arg("--remove-destination")
        .args([&new, file])
        .status()
        .unwrap();
    assert!(done.success());
}

/// Empties the file, and writes it in two halves.
fn in_two_steps(file: &Path, text: &str) {
    let (head, tail) = text.split_at(text.len() / 2);
    let mut new = File::create(file).unwrap();
    new.write_all(head.as_bytes()).unwrap();
    new.sync_all().unwrap();
    new.write_all(tail.as_bytes()).unwrap();
}

fn in_place(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
}
