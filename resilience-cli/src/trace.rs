//! Recorded traffic: calls of a dependency as somebody wrote them down. Every format becomes the same [`Call`]s; what
//! cannot be read is a fault with its place, and the share that was passed over is said.

mod access;
mod csv;
mod fault;
mod format;
mod json_lines;
mod moment;
mod otlp;
mod outcome;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

pub(crate) use fault::BadLine;
pub(crate) use format::TraceFormat;
pub(crate) use outcome::Seen;

/// So many bad lines are kept with their place; the others are only counted.
const KEPT: usize = 1000;

/// One call, as it was recorded. Names are indices into the trace's lists: a trace has millions of calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Call {
    /// Nanoseconds since the trace's own zero: 1970 where times are dates.
    pub(crate) at: i64,
    pub(crate) latency: Duration,
    pub(crate) outcome: Seen,
    pub(crate) dependency: Option<u32>,
    pub(crate) key: Option<u32>,
    pub(crate) instance: Option<u32>,
    /// Whether it repeated another attempt of the same call.
    pub(crate) repeats: bool,
}

impl Call {
    /// When it ended.
    pub(crate) fn end(&self) -> i64 {
        self.at
            .saturating_add(i64::try_from(self.latency.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// The calls of a file in order of their beginning, and what became of the rest of it.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) file: String,
    pub(crate) format: TraceFormat,
    pub(crate) calls: Vec<Call>,
    pub(crate) dependencies: Names,
    pub(crate) keys: Names,
    pub(crate) instances: Names,
    /// Records looked at: read and passed over.
    pub(crate) records: usize,
    /// Records that could not be read.
    pub(crate) skipped: usize,
    /// The first of them, with their places.
    pub(crate) bad: Vec<BadLine>,
    /// What a reader of the result should know.
    pub(crate) notes: Vec<String>,
}

/// Words that occur again and again, by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }
}

impl Trace {
    /// Reads a file, or the standard input for `-`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or nothing in it is a call: one sentence, and the bad lines that there were.
    pub(crate) fn read(path: &Path, format: Option<TraceFormat>) -> Result<Self, Unreadable> {
        let file = path.display().to_string();
        let bytes = if file == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(path)
        };
        match bytes {
            Ok(bytes) => Self::parse(&bytes, &file, format),
            Err(error) => Err(Unreadable::plain(format!("cannot read `{file}`: {error}"))),
        }
    }

    /// Reads the bytes of `file`.
    pub(crate) fn parse(bytes: &[u8], file: &str, format: Option<TraceFormat>) -> Result<Self, Unreadable> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let format = format.unwrap_or_else(|| TraceFormat::of(bytes));
        let mut trace = Self {
            file: file.to_owned(),
            format,
            calls: Vec::new(),
            dependencies: Names::default(),
            keys: Names::default(),
            instances: Names::default(),
            records: 0,
            skipped: 0,
            bad: Vec::new(),
            notes: Vec::new(),
        };
        match format {
            TraceFormat::Csv => csv::read(bytes, &mut trace)?,
            TraceFormat::Jsonl => json_lines::read(bytes, &mut trace),
            TraceFormat::Access => access::read(bytes, &mut trace),
            TraceFormat::Otlp => otlp::read(bytes, &mut trace),
        }
        if trace.calls.is_empty() {
            let message = format!(
                "`{file}` has no call that can be read as {format}: {} of {} records passed over; `--trace-format` \
                 names another format",
                trace.skipped, trace.records,
            );
            return Err(Unreadable {
                message,
                bad: trace.bad,
            });
        }
        // Stable, so that calls of one moment stay in the order of the file.
        trace.calls.sort_by_key(|call| call.at);
        Ok(trace)
    }

    /// The share of records that could not be read.
    #[allow(clippy::cast_precision_loss)] // a share for people
    pub(crate) fn skipped_share(&self) -> f64 {
        self.skipped as f64 / self.records.max(1) as f64
    }

    fn push(&mut self, record: &Record<'_>) {
        self.records += 1;
        let call = Call {
            at: record.at,
            latency: record.latency,
            outcome: record.outcome,
            dependency: some(record.dependency).map(|name| self.dependencies.number(name)),
            key: some(record.key).map(|key| self.keys.number(key)),
            instance: some(record.instance).map(|name| self.instances.number(name)),
            repeats: record.repeats,
        };
        self.calls.push(call);
    }

    fn skip(&mut self, line: usize, column: usize, value: &str, message: impl Into<String>) {
        self.records += 1;
        self.skipped += 1;
        if self.bad.len() < KEPT {
            self.bad.push(BadLine::new(&self.file, line, column, value, message));
        }
    }
}

fn some(word: Option<&str>) -> Option<&str> {
    word.filter(|word| !word.is_empty())
}

/// One call as a format hands it over.
struct Record<'a> {
    at: i64,
    latency: Duration,
    outcome: Seen,
    dependency: Option<&'a str>,
    key: Option<&'a str>,
    instance: Option<&'a str>,
    repeats: bool,
}

/// Why there is no trace.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) bad: Vec<BadLine>,
}

impl Unreadable {
    /// One sentence, without lines.
    pub(crate) fn plain(message: String) -> Self {
        Self {
            message,
            bad: Vec::new(),
        }
    }
}

/// The lines of a text with their numbers, from 1; empty ones and comments left out.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Result<&str, usize>)> {
    bytes.split(|byte| *byte == b'\n').enumerate().filter_map(|(at, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line).map_err(|error| error.valid_up_to() + 1);
        match text {
            Ok(text) if text.trim().is_empty() || text.starts_with('#') => None,
            text => Some((at + 1, text)),
        }
    })
}

/// The column, in characters from 1, of `part`, which is a piece of `line`.
fn column(line: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(..offset.min(line.len()))
        .map_or(1, |before| before.chars().count() + 1)
}
