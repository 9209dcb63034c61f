//! When a file's content is a change: different, whole, and not one of too many in a second.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that was read twice this long apart and was equal is not being written.
const SETTLES: Duration = Duration::from_millis(100);
/// A file without a last newline may have been cut; it counts when it was unchanged for this long.
const CUT_SETTLES: Duration = Duration::from_secs(2);
/// A file that is shorter than before and ends otherwise may be its own first part, cut between two lines.
const SHORTER_SETTLES: Duration = Duration::from_millis(1_200);
/// At most five reloads a second.
const BETWEEN: Duration = Duration::from_millis(200);

/// One file as it was last taken, and what is seen of it since.
#[derive(Debug)]
pub(super) struct Tracked {
    path: PathBuf,
    taken: State,
    /// Content that differs from what was taken, and since when it has not changed.
    pending: Option<(State, Instant)>,
    last: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Missing,
    /// Why, as the loader says it.
    Unreadable(String),
    Content(Vec<u8>),
}

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Missing,
    Unreadable(String),
    Content(Vec<u8>),
}

impl Tracked {
    /// A file that was read just now.
    #[inline]
    pub(super) fn loaded(path: PathBuf, bytes: Vec<u8>) -> Self {
        Self {
            path,
            taken: State::Content(bytes),
            pending: None,
            last: None,
        }
    }

    /// A file that takes the place of another: whatever it holds is a change, and so is that it is missing. Until that
    /// is known, what the other one said holds.
    #[inline]
    pub(super) fn moved(path: PathBuf) -> Self {
        Self {
            taken: State::Unreadable(String::new()),
            ..Self::optional(path)
        }
    }

    /// A file that may be missing; whatever it holds is a change.
    #[inline]
    pub(super) fn optional(path: PathBuf) -> Self {
        Self {
            path,
            taken: State::Missing,
            pending: None,
            last: None,
        }
    }

    #[inline]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file. A change that is not whole yet is waited for, a little here and longer over further looks.
    #[inline]
    pub(super) fn look(&mut self) -> Change {
        let seen = self.read();
        if let Some(change) = self.weigh(seen, Instant::now()) {
            return change;
        }
        if self
            .pending
            .as_ref()
            .is_some_and(|(state, since)| self.settles(state) == SETTLES && since.elapsed() < SETTLES)
        {
            std::thread::park_timeout(SETTLES);
            let seen = self.read();
            return self.weigh(seen, Instant::now()).unwrap_or(Change::None);
        }
        Change::None
    }

    /// `None` while a change is not certain.
    #[inline]
    fn weigh(&mut self, seen: State, now: Instant) -> Option<Change> {
        if seen == self.taken {
            self.pending = None;
            return Some(Change::None);
        }
        let since = match &self.pending {
            Some((state, since)) if *state == seen => *since,
            _ => {
                self.pending = Some((seen, now));
                return None;
            }
        };
        let settles = self.settles(&seen);
        let too_soon = self.last.is_some_and(|last| now.duration_since(last) < BETWEEN);
        if now.duration_since(since) < settles || too_soon {
            return None;
        }
        self.pending = None;
        self.last = Some(now);
        self.taken = seen.clone();
        Some(match seen {
            State::Missing => Change::Missing,
            State::Unreadable(why) => Change::Unreadable(why),
            State::Content(bytes) => Change::Content(bytes),
        })
    }

    /// How long this has to stand still until it counts.
    #[inline]
    fn settles(&self, seen: &State) -> Duration {
        let State::Content(bytes) = seen else { return SETTLES };
        if !bytes.ends_with(b"\n") {
            return CUT_SETTLES;
        }
        match &self.taken {
            State::Content(before) if bytes.len() < before.len() && last_line(bytes) != last_line(before) => {
                SHORTER_SETTLES
            }
            _ => SETTLES,
        }
    }

    /// Within the loader's bounds: a pipe in the file's place would stop the watching, an endless file the process.
    #[inline]
    fn read(&self) -> State {
        match resilience_policy::lookup::bytes(&self.path) {
            Ok(bytes) => State::Content(bytes),
            Err(_) if is_missing(&self.path) => State::Missing,
            Err(error) => State::Unreadable(error.to_string()),
        }
    }
}

#[inline]
fn is_missing(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| {
        // A folder on the way that became a file is as good as gone.
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
    })
}

/// The last line that says something.
#[inline]
fn last_line(bytes: &[u8]) -> Option<&[u8]> {
    bytes
        .rsplit(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> State {
        State::Content(text.as_bytes().to_vec())
    }

    fn tracked(text: &str) -> Tracked {
        Tracked::loaded(PathBuf::from("resilience.toml"), text.as_bytes().to_vec())
    }

    #[test]
    fn equal_content_is_no_change() {
        assert_eq!(tracked("a\n").weigh(content("a\n"), Instant::now()), Some(Change::None));
    }

    #[test]
    fn a_change_counts_when_it_was_seen_twice_a_tenth_of_a_second_apart() {
        let mut file = tracked("a\n");
        let start = Instant::now();
        assert_eq!(file.weigh(content("b\n"), start), None);
        assert_eq!(file.weigh(content("b\n"), start + SETTLES / 2), None);
        assert_eq!(
            file.weigh(content("b\n"), start + SETTLES),
            Some(Change::Content(b"b\n".to_vec()))
        );
        assert_eq!(file.weigh(content("b\n"), start + SETTLES * 2), Some(Change::None));
    }

    #[test]
    fn a_file_that_still_grows_starts_the_wait_again() {
        let mut file = tracked("a\n");
        let start = Instant::now();
        assert_eq!(file.weigh(content("b\n"), start), None);
        assert_eq!(file.weigh(content("b\nc\n"), start + SETTLES), None);
        assert_eq!(
            file.weigh(content("b\nc\n"), start + SETTLES * 2),
            Some(Change::Content(b"b\nc\n".to_vec()))
        );
    }

    #[test]
    fn without_a_last_newline_it_counts_after_two_seconds() {
        let mut file = tracked("a\n");
        let start = Instant::now();
        assert_eq!(file.weigh(content("b"), start), None);
        assert_eq!(file.weigh(content("b"), start + SETTLES * 5), None);
        assert!(matches!(
            file.weigh(content("b"), start + CUT_SETTLES),
            Some(Change::Content(_))
        ));
    }

    #[test]
    fn at_most_five_reloads_a_second() {
        let mut file = tracked("0\n");
        let start = Instant::now();
        let mut taken = 0;
        for step in 0..=100_u32 {
            // A new content each 120 ms, looked at each 10 ms.
            let text = format!("{}\n", step / 12 + 1);
            if matches!(
                file.weigh(content(&text), start + Duration::from_millis(10) * step),
                Some(Change::Content(_))
            ) {
                taken += 1;
            }
        }
        assert!(taken <= 5, "{taken}");
    }
}
