//! Where the calls go. Whole lines only, so that what is there can be read at any moment.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use jiff::Timestamp;

use super::line::Line;
use crate::args::{Record, RecordFormat};

/// The header of the CSV, whose columns `suggest` and `simulate` find by name.
const COLUMNS: [&str; 9] = [
    "time",
    "latency",
    "outcome",
    "kind",
    "key",
    "dependency",
    "instance",
    "attempt",
    "function",
];
/// So many bytes are written together.
const TOGETHER: usize = 64 * 1024;

pub(super) struct Sink<'o> {
    to: To<'o>,
    format: RecordFormat,
    /// Lines that are whole and not written yet.
    lines: Vec<u8>,
}

enum To<'o> {
    Out(&'o mut dyn Write),
    File(File),
}

/// Whether the file may be written, before anybody is asked for calls.
pub(super) fn may_write(options: &Record) -> Result<(), String> {
    match &options.out {
        Some(out) if out.exists() && !options.append => Err(format!(
            "`{}` is there already: `--append` adds to it, or name another",
            out.display()
        )),
        Some(out) if options.append && holds_something(out) => continues(out, format(options)),
        _ => Ok(()),
    }
}

impl<'o> Sink<'o> {
    pub(super) fn open(options: &Record, out: &'o mut dyn Write) -> Result<Self, String> {
        let format = format(options);
        let mut fresh = true;
        let to = match &options.out {
            None => To::Out(out),
            Some(path) => {
                fresh = !holds_something(path);
                let mut how = OpenOptions::new();
                // Nobody's file is written over, even if it came a moment ago.
                how.append(true).create(options.append).create_new(!options.append);
                To::File(
                    how.open(path)
                        .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?,
                )
            }
        };
        let mut sink = Self {
            to,
            format,
            lines: Vec::new(),
        };
        if format == RecordFormat::Csv && fresh {
            row(&mut sink.lines, &COLUMNS)
                .and_then(|()| sink.flush())
                .map_err(|error| format!("{} cannot be written: {error}", shown(options)))?;
        }
        Ok(sink)
    }

    /// One call, as it came and as it was read.
    pub(super) fn put(&mut self, text: &str, line: &Line<'_>) -> io::Result<()> {
        match self.format {
            RecordFormat::Json => writeln!(self.lines, "{text}")?,
            RecordFormat::Csv => {
                let attempt = line.attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
                let fields = [
                    &moment(line.time),
                    &line.latency.to_string(),
                    &*line.outcome,
                    line.kind.as_deref().unwrap_or_default(),
                    line.key.as_deref().unwrap_or_default(),
                    &*line.dependency,
                    line.instance.as_deref().unwrap_or_default(),
                    &attempt,
                    line.function.as_deref().unwrap_or_default(),
                ];
                row(&mut self.lines, &fields)?;
            }
        }
        if self.lines.len() >= TOGETHER {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        match &mut self.to {
            To::Out(out) => {
                out.write_all(&self.lines)?;
                out.flush()?;
            }
            To::File(file) => file.write_all(&self.lines)?,
        }
        self.lines.clear();
        Ok(())
    }
}

/// Where it goes, in a message.
pub(super) fn shown(options: &Record) -> String {
    let file = options.out.as_ref().map(|out| format!("`{}`", out.display()));
    file.unwrap_or_else(|| "standard output".to_owned())
}

/// As was asked, else as the file's name ends.
fn format(options: &Record) -> RecordFormat {
    let extension = options.out.as_ref().and_then(|out| out.extension());
    let of_name = match extension {
        Some(extension) if extension == "json" || extension == "jsonl" => RecordFormat::Json,
        _ => RecordFormat::Csv,
    };
    options.format.unwrap_or(of_name)
}

fn holds_something(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.len() > 0)
}

/// A file that is added to is of the same format, and ends with a whole line.
fn continues(path: &Path, format: RecordFormat) -> Result<(), String> {
    let shown = path.display();
    let unreadable = |error: io::Error| format!("`{shown}` cannot be read: {error}");
    let mut first = String::new();
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    file.read_line(&mut first).map_err(unreadable)?;
    let is_same = match format {
        RecordFormat::Csv => first.trim_end() == COLUMNS.join(","),
        RecordFormat::Json => first.starts_with('{'),
    };
    if !is_same {
        return Err(format!(
            "`{shown}` was not written by `resilience record --format {}`: `--append` adds to such a file only",
            format.word(),
        ));
    }
    Ok(())
}

fn row<T: AsRef<[u8]>>(lines: &mut Vec<u8>, fields: &[T]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(lines);
    writer.write_record(fields).map_err(io::Error::other)?;
    writer.flush()
}

/// Seconds since 1970 as a date, to the microsecond.
fn moment(seconds: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // any date there will ever be
    let micros = (seconds * 1e6).round() as i64;
    Timestamp::from_microsecond(micros).map_or_else(|_| seconds.to_string(), |moment| format!("{moment:.6}"))
}
