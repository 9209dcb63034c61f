//! The comments by which a function says that it has no guard on purpose.

use std::ops::RangeInclusive;

/// What every one of them begins with, behind the slashes.
const MARK: &str = "resilience: unguarded";
const BECAUSE: &str = "because";

/// The lines of a file, as far as they are comments of this kind or stand above a function.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    /// Lines, from 1, with their reasons.
    reasons: Vec<(usize, String)>,
    /// Lines of comments and blanks, over which a reason above a function reaches.
    passed: Vec<usize>,
    /// Lines that opt out and say nothing.
    pub(crate) unreasoned: Vec<usize>,
}

impl Comments {
    pub(crate) fn read(text: &str) -> Self {
        let mut comments = Self::default();
        for (line, number) in text.lines().zip(1..) {
            let Some((before, comment)) = line.split_once("//") else {
                continue;
            };
            if before.trim().is_empty() {
                comments.passed.push(number);
            }
            let Some(rest) = comment.trim_start().strip_prefix(MARK) else {
                continue;
            };
            let because = rest
                .trim_start_matches([',', ':', ' '])
                .strip_prefix(BECAUSE)
                .map(str::trim);
            match because.filter(|because| !because.is_empty()) {
                Some(because) => comments.reasons.push((number, because.to_owned())),
                None => comments.unreasoned.push(number),
            }
        }
        comments
    }

    /// The reason that stands inside a function, or right above it.
    pub(crate) fn reason(&self, lines: &RangeInclusive<usize>) -> Option<String> {
        let mut first = *lines.start();
        while first > 1 && self.passed.binary_search(&(first - 1)).is_ok() {
            first -= 1;
        }
        let found = self
            .reasons
            .iter()
            .find(|(line, _)| (first..=*lines.end()).contains(line));
        found.map(|(_, reason)| reason.clone())
    }
}
