//! One value of the file, or of an environment variable, against its row of the reference.

mod address;
mod number;
mod time;

use std::cell::Cell;
use std::fmt::Write as _;
use std::ops::Range as Span;

use toml::Spanned;
use toml::de::DeValue;

use crate::fault::FaultName;
use crate::name::{nearest, refusal, shown};
use crate::policy::Value;
use crate::reference::{Id, Key, Kind, RATE};
use crate::units::clock_face;

pub(crate) use address::without_password;
use number::{integer, number, quoted};
pub(crate) use time::as_window;
use time::{DAY, bare_number, interval, time, window};

/// A fault that has no place yet. `span` is that of an element of a list, where that is smaller than the value.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) name: FaultName,
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
    pub(crate) span: Option<Span<usize>>,
}

impl Draft {
    fn new(name: FaultName, message: impl Into<String>) -> Self {
        Self {
            name,
            message: message.into(),
            suggestion: None,
            span: None,
        }
    }

    fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }
}

/// The names that a value may point at.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) templates: Vec<String>,
    pub(crate) dependencies: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Parts of the file could not be read, so that there may be more.
    pub(crate) open: bool,
    /// Names that were compared to find the nearest.
    pub(crate) compared: Cell<usize>,
}

impl Known {
    /// The nearest of these names, until so many were compared that a file of misspelt names would cost seconds.
    fn nearest<'n>(&self, text: &str, names: &'n [String]) -> Option<&'n str> {
        const MOST: usize = 1_000_000;
        let compared = self.compared.get() + names.len();
        self.compared.set(compared);
        if compared > MOST {
            None
        } else {
            nearest(text, names.iter().map(String::as_str))
        }
    }
}

/// Reads a value of the file.
pub(crate) fn read(id: Id, value: &Spanned<DeValue<'_>>, known: &Known) -> Result<Value, Draft> {
    let key = id.key();
    match (key.kind, value.get_ref()) {
        (Kind::Bool, DeValue::Boolean(value)) => Ok(Value::Bool(*value)),
        (Kind::RateOrOff, DeValue::Boolean(false)) => Ok(Value::Bool(false)),
        (Kind::RateOrOff, DeValue::Boolean(true)) => Err(Draft::new(
            FaultName::WrongType,
            format!(
                "`{}` is a rate; `false` switches it off, but `true` says no number",
                key.name
            ),
        )),
        (Kind::Words(_) | Kind::Resources | Kind::Rates, DeValue::Array(elements)) => {
            let mut list = Vec::new();
            for element in elements {
                let at = |draft: Draft| Draft {
                    span: draft.span.or_else(|| Some(element.span())),
                    ..draft
                };
                list.push(element_of(key, element.get_ref(), known).map_err(at)?);
            }
            Ok(Value::List(list))
        }
        (Kind::Words(_) | Kind::Resources | Kind::Rates, other) => Err(Draft::new(
            FaultName::WrongType,
            format!("`{}` is a list, not {}", key.name, type_of(other)),
        )
        .suggest(Some(format!("[{}]", notation(other))).filter(|_| !other.is_table()))),
        (_, other) => scalar(key, other, known),
    }
}

/// What was written, as it may be shown.
pub(crate) fn shown_of(id: Id, written: &str) -> String {
    match id.key().kind {
        Kind::Address => without_password(written),
        _ => written.to_owned(),
    }
}

/// Reads a value from the text of an environment variable.
pub(crate) fn read_text(id: Id, text: &str, known: &Known) -> Result<Value, Draft> {
    let key = id.key();
    match key.kind {
        Kind::Words(_) | Kind::Resources | Kind::Rates => {
            let elements = text.split(',').map(str::trim).filter(|element| !element.is_empty());
            elements
                .map(|element| plain_element(key, element, known))
                .collect::<Result<_, _>>()
                .map(Value::List)
        }
        Kind::Bool => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(wrong(key, "neither `true` nor `false`")),
        },
        Kind::RateOrOff if text == "false" => Ok(Value::Bool(false)),
        Kind::Integer(..) | Kind::Version => integer(key, &text.replace('_', "")),
        Kind::Number(range) => number(key, text, range),
        Kind::RateOrOff => number(key, text, RATE),
        _ => string(key, text, known),
    }
}

