//! `schema`: the JSON Schema of the file, from the same table of keys that the loader reads.

use std::io::{self, Write};

use resilience_policy::reference::{Id, Key, Kind, Table};
use serde_json::{Map, Value, json};

/// The file's durations: larger units first, each at most once.
const DURATION: &str = r"^(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?(\d+(\.\d+)?ms)?(\d+(\.\d+)?us)?$";
const ADDRESS: &str = r"^(rediss?|(redis\+)?unix)://[^\s]+$";
const NAME: &str = "^[a-z][a-z0-9_-]{0,63}$";

pub(crate) fn run(out: &mut dyn Write) -> io::Result<u8> {
    writeln!(out, "{:#}", schema())?;
    Ok(0)
}

fn schema() -> Value {
    let mut top = keys(Table::Top, &[]);
    top.insert(
        "runtime".into(),
        object(&keys(Table::Runtime, &[]), "this process", &[]),
    );
    top.insert(
        "fleet".into(),
        object(
            &keys(Table::Fleet, &[]),
            "where the instances of the service meet",
            &["redis"],
        ),
    );
    top.insert(
        "defaults".into(),
        json!({ "$ref": "#/$defs/template", "description": "what dependencies do not write" }),
    );
    top.insert("template".into(), named("#/$defs/template"));
    top.insert("dependency".into(), named("#/$defs/dependency"));
    top.insert("resource".into(), named("#/$defs/resource"));
    let mut dependency = level(&[]);
    dependency.insert("operation".into(), named("#/$defs/operation"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "resilience.toml",
        "type": "object",
        "properties": top,
        "required": ["version"],
        "additionalProperties": false,
        "$defs": {
            "dependency": object(&dependency, "what a guarded function calls", &["fail"]),
            "operation": object(&level(&[Id::Inherits]), "a part of a dependency with numbers of its own", &[]),
            "template": object(&level(&[Id::Inherits, Id::Fail]), "keys that dependencies inherit", &[]),
            "resource": object(&keys(Table::Resource, &[]), "something that several dependencies share", &["capacity"]),
        },
    })
}

/// A dependency's own keys and tables, without some.
fn level(without: &[Id]) -> Map<String, Value> {
    let mut properties = keys(Table::Dependency, without);
    for table in Table::LAYERS {
        let keys = object(&keys(table, &[]), "", &[]);
        let schema = if table.can_be_off() {
            json!({ "anyOf": [keys, { "const": false }] })
        } else {
            keys
        };
        properties.insert(table.name().into(), schema);
    }
    properties
}

fn keys(table: Table, without: &[Id]) -> Map<String, Value> {
    table
        .keys()
        .filter(|id| !without.contains(id))
        .map(|id| (id.key().name.to_owned(), key(id.key())))
        .collect()
}

fn object(properties: &Map<String, Value>, description: &str, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn named(what: &str) -> Value {
    json!({
        "type": "object",
        "patternProperties": { NAME: { "$ref": what } },
        "additionalProperties": false,
    })
}

fn key(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Version => json!({ "const": 1 }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Words(words) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::Template | Kind::Name => json!({ "type": "string", "pattern": NAME }),
        Kind::Resources => json!({ "type": "array", "items": { "type": "string", "pattern": NAME } }),
        Kind::Duration { zero: true } => json!({ "type": "string", "pattern": DURATION, "minLength": 2 }),
        Kind::Duration { zero: false } | Kind::Interval(..) => longer_than_none(),
        Kind::Address => json!({ "type": "string", "pattern": ADDRESS }),
        Kind::Window => json!({ "anyOf": [
            { "type": "string", "pattern": "^0*[1-9][0-9]* calls?$" },
            longer_than_none(),
        ] }),
        Kind::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Number(range) => {
            let (low, high) = (
                if range.above { "exclusiveMinimum" } else { "minimum" },
                if range.below { "exclusiveMaximum" } else { "maximum" },
            );
            json!({ "type": "number", low: range.least, high: range.most })
        }
        Kind::RateOrOff => json!({ "anyOf": [rate(), { "const": false }] }),
        Kind::Rates => json!({ "type": "array", "items": rate() }),
        _ => json!({ "type": "string", "minLength": 1 }),
    };
    schema["description"] = json!(format!(
        "{}. Allowed: {}. Default: {}.",
        key.meaning,
        key.allowed(),
        key.default
    ));
    schema
}

fn longer_than_none() -> Value {
    json!({ "type": "string", "pattern": DURATION, "minLength": 2, "not": { "pattern": "^[0.a-z]*$" } })
}

fn rate() -> Value {
    json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
}
