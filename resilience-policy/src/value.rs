//! One value of the file, or of an environment variable, against its row of the reference.

use std::fmt::{self, Write as _};
use std::ops::Range as Span;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::fault::FaultName;
use crate::name::{nearest, shown};
use crate::policy::{Value, Window};
use crate::reference::{Id, Key, Kind, RATE, Range, Table};
use crate::units::{NotADuration, calls, clock_face, duration, format_duration, propose_duration};

/// The longest duration of the file.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The longest window.
const HOUR: Duration = Duration::from_secs(3600);

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
        _ if known.resources.iter().any(|name| name == text) => Ok(Value::String(text.into())),
        _ => Err(unknown_name("resource", text, &known.resources, &known.dependencies)),
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
        (Kind::Duration { .. } | Kind::Window, DeValue::Integer(int)) => {
            Err(bare_number(key, &int.as_str().replace('_', "")))
        }
        (Kind::Duration { .. } | Kind::Window, DeValue::Float(float)) => Err(bare_number(key, float.as_str())),
        (Kind::Duration { .. } | Kind::Window, DeValue::Datetime(time)) => Err(Draft::new(
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
        let name = if matches!(key.kind, Kind::Duration { .. } | Kind::Window) {
            FaultName::BadDuration
        } else {
            FaultName::OutOfRange
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
        Kind::Template if known.templates.iter().any(|name| name == text) => Ok(Value::String(text.into())),
        Kind::Template => Err(unknown_name("template", text, &known.templates, &known.dependencies)),
        Kind::Duration { zero } => time(key, text, zero, DAY).map(Value::Duration),
        Kind::Window => window(key, text),
        _ => Err(wrong(key, "a text")),
    }
}

fn word(key: &Key, text: &str, words: &[&str]) -> Result<Value, Draft> {
    if words.contains(&text) {
        return Ok(Value::String(text.into()));
    }
    let near = nearest(text, words.iter().copied());
    Err(Draft::new(
        FaultName::OutOfRange,
        format!("`{}` is no value of `{}`", shown(text), key.name),
    )
    .suggest(near.map(|word| format!("\"{word}\""))))
}

fn unknown_name(what: &str, text: &str, known: &[String], dependencies: &[String]) -> Draft {
    let near = nearest(text, known.iter().map(String::as_str));
    let mut message = format!("there is no {what} `{}`", shown(text));
    if dependencies.iter().any(|name| name == text) {
        let _ = write!(message, "; `{text}` is a dependency, and this names a {what}");
    } else if near.is_none() {
        let _ = write!(
            message,
            "; write a table `[{what}.{}]`, or remove the name",
            shown(text)
        );
    }
    Draft::new(FaultName::UnknownName, message).suggest(near.map(|name| format!("\"{name}\"")))
}

fn integer(key: &Key, text: &str) -> Result<Value, Draft> {
    let parsed = text.parse::<i64>();
    if matches!(key.kind, Kind::Version) {
        return match parsed {
            Ok(1) => Ok(Value::Integer(1)),
            _ => Err(Draft::new(
                FaultName::OutOfRange,
                format!("version {} of the format is not known here", shown(text)),
            )
            .suggest(Some("1".into()))),
        };
    }
    let Kind::Integer(least, most) = key.kind else {
        return Err(wrong(key, "a number"));
    };
    match parsed {
        Ok(number) if (least..=most).contains(&number) => Ok(Value::Integer(number)),
        Ok(_) => Err(outside(key, text)),
        Err(_) if !text.is_empty() && text.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit()) => {
            Err(outside(key, text))
        }
        Err(_) => Err(wrong(key, &format!("`{}`", shown(text)))),
    }
}

fn number(key: &Key, text: &str, range: Range) -> Result<Value, Draft> {
    let Ok(number) = text.replace('_', "").parse::<f64>() else {
        return Err(wrong(key, &format!("`{}`", shown(text))).suggest(per_cent(text)));
    };
    if range.contains(number) {
        // -0.0 would divide to a negative infinity later.
        return Ok(Value::Float(if number == 0.0 { 0.0 } else { number }));
    }
    if !number.is_finite() {
        let message = format!("`{}` must be a finite number, not `{}`", key.name, shown(text));
        return Err(Draft::new(FaultName::OutOfRange, message));
    }
    if range.share && number > 1.0 {
        let share = (2.0..=100.0).contains(&number).then(|| (number / 100.0).to_string());
        let message = match &share {
            Some(share) => format!("a fraction from 0 to 1; for {number} per cent write {share}"),
            None => "a fraction from 0 to 1".into(),
        };
        return Err(Draft::new(FaultName::OutOfRange, format!("`{}` is {message}", key.name)).suggest(share));
    }
    Err(outside(key, text))
}

fn per_cent(text: &str) -> Option<String> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Some((number / 100.0).to_string())
}