fn plain_element(key: &Key, text: &str, known: &Known) -> Result<Value, Draft> {
    match key.kind {
        Kind::Rates => number(key, text, RATE),
        _ => string_element(key, text, known),
    }
}

fn element_of(key: &Key, value: &DeValue<'_>, known: &Known) -> Result<Value, Draft> {
    match (key.kind, value) {
        (Kind::Rates, DeValue::Float(float)) => number(key, float.as_str(), RATE),
        (Kind::Rates, DeValue::Integer(int)) => number(key, int.as_str(), RATE),
        (Kind::Words(_) | Kind::Resources, DeValue::String(text)) => string_element(key, text, known),
        (_, other) => Err(wrong(key, &type_of(other))),
    }
}

fn string_element(key: &Key, text: &str, known: &Known) -> Result<Value, Draft> {
    match key.kind {
        Kind::Words(words) => word(key, text, words),
        _ if known.open || known.resources.iter().any(|name| name == text) => Ok(Value::String(text.into())),
        _ => Err(unknown_name("resource", text, &known.resources, known)),
    }
}

fn scalar(key: &Key, value: &DeValue<'_>, known: &Known) -> Result<Value, Draft> {
    match (key.kind, value) {
        (Kind::Integer(..) | Kind::Version, DeValue::Integer(int)) => {
            let plain = int.as_str().replace('_', "");
            if int.radix() != 10 {
                let plain = i64::from_str_radix(&plain, int.radix())
                    .ok()
                    .map(|number| number.to_string());
                return Err(
                    Draft::new(FaultName::WrongType, format!("`{}` is a decimal number", key.name)).suggest(plain),
                );
            }
            integer(key, &plain)
        }
        (Kind::Integer(..) | Kind::Version, DeValue::Float(float)) => {
            let whole = float
                .as_str()
                .parse::<f64>()
                .ok()
                .filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
            Err(wrong(key, &format!("the fraction `{}`", float.as_str()))
                .suggest(whole.map(|number| format!("{number:.0}"))))
        }
        (Kind::Number(range), DeValue::Float(float)) => number(key, float.as_str(), range),
        (Kind::RateOrOff, DeValue::Float(float)) => number(key, float.as_str(), RATE),
        (Kind::Number(_) | Kind::RateOrOff, DeValue::Integer(int)) => {
            if int.radix() != 10 {
                return Err(Draft::new(
                    FaultName::WrongType,
                    format!("`{}` is a decimal number", key.name),
                ));
            }
            let range = if let Kind::Number(range) = key.kind {
                range
            } else {
                RATE
            };
            number(key, &int.as_str().replace('_', ""), range)
        }
        (Kind::Duration { .. } | Kind::Interval(..) | Kind::Window, DeValue::Integer(int)) => {
            Err(bare_number(key, &int.as_str().replace('_', "")))
        }
        (Kind::Duration { .. } | Kind::Interval(..) | Kind::Window, DeValue::Float(float)) => {
            Err(bare_number(key, float.as_str()))
        }
        (Kind::Duration { .. } | Kind::Interval(..) | Kind::Window, DeValue::Datetime(time)) => Err(Draft::new(
            FaultName::BadDuration,
            format!("`{time}` is a time of day to TOML; a duration is a text with a unit"),
        )
        .suggest(clock_face(&time.to_string()).map(|ours| format!("\"{ours}\"")))),
        (Kind::Integer(..) | Kind::Version | Kind::Number(_) | Kind::RateOrOff | Kind::Bool, DeValue::String(text)) => {
            Err(quoted(key, text))
        }
        (_, DeValue::String(text)) => string(key, text, known),
        (Kind::Bool, other) => Err(wrong(key, &type_of(other)).suggest(Some("true".into()))),
        (_, other) => Err(wrong(key, &type_of(other))),
    }
}

