//! Durations and windows: their spelling in the file, read and written.

use std::fmt::Write as _;
use std::time::Duration;

use crate::policy::{Value, Window};

const NANOS: [(&str, u128); 5] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
];

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotADuration {
    /// A number without a unit.
    NoUnit,
    /// Below zero.
    Negative,
    /// More than can be counted.
    TooLong,
    /// Anything else.
    Spelling,
}

/// Reads `"1m30s"`: numbers with one of `us ms s m h`, larger units first, nothing else.
pub(crate) fn duration(text: &str) -> Result<Duration, NotADuration> {
    if let Some(rest) = text.strip_prefix('-') {
        return Err(match duration(rest) {
            Ok(_) | Err(NotADuration::NoUnit) => NotADuration::Negative,
            Err(why) => why,
        });
    }
    if text.is_empty() {
        return Err(NotADuration::Spelling);
    }
    let mut nanos: u128 = 0;
    let mut next_unit = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if unit.is_empty() && tail.is_empty() && rest.len() == text.len() && number.parse::<f64>().is_ok() {
            return Err(NotADuration::NoUnit);
        }
        let at = NANOS
            .iter()
            .position(|(name, _)| *name == unit)
            .ok_or(NotADuration::Spelling)?;
        if at < next_unit {
            return Err(NotADuration::Spelling);
        }
        next_unit = at + 1;
        let part = scaled(number, NANOS[at].1)?;
        nanos = nanos.checked_add(part).ok_or(NotADuration::TooLong)?;
        rest = tail;
    }
    from_nanos(nanos)
}

/// Reads a duration as the file writes it: `1m30s`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    duration(text).ok()
}

/// `number × unit` in whole nanoseconds; exact, so that equal spellings are equal values.
fn scaled(number: &str, unit: u128) -> Result<u128, NotADuration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(NotADuration::Spelling);
    }
    let whole: u128 = whole.parse().map_err(|_| NotADuration::TooLong)?;
    let mut nanos = whole.checked_mul(unit).ok_or(NotADuration::TooLong)?;
    let mut scale = unit;
    for digit in fraction.bytes() {
        scale /= 10;
        nanos += u128::from(digit - b'0') * scale;
    }
    Ok(nanos)
}

fn from_nanos(nanos: u128) -> Result<Duration, NotADuration> {
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| NotADuration::TooLong)
}

/// Writes a duration as the file would: `1m30s`, `400ms`.
pub fn format_duration(duration: Duration) -> String {
    let mut nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".into();
    }
    let mut out = String::new();
    for (unit, size) in NANOS {
        let count = nanos / size;
        if count > 0 {
            let _ = write!(out, "{count}{unit}");
            nanos %= size;
        }
    }
    if nanos > 0 {
        // Below a microsecond the file has no unit of its own, only a fraction; the last whole part takes it.
        let last = if out.ends_with("us") {
            out.rfind(|c: char| !c.is_ascii_digit() && c != 'u' && c != 's')
        } else {
            None
        };
        let start = if out.ends_with("us") {
            last.map_or(0, |at| at + 1)
        } else {
            out.len()
        };
        let whole = out.split_off(start);
        let whole = if whole.is_empty() {
            "0"
        } else {
            whole.trim_end_matches("us")
        };
        let fraction = format!("{nanos:03}");
        let _ = write!(out, "{whole}.{}us", fraction.trim_end_matches('0'));
    }
    out
}

/// What a text that is no duration probably means, in our spelling.
pub(crate) fn propose_duration(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(clock) = clock_face(text) {
        return Some(clock);
    }
    let lower = text.replace(['µ', 'μ'], "u").to_ascii_lowercase();
    let iso = lower
        .strip_prefix("pt")
        .or_else(|| lower.strip_prefix('p'))
        .unwrap_or(&lower);
    let mut nanos: u128 = 0;
    let mut rest = iso.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let size = match unit {
            "us" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" => 1_000,
            "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000_000,
            "d" | "day" | "days" | "t" => 86_400_000_000_000,
            _ => return None,
        };
        nanos = nanos.checked_add(scaled(number, size).ok()?)?;
        rest = tail.trim_start();
    }
    from_nanos(nanos).ok().map(format_duration)
}

/// `00:00:30`, as other languages write 30 seconds.
pub(crate) fn clock_face(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else {
        return None;
    };
    let nanos =
        scaled(hours, NANOS[0].1).ok()? + scaled(minutes, NANOS[1].1).ok()? + scaled(seconds, NANOS[2].1).ok()?;
    [hours, minutes, seconds]
        .iter()
        .all(|part| part.chars().all(|c| c.is_ascii_digit() || c == '.'))
        .then(|| from_nanos(nanos).ok().map(format_duration))?
}

/// Reads `"20 calls"`.
pub(crate) fn calls(text: &str) -> Option<Result<u32, ()>> {
    let number = text.strip_suffix(" calls").or_else(|| text.strip_suffix(" call"))?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let count = number.replace('_', "").parse::<u32>().unwrap_or(u32::MAX);
    Some(if (1..=100_000).contains(&count) {
        Ok(count)
    } else {
        Err(())
    })
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Calls(calls) => write!(f, "{calls} calls"),
            Self::Time(time) => f.write_str(&format_duration(*time)),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_has_one_exact_value() {
        for (text, nanos) in [
            ("400ms", 400_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1h30m", 5_400_000_000_000),
            ("500us", 500_000),
            ("0s", 0),
            ("0.5us", 500),
        ] {
            assert_eq!(duration(text).map(|d| d.as_nanos()), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "", " 30s ", "30 s", "30S", "PT30S", "1d", "1M", "5min", "500µs", "s", "1s1m", "1s1s", "1..5s", ".5s",
            "1.s",
        ] {
            assert_eq!(duration(text), Err(NotADuration::Spelling), "{text}");
        }
        assert_eq!(duration("30"), Err(NotADuration::NoUnit));
        assert_eq!(duration("-1s"), Err(NotADuration::Negative));
        assert_eq!(
            duration("99999999999999999999999999999999999999999h"),
            Err(NotADuration::TooLong)
        );
    }

    #[test]
    fn a_duration_is_written_so_that_it_reads_back() {
        for nanos in [
            1,
            500,
            999_999,
            1_000_001,
            1_500_000_000,
            90_000_000_000,
            86_400_000_000_000,
            61_001_001_001,
        ] {
            let written = format_duration(Duration::from_nanos(nanos));
            assert_eq!(duration(&written), Ok(Duration::from_nanos(nanos)), "{written}");
        }
        assert_eq!(format_duration(Duration::from_secs(90)), "1m30s");
        assert_eq!(format_duration(Duration::ZERO), "0s");
    }

    #[test]
    fn foreign_spellings_get_ours() {
        for (text, ours) in [
            ("PT30S", "30s"),
            ("30 sec", "30s"),
            ("30S", "30s"),
            ("00:00:30", "30s"),
            ("5min", "5m"),
            ("1d", "24h"),
            ("1M", "1m"),
            ("500µs", "500us"),
            ("500μs", "500us"),
            (" 30s ", "30s"),
        ] {
            assert_eq!(propose_duration(text).as_deref(), Some(ours), "{text}");
        }
        assert_eq!(propose_duration("soon"), None);
    }
}
