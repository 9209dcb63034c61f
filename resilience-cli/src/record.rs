//! `record`: writes a trace of what a running service's guards see, call by call.

mod interrupt;
mod line;
mod sink;
mod stream;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::UNREADABLE;
use crate::args::Record;
use crate::check::plural;

use interrupt::Interrupt;
use line::{Comment, Line};
use sink::Sink;
use stream::Got;

/// How often it is looked whether somebody wants to stop, and written what came.
const LOOK: Duration = Duration::from_millis(100);
/// A service says once a second that it is there.
const SILENCE: Duration = Duration::from_secs(10);
/// A service that was told for how long ends by itself, and sends what is left.
const GRACE: Duration = Duration::from_secs(5);
/// Loss, or a service that went away, or not one call: what there is was written.
const LESS: u8 = 1;

pub(crate) fn run(options: &Record, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    // Before the service is asked: its time begins later, so that it never seems to end before it was to.
    let begun = Instant::now();
    match prepare(options, out) {
        Ok((lines, sink, lasting)) => record(options, &lines, sink, (begun, lasting), err),
        Err(why) => {
            writeln!(err, "{why}")?;
            Ok(UNREADABLE)
        }
    }
}

/// The far end first, so that no empty file is left where there is nobody.
fn prepare<'o>(
    options: &Record,
    out: &'o mut dyn Write,
) -> Result<(Receiver<Got>, Sink<'o>, Option<Duration>), String> {
    let lasting = match &options.lasting {
        Some(text) => Some(
            resilience_policy::parse_duration(text)
                .ok_or_else(|| format!("`--for {text}` is no duration: a number with a unit, such as `60s` or `5m`"))?,
        ),
        None => None,
    };
    sink::may_write(options)?;
    let lines = stream::open(options, lasting)?;
    Ok((lines, Sink::open(options, out)?, lasting))
}

fn record(
    options: &Record,
    lines: &Receiver<Got>,
    mut sink: Sink<'_>,
    (begun, lasting): (Instant, Option<Duration>),
    err: &mut dyn Write,
) -> io::Result<u8> {
    let interrupt = Interrupt::listen();
    let (mut heard, mut written) = (Instant::now(), begun);
    let grace = if stream::is_service(&options.from) {
        GRACE
    } else {
        Duration::ZERO
    };
    let mut seen = Seen::default();
    let end = loop {
        if interrupt.came() {
            break End::Asked;
        }
        if written.elapsed() >= LOOK {
            if let Err(error) = sink.flush() {
                break End::Unwritable(error);
            }
            written = Instant::now();
        }
        if lasting.is_some_and(|lasting| begun.elapsed() >= lasting + grace) {
            break End::Asked;
        }
        match lines.recv_timeout(LOOK) {
            Ok(Got::Line(text)) => {
                heard = Instant::now();
                match seen.take(&text, &mut sink) {
                    Ok(()) => {}
                    Err(end) => break end,
                }
            }
            Ok(Got::End) => break seen.end(options, begun.elapsed(), lasting),
            Ok(Got::Broken(why)) => break End::Broken(why),
            Err(RecvTimeoutError::Disconnected) => break End::Broken("its reader ended".to_owned()),
            // A pipe may be silent for as long as it likes.
            Err(RecvTimeoutError::Timeout) => {
                if stream::is_service(&options.from) && heard.elapsed() >= SILENCE {
                    break End::Broken(format!("it has said nothing for {} s", SILENCE.as_secs()));
                }
            }
        }
    };
    let end = match sink.flush() {
        Err(error) => End::Unwritable(error),
        Ok(()) => end,
    };
    seen.tell(options, begun.elapsed(), &end, err)
}

/// Why it is over.
enum End {
    /// By hand, after the time that was asked for, or at the end of what was to be read.
    Asked,
    /// The service ended it and said so.
    Ended,
    /// What was written so far is all there is.
    Broken(String),
    /// And not even that is sure to be whole.
    Unwritable(io::Error),
}

/// What went by.
#[derive(Default)]
struct Seen {
    lines: usize,
    refused: usize,
    left: usize,
    repeats: usize,
    by_dependency: BTreeMap<String, usize>,
    /// The last that the service said of itself.
    said: Comment,
}

impl Seen {
    fn take(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), End> {
        if let Some(comment) = text.strip_prefix('#') {
            if let Ok(said) = serde_json::from_str(comment) {
                self.said = said;
            }
            return Ok(());
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        let line: Line<'_> = serde_json::from_str(text).map_err(|error| {
            let shown: String = text.chars().take(60).filter(|letter| !letter.is_control()).collect();
            End::Broken(format!(
                "it said something that is no recorded call (`{shown}`): {error}"
            ))
        })?;
        self.lines += 1;
        self.refused += usize::from(line.outcome == "rejected");
        self.left += usize::from(line.outcome == "left");
        self.repeats += usize::from(line.attempt.is_some_and(|attempt| attempt > 1));
        match self.by_dependency.get_mut(&*line.dependency) {
            Some(count) => *count += 1,
            None => drop(self.by_dependency.insert(line.dependency.clone().into_owned(), 1)),
        }
        sink.put(text, &line).map_err(End::Unwritable)
    }

    /// What the end of a stream means.
    fn end(&self, options: &Record, after: Duration, lasting: Option<Duration>) -> End {
        if !stream::is_service(&options.from) {
            return End::Asked;
        }
        match lasting {
            // The clocks of two machines differ, but not by a thousandth.
            Some(lasting) if self.said.end && after + lasting / 1_000 >= lasting => End::Asked,
            _ if self.said.end => End::Ended,
            _ => End::Broken("the connection ended in the middle".to_owned()),
        }
    }

    fn tell(&self, options: &Record, after: Duration, end: &End, err: &mut dyn Write) -> io::Result<u8> {
        let to = sink::shown(options);
        let names: Vec<String> = self
            .by_dependency
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let names = if names.is_empty() {
            String::new()
        } else {
            format!(": {}", names.join(", "))
        };
        let lines = plural(self.lines, "line", "lines");
        writeln!(err, "{lines} written to {to} in {:.1} s{names}", after.as_secs_f64())?;
        match self.said.lost {
            0 => {}
            lost => writeln!(
                err,
                "{} lost: they ended faster than they were read; `--dependency` records fewer",
                plural(usize::try_from(lost).unwrap_or(usize::MAX), "more was", "more were"),
            )?,
        }
        if self.refused + self.left > 0 {
            writeln!(
                err,
                "{} refused by the guards, {} left by their callers while they waited: what they would have met is \
                 unknown, so `suggest` and `simulate` count them and leave them out",
                self.refused, self.left,
            )?;
        }
        if self.repeats > 0 {
            writeln!(
                err,
                "{} repeat an attempt of the same call: `simulate` leaves them out, since its guards repeat by themselves",
                self.repeats,
            )?;
        }
        let from = &options.from;
        match end {
            End::Asked => {}
            End::Ended => writeln!(err, "`{from}` ended the recording: the service went down")?,
            End::Broken(why) => writeln!(err, "`{from}` was lost: {why}; what came before is kept")?,
            // Nobody reads it any more, as behind `| head`.
            End::Unwritable(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            End::Unwritable(error) => {
                writeln!(err, "{to} cannot be written: {error}; its last line may be cut")?;
                return Ok(UNREADABLE);
            }
        }
        let less = self.lines == 0 || self.said.lost > 0 || !matches!(end, End::Asked);
        Ok(if less { LESS } else { 0 })
    }
}
