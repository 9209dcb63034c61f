//! Durations and windows against their ranges.

use std::time::Duration;

use super::Draft;
use super::number::outside;
use crate::fault::FaultName;
use crate::name::shown;
use crate::policy::{Value, Window};
use crate::reference::{Key, Kind};
use crate::units::{NotADuration, calls, duration, format_duration, propose_duration};

/// The longest duration of the file.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
/// The longest window.
const HOUR: Duration = Duration::from_secs(3600);

pub(super) fn bare_number(key: &Key, text: &str) -> Draft {
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

pub(super) fn time(key: &Key, text: &str, zero: bool, most: Duration) -> Result<Duration, Draft> {
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

pub(super) fn interval(key: &Key, text: &str, least: Duration, most: Duration) -> Result<Duration, Draft> {
    let read = time(key, text, false, most)?;
    if read < least {
        let message = format!(
            "`{}` is shorter than {}: it is {}",
            key.name,
            format_duration(least),
            key.allowed()
        );
        return Err(Draft::new(FaultName::OutOfRange, message));
    }
    Ok(read)
}

fn format_hours(most: Duration) -> String {
    if most == DAY {
        "24h".into()
    } else {
        format_duration(most)
    }
}

pub(super) fn window(key: &Key, text: &str) -> Result<Value, Draft> {
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
