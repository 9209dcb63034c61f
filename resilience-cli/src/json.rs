//! The shapes of the JSON output.

use resilience_policy::{Fault, Value};
use serde::Serialize;
use serde_json::{Map, json};

/// A fault or a finding of a lint.
#[derive(Serialize)]
struct Shape<'a> {
    name: &'a str,
    file: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    end_column: Option<u32>,
    key: &'a str,
    value: Option<&'a str>,
    message: &'a str,
    allowed: Option<&'a str>,
    suggestion: Option<&'a str>,
    numbers: Map<String, serde_json::Value>,
    related: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    message: &'a str,
}

/// A fault in its shape.
pub(crate) fn fault(fault: &Fault) -> serde_json::Value {
    let shape = Shape {
        name: fault.name(),
        file: fault.file(),
        line: fault.line(),
        column: fault.column(),
        end_column: fault.end_column(),
        key: fault.key(),
        value: fault.value(),
        message: fault.message(),
        allowed: fault.allowed(),
        suggestion: fault.suggestion(),
        numbers: fault
            .numbers()
            .iter()
            .map(|(name, number)| ((*name).to_owned(), json!(number)))
            .collect(),
        related: fault
            .related()
            .iter()
            .map(|related| Place {
                file: &related.file,
                line: related.line,
                column: related.column,
                message: &related.message,
            })
            .collect(),
    };
    serde_json::to_value(shape).expect("its keys are texts and its numbers finite")
}

/// A value: durations are seconds.
pub(crate) fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Duration(value) => json!(value.as_secs_f64()),
        Value::List(values) => values.iter().map(self::value).collect(),
        other => json!(other.to_string()),
    }
}
