//! Access logs of nginx and Apache: the combined (or common) format with a duration behind it.
//!
//! The duration is `urt=…` or `upstream_response_time=…` where there is one, else `rt=…` or `request_time=…`, else the
//! last field: with a point it is in seconds (nginx `$request_time`), a whole number is in microseconds (Apache `%D`),
//! and a unit counts before both. nginx writes the line when the request is over and Apache the moment it began, so
//! with seconds the call began that much earlier. The log's clock has seconds only: calls of one second are spread over
//! it evenly, in the order of the lines.

use std::time::Duration;

use super::moment::{of_access_log, seconds_to_latency};
use super::{Record, Seen, Trace, column, lines};

/// Fields that name the duration, the nearest to the dependency first.
const NAMED: [&str; 5] = ["urt", "upstream_response_time", "rt", "request_time", "duration"];
const WANTED: &str = "a line ends with the duration: `$request_time` of nginx, `%D` of Apache, or `rt=0.150`";

/// What nginx writes where its client went before there was an answer: nobody's answer.
const LEFT: &str = "499";

/// Whether a line looks like one of an access log.
pub(super) fn is_line(line: &str) -> bool {
    date(line).is_some() && line.contains("] \"")
}

struct Line<'a> {
    second: i64,
    latency: Duration,
    ended: bool,
    outcome: Seen,
    text: &'a str,
}

pub(super) fn read(bytes: &[u8], trace: &mut Trace) {
    let mut second: Vec<Line<'_>> = Vec::new();
    for (number, line) in lines(bytes) {
        let read = match line {
            Ok(line) => parse(line).map_err(|(at, value, message)| (at, value.to_owned(), message)),
            Err(at) => Err((at, String::new(), "a trace is UTF-8")),
        };
        match read {
            Ok(read) => {
                if second.first().is_some_and(|first| first.second != read.second) {
                    spread(&mut second, trace);
                }
                second.push(read);
            }
            Err((at, value, message)) => trace.skip(number, at, &value, message),
        }
    }
    spread(&mut second, trace);
    trace.notes.push(
        "the log's clock has whole seconds: calls of one second are spread over it evenly, so peaks within a second \
         are not seen"
            .into(),
    );
}

/// Hands over the calls of one second.
fn spread(second: &mut Vec<Line<'_>>, trace: &mut Trace) {
    let gap = 1_000_000_000 / i64::try_from(second.len().max(1)).unwrap_or(i64::MAX);
    let mut at = 0;
    for line in second.drain(..) {
        let told = line.second.saturating_add(at);
        at += gap;
        let took = i64::try_from(line.latency.as_nanos()).unwrap_or(i64::MAX);
        trace.push(&Record {
            at: if line.ended { told.saturating_sub(took) } else { told },
            latency: line.latency,
            outcome: line.outcome,
            dependency: None,
            key: None,
            instance: field(line.text, "instance"),
            repeats: false,
        });
    }
}

/// The column, the value and what is wrong with it.
type Wrong<'a> = (usize, &'a str, &'static str);

fn parse(line: &str) -> Result<Line<'_>, Wrong<'_>> {
    let date = date(line).ok_or((
        1,
        "",
        "a line has its date in brackets, such as [30/Nov/2026:18:00:00 +0000]",
    ))?;
    let wrong = |part| {
        (
            column(line, part),
            part,
            "a date is written as 30/Nov/2026:18:00:00 +0000",
        )
    };
    let second = of_access_log(date).ok_or_else(|| wrong(date))?;
    let after = &line[(date.as_ptr() as usize - line.as_ptr() as usize + date.len())..];
    let request = after.find('"').map(|at| &after[at + 1..]).ok_or((
        column(line, after),
        "",
        "the request stands in quotes after the date",
    ))?;
    let rest = after_quote(request).ok_or((column(line, request), "", "the request has no closing quote"))?;
    let status = rest.split_whitespace().next().unwrap_or_default();
    let outcome = if status == LEFT {
        Some(Seen::Ignored)
    } else {
        Seen::of_status(status)
    };
    let outcome = outcome.ok_or((
        column(line, if status.is_empty() { rest } else { status }),
        status,
        "the status stands after the request",
    ))?;
    let (latency, ended) = duration(line, rest)?;
    Ok(Line {
        second,
        latency,
        ended,
        outcome,
        text: line,
    })
}

/// The text between the brackets.
fn date(line: &str) -> Option<&str> {
    let start = line.find('[')? + 1;
    let date = line.get(start..start + line.get(start..)?.find(']')?)?;
    (date.len() >= 20 && date.as_bytes().get(2) == Some(&b'/')).then_some(date)
}

/// What follows a quoted text whose opening quote has been passed; `\"` does not close it.
fn after_quote(text: &str) -> Option<&str> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return text.get(at + 1..),
            _ => escaped = false,
        }
    }
    None
}

/// How long it took, and whether the line's time is the end of it.
fn duration<'a>(line: &'a str, rest: &'a str) -> Result<(Duration, bool), Wrong<'a>> {
    for name in NAMED {
        // An upstream that was never asked has `-`; the next name may know more.
        if let Some(value) = field(rest, name).filter(|value| *value != "-") {
            // Several upstreams were tried one after the other: `0.010, 0.200`, or `0.010 : 0.200` after a redirect inside.
            let mut sum = 0.0;
            for part in value.split([',', ':']).map(str::trim).filter(|part| *part != "-") {
                sum += seconds(part).ok_or((column(line, value), value, WANTED))?;
            }
            let latency = seconds_to_latency(sum).ok_or((column(line, value), value, WANTED))?;
            return Ok((latency, true));
        }
    }
    let last = rest.rsplit([' ', '\t']).find(|field| !field.is_empty()).unwrap_or("");
    let last_unquoted = last.trim_matches('"');
    let wrong = (column(line, last), last, WANTED);
    // A common line without a duration ends with the size of the answer, a combined one with the end of a text.
    if rest.split_whitespace().count() < 3 || last.starts_with('"') != last.ends_with('"') {
        return Err(wrong);
    }
    if last_unquoted.bytes().all(|byte| byte.is_ascii_digit()) {
        let micros: u64 = last_unquoted.parse().map_err(|_| wrong)?;
        return Ok((Duration::from_micros(micros), false));
    }
    let latency = seconds(last_unquoted).and_then(seconds_to_latency).ok_or(wrong)?;
    Ok((latency, true))
}

/// `0.150`, `150ms`.
fn seconds(text: &str) -> Option<f64> {
    text.parse::<f64>()
        .ok()
        .or_else(|| resilience_policy::parse_duration(text).map(|time| time.as_secs_f64()))
}

/// The value of `name=value` or `name="value"`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find(name) {
        let start = from + found;
        let stands_alone = start == 0 || matches!(text.as_bytes()[start - 1], b' ' | b'\t' | b'"' | b',');
        let after = &text[start + name.len()..];
        if let (true, Some(value)) = (stands_alone, after.strip_prefix('=')) {
            return match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => value.get(..unquoted(value)),
            };
        }
        from = start + name.len();
    }
    None
}

/// How long a value without quotes is: to the next space, but that a list goes on behind `, ` and ` : `.
fn unquoted(value: &str) -> usize {
    let mut length = 0;
    for (at, word) in value.split([' ', '\t']).enumerate() {
        let before = &value[..length];
        if at > 0 && !(before.ends_with([',', ':']) || word == ":") {
            break;
        }
        length = (word.as_ptr() as usize - value.as_ptr() as usize) + word.len();
    }
    value[..length].find('"').unwrap_or(length)
}
