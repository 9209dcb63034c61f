//! The tour in the docs is a session that was typed: here it is typed again.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::kit::Desk;

/// A block between fences.
struct Block<'a> {
    /// `console`, or the language and name of a file.
    info: &'a str,
    lines: Vec<&'a str>,
}

#[test]
#[cfg(unix)]
fn the_tour_is_a_session_that_this_command_answers_line_for_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tour.md");
    let tour = std::fs::read_to_string(&path).unwrap();
    let desk = Desk::new();
    let mut written = tour.clone();
    for block in blocks(&tour) {
        match block.info.split_once(' ') {
            Some((_, name)) => {
                std::fs::create_dir_all(desk.path(name).parent().unwrap()).unwrap();
                desk.file(name, &(block.lines.join("\n") + "\n"));
            }
            None if block.info == "console" => {
                let answered = replay(&desk, &block.lines);
                let fenced = |lines: &str| format!("```console\n{lines}\n```\n");
                let (was, is) = (fenced(&block.lines.join("\n")), fenced(&answered.join("\n")));
                written = written.replacen(&was, &is, 1);
            }
            None => {}
        }
    }
    if std::env::var_os("TOUR").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, &written).unwrap();
        return;
    }
    for (line, (is, was)) in written.lines().zip(tour.lines()).enumerate() {
        assert_eq!(is, was, "docs/tour.md:{}", line + 1);
    }
    assert_eq!(written.lines().count(), tour.lines().count());
    assert!(tour.matches("\n$ ").count() >= 15, "the session is there");
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block {
                    info,
                    lines: Vec::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// The block with the answers that came; where the one that is written fits, that one.
fn replay<'a>(desk: &Desk, lines: &[&'a str]) -> Vec<String> {
    let mut answered = Vec::new();
    let mut lines: &[&'a str] = lines;
    while let Some((command, rest)) = lines.split_first() {
        let typed = command
            .strip_prefix("$ ")
            .expect("a block of the console begins with a command");
        let ends = rest
            .iter()
            .position(|line| line.starts_with("$ "))
            .unwrap_or(rest.len());
        let (expected, next) = rest.split_at(ends);
        let answer = type_in(desk, typed);
        answered.push((*command).to_owned());
        let answer: Vec<&str> = answer.trim_end().lines().map(str::trim_end).collect();
        let same = answer.len() == expected.len() && answer.iter().zip(expected).all(|(is, was)| fits(is, was));
        let kept: &[&str] = if same { expected } else { &answer };
        answered.extend(kept.iter().map(|line| (*line).to_owned()));
        lines = next;
    }
    answered
}

/// Whether a line is as it is written; `…` stands for anything.
fn fits(is: &str, written: &str) -> bool {
    let mut parts = written.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = is.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn type_in(desk: &Desk, command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_resilience")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let done = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(desk.folder.path())
        .env("PATH", path)
        .env_remove("RESILIENCE_POLICY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}
