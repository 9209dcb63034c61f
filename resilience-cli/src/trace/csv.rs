//! `time,latency,outcome[,key[,dependency[,instance]]]`: in this order without a header, in any order with one. Columns
//! that the header names otherwise are left alone.

use super::moment::{latency, moment};
use super::{Record, Seen, Trace, Unreadable};

/// Where each column stands.
struct Columns {
    time: usize,
    latency: usize,
    outcome: usize,
    kind: Option<usize>,
    key: Option<usize>,
    dependency: Option<usize>,
    instance: Option<usize>,
    attempt: Option<usize>,
}

impl Columns {
    const PLAIN: Self = Self {
        time: 0,
        latency: 1,
        outcome: 2,
        kind: None,
        key: Some(3),
        dependency: Some(4),
        instance: Some(5),
        attempt: None,
    };

    /// The columns that a header names; `None` if the record is a call.
    fn named(record: &::csv::ByteRecord) -> Option<Result<Self, String>> {
        let names: Vec<String> = record
            .iter()
            .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
            .collect();
        let first = names.first()?;
        if moment(first).is_ok() || !names.iter().any(|name| name == "time" || name == "latency") {
            return None;
        }
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let needed = |wanted: &str| {
            find(wanted).ok_or_else(|| {
                format!("the header has no column `{wanted}`: `time`, `latency` and `outcome` are needed, `key`, `kind`, `dependency` and `instance` are read too")
            })
        };
        let columns = || {
            Ok(Self {
                time: needed("time")?,
                latency: needed("latency")?,
                outcome: needed("outcome")?,
                kind: find("kind"),
                key: find("key"),
                dependency: find("dependency"),
                instance: find("instance"),
                attempt: find("attempt"),
            })
        };
        Some(columns())
    }
}

pub(super) fn read(bytes: &[u8], trace: &mut Trace) -> Result<(), Unreadable> {
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(::csv::Trim::All)
        .from_reader(bytes);
    let mut record = ::csv::ByteRecord::new();
    let mut columns = None;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            // From memory and with records of any length nothing is left to go wrong.
            Err(error) => return Err(Unreadable::plain(format!("cannot read `{}`: {error}", trace.file))),
        }
        let place = record.position().map_or((1, 0), |position| {
            let line = usize::try_from(position.line()).unwrap_or(usize::MAX);
            (line, usize::try_from(position.byte()).unwrap_or(usize::MAX))
        });
        if columns.is_none() {
            match Columns::named(&record) {
                Some(named) => {
                    columns =
                        Some(named.map_err(|message| Unreadable::plain(format!("{}:1:1: {message}", trace.file)))?);
                    continue;
                }
                None => columns = Some(Columns::PLAIN),
            }
        }
        let columns = columns.as_ref().unwrap_or(&Columns::PLAIN);
        if let Err((field, message)) = take(&record, columns, trace) {
            let value = String::from_utf8_lossy(record.get(field).unwrap_or_default()).into_owned();
            let (line, column) = place_of(bytes, place, field);
            trace.skip(line, column, &value, message);
        }
    }
}

/// The field that is wrong, and how.
type Wrong = (usize, &'static str);

fn take(record: &::csv::ByteRecord, columns: &Columns, trace: &mut Trace) -> Result<(), Wrong> {
    let text = |field: usize| {
        let bytes = record
            .get(field)
            .ok_or((field, "a call has a time, a latency and an outcome"))?;
        std::str::from_utf8(bytes).map_err(|_| (field, "a trace is UTF-8"))
    };
    let optional = |field: Option<usize>| match field.filter(|field| *field < record.len()) {
        Some(field) => text(field).map(Some),
        None => Ok(None),
    };
    let at = moment(text(columns.time)?).map_err(|message| (columns.time, message))?;
    let outcome =
        Seen::read(text(columns.outcome)?, optional(columns.kind)?).map_err(|message| (columns.outcome, message))?;
    let took = text(columns.latency)?;
    let latency = match outcome {
        // A call that was refused took no time of the dependency's; some leave it out.
        Seen::Rejected if took.is_empty() => std::time::Duration::ZERO,
        _ => latency(took).map_err(|message| (columns.latency, message))?,
    };
    let record = Record {
        at,
        latency,
        outcome,
        dependency: optional(columns.dependency)?,
        key: optional(columns.key)?,
        instance: optional(columns.instance)?,
        // Other people's columns of that name are left alone.
        repeats: optional(columns.attempt)?
            .is_some_and(|attempt| attempt.parse().is_ok_and(|attempt: u32| attempt > 1)),
    };
    trace.push(&record);
    Ok(())
}

/// The line and column of a field. Only bad records are looked at twice.
fn place_of(bytes: &[u8], (mut line, mut start): (usize, usize), field: usize) -> (usize, usize) {
    // The reader's position may stand before empty lines and comments.
    loop {
        let rest = &bytes[start.min(bytes.len())..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let this = &rest[..end.unwrap_or(rest.len())];
        let passed_over = this.starts_with(b"#") || this.trim_ascii().is_empty();
        let (true, Some(end)) = (passed_over, end) else { break };
        start += end + 1;
        line += 1;
    }
    let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default());
    let text = text.lines().next().unwrap_or_default();
    let mut quoted = false;
    let mut left = field;
    for (at, letter) in text.chars().enumerate() {
        if left == 0 && !letter.is_whitespace() {
            return (line, at + 1);
        }
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => left = left.saturating_sub(1),
            _ => {}
        }
    }
    (line, text.chars().count() + 1)
}
