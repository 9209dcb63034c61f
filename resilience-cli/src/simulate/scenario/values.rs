//! Values of a scenario file: durations that may be days, counts, shares, answers.

use resilience_policy::{format_duration, parse_duration};
use toml::de::{DeArray, DeValue};

use super::draft::Bad;
use super::{Answer, Answers, Latency, Nanos, SECOND};

const DAY: Nanos = 86_400 * SECOND;
/// The longest duration of a scenario.
const LONGEST: Nanos = 60 * DAY;

pub(super) type Read<T> = Result<T, Bad>;

fn wrong(wanted: &str, found: &DeValue<'_>) -> Bad {
    Bad::new("wrong_type", format!("{wanted} belongs here, not {}", kind(found)))
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a switch",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn text(value: &DeValue<'_>) -> Read<String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| wrong("a text in quotes", value))
}

/// A name that may stand as a column or a key of the output.
pub(super) fn name(value: &DeValue<'_>) -> Read<String> {
    let name = text(value)?;
    if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > 64 {
        return Err(Bad::new(
            "bad_name",
            "a name has 1 to 64 characters, none of them a control character",
        ));
    }
    Ok(name)
}

pub(super) fn switch(value: &DeValue<'_>) -> Read<bool> {
    value.as_bool().ok_or_else(|| wrong("true or false", value))
}

/// A duration, of nothing included.
pub(super) fn time(value: &DeValue<'_>) -> Read<Nanos> {
    let Some(text) = value.as_str() else {
        let suggestion = number_text(value).map(|number| format!("\"{number}s\""));
        return Err(Bad::new("bad_duration", "a duration is a text with a unit, such as \"30s\"").suggest(suggestion));
    };
    let nanos = parse(text).ok_or_else(|| {
        let bare = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
        let message = format!("`{}` is no duration", text.escape_debug());
        Bad::new("bad_duration", message).suggest(bare.map(|_| format!("\"{text}s\"")))
    })?;
    if nanos > LONGEST {
        return Err(Bad::new("out_of_range", format!("{text} is longer than 60d")));
    }
    Ok(nanos)
}

/// A duration that is not nothing.
pub(super) fn span(value: &DeValue<'_>) -> Read<Nanos> {
    match time(value)? {
        0 => Err(Bad::new("out_of_range", "a duration above 0s belongs here")),
        nanos => Ok(nanos),
    }
}

/// `2d`, `1d12h`, and all that a policy knows.
fn parse(text: &str) -> Option<Nanos> {
    let (days, rest) = match text.split_once('d') {
        Some((days, rest)) => (days, rest),
        None => ("", text),
    };
    let mut nanos: Nanos = 0;
    if !days.is_empty() {
        if !days.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        // A day is 24 hours, and hours may have a fraction.
        let hours = parse_duration(&format!("{days}h"))?;
        nanos = u64::try_from(hours.as_nanos()).ok()?.checked_mul(24)?;
        if rest.is_empty() {
            return Some(nanos);
        }
    } else if rest.len() != text.len() {
        return None;
    }
    let rest = u64::try_from(parse_duration(rest)?.as_nanos()).ok()?;
    nanos.checked_add(rest)
}

pub(crate) fn shown(nanos: Nanos) -> String {
    format_duration(std::time::Duration::from_nanos(nanos))
}

fn number_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

pub(super) fn number(value: &DeValue<'_>) -> Read<f64> {
    let text = number_text(value).ok_or_else(|| wrong("a number", value))?;
    let number = text.replace('_', "").parse::<f64>().ok();
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| Bad::new("out_of_range", "a finite number belongs here"))
}

pub(super) fn count(value: &DeValue<'_>) -> Read<u64> {
    let DeValue::Integer(number) = value else {
        return Err(wrong("a whole number", value));
    };
    i128::from_str_radix(number.as_str(), number.radix())
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| Bad::new("out_of_range", "a whole number, 0 or more, belongs here"))
}

/// A count from 1 on.
pub(super) fn some(value: &DeValue<'_>) -> Read<u64> {
    match count(value)? {
        0 => Err(Bad::new("out_of_range", "a whole number from 1 on belongs here")),
        number => Ok(number),
    }
}

