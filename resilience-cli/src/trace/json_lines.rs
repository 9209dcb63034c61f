//! One object a line: `{"time": …, "latency": …, "outcome": …}` and, if known, `key`, `kind`, `dependency`, `instance`.
//! An array of such objects is read, too.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::moment::{latency, moment, seconds_to_latency};
use super::{Record, Seen, Trace, column, lines};

#[derive(Deserialize)]
struct Line<'a> {
    time: Value,
    #[serde(default)]
    latency: Value,
    outcome: Value,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    key: Value,
    #[serde(borrow, default)]
    dependency: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    instance: Option<Cow<'a, str>>,
    /// Other people's logs may mean something else by it.
    #[serde(default)]
    attempt: Value,
}

pub(super) fn read(bytes: &[u8], trace: &mut Trace) {
    for (number, line) in lines(bytes) {
        let line = match line {
            Ok(line) => line,
            Err(column) => {
                trace.skip(number, column, "", "a trace is UTF-8");
                continue;
            }
        };
        // The lines of an array, one object each.
        let object = line.trim().trim_end_matches(',');
        if matches!(object, "[" | "]") {
            continue;
        }
        let object = object.strip_prefix('[').unwrap_or(object);
        let object = match object.strip_suffix(']') {
            Some(inner) if !object.starts_with('[') && inner.ends_with('}') => inner,
            _ => object,
        };
        take(number, line, object, trace);
    }
}

fn take(number: usize, line: &str, object: &str, trace: &mut Trace) {
    let read: Line<'_> = match serde_json::from_str(object) {
        Ok(read) => read,
        Err(error) => {
            let column = column(line, object) + error.column().saturating_sub(1);
            let told = error.to_string();
            let told = told.split(" at line ").next().unwrap_or_default();
            let message = format!(
                "a line is an object with `time`, `latency`, `outcome` and perhaps `key`, `dependency`: {told}"
            );
            trace.skip(number, column, "", message);
            return;
        }
    };
    let wrong = |key: &str, value: &Value, message: &str, trace: &mut Trace| {
        let named = format!("\"{key}\"");
        let at = line.find(&named).map_or(1, |at| {
            let after = line[at + named.len()..].trim_start().trim_start_matches(':');
            column(line, after.trim_start())
        });
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        trace.skip(number, at, &value, message);
    };
    let at = match moment(&text(&read.time)) {
        Ok(at) => at,
        Err(message) => return wrong("time", &read.time, message, trace),
    };
    let outcome = match Seen::read(&text(&read.outcome), read.kind.as_deref()) {
        Ok(outcome) => outcome,
        Err(message) => return wrong("outcome", &read.outcome, message, trace),
    };
    let latency = match (&read.latency, outcome) {
        (Value::Null, Seen::Rejected) => Ok(std::time::Duration::ZERO),
        (Value::Number(seconds), _) => seconds
            .as_f64()
            .and_then(seconds_to_latency)
            .ok_or("a latency is a number of seconds, or a text with a unit"),
        (other, _) => latency(&text(other)),
    };
    let latency = match latency {
        Ok(latency) => latency,
        Err(message) => return wrong("latency", &read.latency, message, trace),
    };
    let key = match &read.key {
        Value::Null => None,
        key => Some(text(key)),
    };
    trace.push(&Record {
        at,
        latency,
        outcome,
        dependency: read.dependency.as_deref(),
        key: key.as_deref(),
        instance: read.instance.as_deref(),
        repeats: read.attempt.as_u64().is_some_and(|attempt| attempt > 1),
    });
}

/// A text as it is, anything else as it was written.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
