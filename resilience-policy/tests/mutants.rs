//! A good file that somebody's hand slipped over: each character struck, lost or doubled, each line lost, doubled or
//! moved. Every such file is refused, or the difference shows what it now means.
//!
//! Exempt, because TOML gives them no meaning: comments and empty lines, blanks around `=`, and the order of the keys
//! inside one table. Nothing else is: words for people, as `about` and `agreed`, show up like any number.

use std::path::Path;

use resilience_policy::Policy;

const GOOD: &str = include_str!("files/hundred.toml");

struct Mutants {
    good: Policy,
    lines: Vec<&'static str>,
}

impl Mutants {
    fn new() -> Self {
        let lines: Vec<_> = GOOD.lines().collect();
        assert!(lines.len() >= 100);
        Self {
            good: Policy::from_toml(GOOD).unwrap(),
            lines,
        }
    }

    fn has_meaning(&self, line: usize) -> bool {
        let text = self.lines[line].trim();
        !text.is_empty() && !text.starts_with('#')
    }

    /// The line of the header above.
    fn header(&self, line: usize) -> usize {
        let above = &self.lines[..=line];
        above.iter().rposition(|line| line.starts_with('[')).unwrap_or(0)
    }

    #[track_caller]
    fn assert_noticed(&self, lines: &[&str], what: &str) {
        let text = format!("{}\n", lines.join("\n"));
        if let Ok(mutant) = Policy::parse(text.as_bytes(), Path::new("resilience.toml"), &[]) {
            let shown = !self.good.diff(&mutant).is_empty();
            assert!(shown && self.good.hash() != mutant.hash(), "{what} went unnoticed");
        }
    }

    #[track_caller]
    fn assert_line_noticed(&self, line: usize, text: &str) {
        let mut lines = self.lines.clone();
        lines[line] = text;
        self.assert_noticed(&lines, &format!("`{}` as `{text}`", self.lines[line]));
    }

    fn meaningful(&self) -> impl Iterator<Item = usize> {
        (0..self.lines.len()).filter(|line| self.has_meaning(*line))
    }
}

/// The characters of a line that are not blanks outside of a text.
fn characters(line: &str) -> impl Iterator<Item = usize> {
    line.char_indices()
        .filter(|(at, c)| *c != ' ' || line[..*at].matches('"').count() % 2 == 1)
        .map(|(at, _)| at)
}

#[test]
fn each_character_that_is_struck_for_another_is_noticed() {
    let mutants = Mutants::new();
    for line in mutants.meaningful() {
        let text = mutants.lines[line];
        for at in characters(text) {
            // The neighbour in the alphabet, and the other case.
            for bit in [0x01, 0x20] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= bit;
                let struck = String::from_utf8(bytes).expect("every character here is of seven bits");
                mutants.assert_line_noticed(line, &struck);
            }
        }
    }
}

#[test]
fn each_character_that_is_lost_or_doubled_is_noticed() {
    let mutants = Mutants::new();
    for line in mutants.meaningful() {
        let text = mutants.lines[line];
        for at in characters(text) {
            let (before, after) = (&text[..at], &text[at..]);
            mutants.assert_line_noticed(line, &format!("{before}{}", &after[1..]));
            mutants.assert_line_noticed(line, &format!("{before}{}{after}", &after[..1]));
        }
    }
}

#[test]
fn each_line_that_is_lost_or_doubled_is_noticed() {
    let mutants = Mutants::new();
    for line in mutants.meaningful() {
        let text = mutants.lines[line];
        let mut lines = mutants.lines.clone();
        lines.insert(line, text);
        mutants.assert_noticed(&lines, &format!("`{text}` twice"));
        lines.drain(line..=line + 1);
        mutants.assert_noticed(&lines, &format!("`{text}` lost"));
    }
}

#[test]
fn each_two_lines_that_change_places_are_noticed() {
    let mutants = Mutants::new();
    for first in mutants.meaningful() {
        for second in mutants.meaningful().filter(|second| *second > first) {
            let in_one_table = mutants.header(first) == mutants.header(second) && first != mutants.header(first);
            if in_one_table || mutants.lines[first] == mutants.lines[second] {
                continue;
            }
            let mut lines = mutants.lines.clone();
            lines.swap(first, second);
            let what = format!("`{}` and `{}` swapped", lines[second], lines[first]);
            mutants.assert_noticed(&lines, &what);
        }
    }
}