pub(super) fn small(value: &DeValue<'_>) -> Read<u32> {
    u32::try_from(count(value)?).map_err(|_| Bad::new("out_of_range", "that many are not possible"))
}

/// Calls a second.
pub(super) fn rate(value: &DeValue<'_>) -> Read<f64> {
    let rate = number(value)?;
    if rate > 0.0 && rate <= 1e9 {
        return Ok(rate);
    }
    Err(Bad::new(
        "out_of_range",
        "a rate is above 0, and at most 1_000_000_000 calls a second",
    ))
}

fn list<'v, 'a>(value: &'v DeValue<'a>) -> Read<&'v DeArray<'a>> {
    value.as_array().ok_or_else(|| wrong("a list", value))
}

pub(super) fn times(value: &DeValue<'_>) -> Read<Vec<Nanos>> {
    list(value)?.iter().map(|element| time(element.get_ref())).collect()
}

pub(super) fn names(value: &DeValue<'_>) -> Read<Vec<String>> {
    list(value)?.iter().map(|element| text(element.get_ref())).collect()
}

pub(super) fn answer(value: &DeValue<'_>) -> Read<Answer> {
    let text = text(value)?;
    let mut letters = text.chars();
    match (letters.next().and_then(Answer::of), letters.next()) {
        (Some(answer), None) => Ok(answer),
        _ => Err(Bad::new(
            "out_of_range",
            format!("`{}` is no answer", text.escape_debug()),
        )),
    }
}

pub(super) fn answers(value: &DeValue<'_>) -> Read<Answers> {
    if let Some(table) = value.as_table() {
        let mut shares = Vec::new();
        for (key, share) in table {
            let answer = letter(key.get_ref())?;
            let share = number(share.get_ref())?;
            if !(0.0..=1.0).contains(&share) {
                return Err(Bad::new("out_of_range", "a share is a fraction from 0 to 1"));
            }
            shares.push((answer, share));
        }
        if shares.iter().map(|(_, share)| share).sum::<f64>() > 1.0 + 1e-9 {
            return Err(Bad::new("out_of_range", "the shares are more than 1 together"));
        }
        return Ok(Answers::Chance(shares));
    }
    let text = text(value)?;
    let pattern: Option<Vec<_>> = text.chars().map(Answer::of).collect();
    match pattern {
        Some(pattern) if !pattern.is_empty() => Ok(Answers::Turn(pattern)),
        _ => Err(Bad::new(
            "out_of_range",
            format!("`{}` holds something that is no answer", text.escape_debug()),
        )),
    }
}

fn letter(key: &str) -> Read<Answer> {
    let mut letters = key.chars();
    match (letters.next().and_then(Answer::of), letters.next()) {
        (Some(answer), None) => Ok(answer),
        _ => Err(Bad::new(
            "unknown_key",
            format!("`{}` is no answer", key.escape_debug()),
        )),
    }
}

pub(super) fn latency(value: &DeValue<'_>) -> Read<Latency> {
    let Some(table) = value.as_table() else {
        return time(value).map(Latency::Fixed);
    };
    let (median, p99) = (table.get("median"), table.get("p99"));
    if median.is_some() || p99.is_some() {
        let (Some(median), Some(p99), 2) = (median, p99, table.len()) else {
            return Err(Bad::new(
                "missing_key",
                "a latency by chance has `median` and `p99`, and nothing else",
            ));
        };
        let (median, p99) = (span(median.get_ref())?, span(p99.get_ref())?);
        if p99 < median {
            return Err(Bad::new("contradiction", "`p99` is below `median`"));
        }
        return Ok(Latency::Spread { median, p99 });
    }
    let mut by_answer = Vec::new();
    for (key, latency) in table {
        by_answer.push((letter(key.get_ref())?, time(latency.get_ref())?));
    }
    Ok(Latency::ByAnswer(by_answer))
}

/// One of a few words.
pub(super) fn word<T: Copy>(value: &DeValue<'_>, words: &[(&str, T)]) -> Read<T> {
    let text = text(value)?;
    if let Some((_, meant)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*meant);
    }
    let near = resilience_policy::nearest(&text, words.iter().map(|(word, _)| *word));
    let message = format!("`{}` is none of the words that may stand here", text.escape_debug());
    Err(Bad::new("out_of_range", message).suggest(near.map(|near| format!("\"{near}\""))))
}
