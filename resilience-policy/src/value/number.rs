//! Counts, rates and factors against their ranges.

use super::{Draft, placeholder, wrong};
use crate::fault::FaultName;
use crate::name::shown;
use crate::policy::Value;
use crate::reference::{Key, Kind, Range};

pub(super) fn integer(key: &Key, text: &str) -> Result<Value, Draft> {
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

pub(super) fn number(key: &Key, text: &str, range: Range) -> Result<Value, Draft> {
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

pub(super) fn outside(key: &Key, text: &str) -> Draft {
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

pub(super) fn quoted(key: &Key, text: &str) -> Draft {
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