fn string(key: &Key, text: &str, known: &Known) -> Result<Value, Draft> {
    if let Some(why) = placeholder(text) {
        let name = if matches!(key.kind, Kind::Duration { .. } | Kind::Interval(..) | Kind::Window) {
            FaultName::BadDuration
        } else {
            FaultName::OutOfRange
        };
        let why = match key.kind {
            Kind::Address => format!("{why}, or give it by the variable `RESILIENCE__FLEET__REDIS`"),
            _ => why,
        };
        return Err(Draft::new(name, why));
    }
    match key.kind {
        Kind::Text | Kind::Path if text.trim().is_empty() => Err(Draft::new(
            FaultName::OutOfRange,
            format!("`{}` is empty; write it, or remove the key", key.name),
        )),
        Kind::Text | Kind::Path if text.chars().any(char::is_control) => Err(Draft::new(
            FaultName::OutOfRange,
            format!("`{}` holds a control character; write it on one line", key.name),
        )),
        Kind::Text | Kind::Path => Ok(Value::String(text.into())),
        Kind::Word(words) => word(key, text, words),
        Kind::Template if known.open || known.templates.iter().any(|name| name == text) => {
            Ok(Value::String(text.into()))
        }
        Kind::Template => Err(unknown_name("template", text, &known.templates, known)),
        Kind::Duration { zero } => time(key, text, zero, DAY).map(Value::Duration),
        Kind::Interval(least, most) => interval(key, text, least, most).map(Value::Duration),
        Kind::Address => address::read(key, text),
        Kind::Name => match refusal(text) {
            None => Ok(Value::String(text.into())),
            Some((why, ours)) => Err(Draft::new(FaultName::BadName, why).suggest(ours)),
        },
        Kind::Window => window(key, text),
        _ => Err(wrong(key, "a text")),
    }
}

fn word(key: &Key, text: &str, words: &[&str]) -> Result<Value, Draft> {
    if words.contains(&text) {
        return Ok(Value::String(text.into()));
    }
    let near = nearest(text, words.iter().copied());
    let mut message = format!("`{}` is no value of `{}`", shown(text), key.name);
    ask(&mut message, near);
    Err(Draft::new(FaultName::OutOfRange, message).suggest(near.map(Into::into)))
}

/// The nearest name as a question, as people ask it.
fn ask(message: &mut String, near: Option<&str>) {
    if let Some(near) = near {
        let _ = write!(message, "; did you mean `{near}`?");
    }
}

fn unknown_name(what: &str, text: &str, names: &[String], known: &Known) -> Draft {
    let near = known.nearest(text, names);
    let mut message = format!("there is no {what} `{}`", shown(text));
    if known.dependencies.iter().any(|name| name == text) {
        let _ = write!(message, "; `{text}` is a dependency, and this names a {what}");
    } else if near.is_none() {
        let _ = write!(
            message,
            "; write a table `[{what}.{}]`, or remove the name",
            shown(text)
        );
    }
    ask(&mut message, near);
    Draft::new(FaultName::UnknownName, message).suggest(near.map(Into::into))
}

fn wrong(key: &Key, what: &str) -> Draft {
    let number = if matches!(key.kind, Kind::Number(_) | Kind::RateOrOff) {
        "a number, "
    } else {
        ""
    };
    Draft::new(
        FaultName::WrongType,
        format!("`{}` takes {number}{}, not {what}", key.name, key.allowed()),
    )
}

fn placeholder(text: &str) -> Option<String> {
    let unfilled = text.contains("${") || (text.contains("{{") && text.contains("}}")) || text.contains("<%");
    unfilled.then(|| {
        format!(
            "the placeholder `{}` was not filled in, and this loader expands none; write the value itself",
            shown(text)
        )
    })
}

/// What a value is, in words.
pub(crate) fn type_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => "a text".into(),
        DeValue::Integer(_) | DeValue::Float(_) => "a number".into(),
        DeValue::Boolean(value) => format!("`{value}`"),
        DeValue::Datetime(_) => "a date or time".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

fn notation(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", shown(text)),
        DeValue::Integer(int) => int.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        _ => "…".into(),
    }
}