fn outside(key: &Key, text: &str) -> Draft {
    let none = if key.none.is_empty() {
        String::new()
    } else {
        format!("; {}", key.none)
    };
    Draft::new(
        FaultName::OutOfRange,
        format!(
            "`{}` cannot be {}: it is {}{none}",
            key.name,
            shown(text),
            key.allowed()
        ),
    )
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

fn quoted(key: &Key, text: &str) -> Draft {
    if let Some(why) = placeholder(text) {
        return Draft::new(FaultName::WrongType, why);
    }
    let bare = match key.kind {
        Kind::Bool => ["true", "false"].contains(&text).then(|| text.to_owned()),
        _ => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(|_| text.to_owned()),
    };
    wrong(key, "a text").suggest(bare.or_else(|| per_cent(text)))
}

fn bare_number(key: &Key, text: &str) -> Draft {
    let negative = text.starts_with('-');
    let shown = shown(text);
    if negative
        || text
            .trim_start_matches('+')
            .parse::<f64>()
            .is_ok_and(|number| number == 0.0)
    {
        return outside(key, text);
    }
    if !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Draft::new(
            FaultName::BadDuration,
            format!("`{}` is a finite time with a unit, not `{shown}`", key.name),
        );
    }
    let (message, suggestion) = if matches!(key.kind, Kind::Window) {
        (
            format!("a window carries its unit: `\"{shown} calls\"` or `\"{shown}s\"`?"),
            format!("\"{shown} calls\" or \"{shown}s\""),
        )
    } else {
        (
            format!("a duration carries its unit: `\"{shown}ms\"` or `\"{shown}s\"`?"),
            format!("\"{shown}ms\" or \"{shown}s\""),
        )
    };
    Draft::new(FaultName::BadDuration, message).suggest(Some(suggestion))
}

fn time(key: &Key, text: &str, zero: bool, most: Duration) -> Result<Duration, Draft> {
    let range = |why: &str| {
        let none = if key.none.is_empty() {
            String::new()
        } else {
            format!("; {}", key.none)
        };
        Draft::new(
            FaultName::OutOfRange,
            format!("`{}` {why}: it is {}{none}", key.name, key.allowed()),
        )
    };
    match duration(text) {
        Ok(time) if time.is_zero() && !zero => Err(range(&format!("cannot be {}", shown(text)))),
        Ok(time) if time > most => Err(range(&format!("is longer than {}", format_hours(most)))),
        Ok(time) => Ok(time),
        Err(NotADuration::Negative) => Err(range("cannot be negative")),
        Err(NotADuration::TooLong) => Err(range(&format!("is longer than {}", format_hours(most)))),
        Err(NotADuration::NoUnit) => Err(bare_number(key, text)),
        Err(NotADuration::Spelling) if text.eq_ignore_ascii_case("inf") || text.eq_ignore_ascii_case("infinity") => {
            Err(range("cannot be without end"))
        }
        Err(NotADuration::Spelling) => {
            let ours = propose_duration(text).map(|ours| format!("\"{ours}\""));
            if text.trim().is_empty() {
                let message = format!("`{}` is empty; write a duration, or remove the key", key.name);
                return Err(Draft::new(FaultName::BadDuration, message));
            }
            let mut message = format!(
                "`{}` is no duration; it is a number and one of `us ms s m h`",
                shown(text)
            );
            if text.contains('M') {
                message.push_str(", where `m` is minutes");
            }
            Err(Draft::new(FaultName::BadDuration, message).suggest(ours))
        }
    }
}

fn format_hours(most: Duration) -> String {
    if most == DAY {
        "24h".into()
    } else {
        format_duration(most)
    }
}

fn window(key: &Key, text: &str) -> Result<Value, Draft> {
    match calls(text) {
        Some(Ok(calls)) => Ok(Value::String(Window::Calls(calls).to_string())),
        Some(Err(())) => Err(outside(key, text)),
        None => {
            let draft = match time(key, text, false, HOUR) {
                Ok(time) => return Ok(Value::Duration(time)),
                Err(draft) => draft,
            };
            let digits = text
                .trim()
                .trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
            let meant = text.to_ascii_lowercase();
            if draft.suggestion.is_none() && meant.contains("call") && digits.parse::<u32>().is_ok() {
                return Err(draft.suggest(Some(format!("\"{digits} calls\""))));
            }
            Err(draft)
        }
    }
}

/// A window from its checked value.
pub(crate) fn as_window(value: &Value) -> Option<Window> {
    match value {
        Value::Duration(time) => Some(Window::Time(*time)),
        Value::String(text) => calls(text)?.ok().map(Window::Calls),
        _ => None,
    }
}

fn placeholder(text: &str) -> Option<String> {
    let unfilled = text.contains("${") || (text.contains("{{") && text.contains("}}")) || text.contains("<%");
    unfilled.then(|| {
        format!(
            "the placeholder `{}` was not filled in; this loader does not expand variables",
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

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::String(value) => f.write_str(value),
            Self::Duration(value) => f.write_str(&format_duration(*value)),
            Self::List(values) => {
                f.write_str("[")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Whether a table of this kind may stand in a level of this scope; used by messages too.
pub(crate) const fn is_layer(table: Table) -> bool {
    !matches!(table, Table::Top | Table::Runtime | Table::Dependency | Table::Resource)
}
