//! Moments and durations, as traces write them.

use std::time::Duration;

use jiff::Timestamp;

/// A date of RFC 3339, or seconds: since 1970 or since the trace began.
pub(super) fn moment(text: &str) -> Result<i64, &'static str> {
    const WANTED: &str = "a time is RFC 3339, such as 2026-11-30T18:00:00.250Z, or a number of seconds";
    if let Ok(seconds) = text.parse::<f64>() {
        return seconds_to_nanos(text, seconds).ok_or(WANTED);
    }
    let moment: Timestamp = text.parse().map_err(|_| WANTED)?;
    i64::try_from(moment.as_nanosecond()).map_err(|_| WANTED)
}

/// Whole seconds and their fraction apart: a double has no room for today's nanoseconds.
fn seconds_to_nanos(text: &str, seconds: f64) -> Option<i64> {
    if !seconds.is_finite() || !(-1.0..9e9).contains(&seconds) {
        return None;
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if let (true, Some((whole, fraction))) = (plain, text.split_once('.')) {
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        return whole.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?);
    }
    #[allow(clippy::cast_possible_truncation)] // checked above
    Some((seconds * 1e9).round() as i64)
}

/// `[30/Nov/2026:18:00:00 +0100]` without its brackets.
pub(super) fn of_access_log(text: &str) -> Option<i64> {
    let moment = Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    i64::try_from(moment.as_nanosecond()).ok()
}

/// `150ms`, or a number of seconds.
pub(super) fn latency(text: &str) -> Result<Duration, &'static str> {
    const WANTED: &str = "a latency is a number with a unit, such as 150ms, or a number of seconds";
    if let Ok(seconds) = text.parse::<f64>() {
        return seconds_to_latency(seconds).ok_or(WANTED);
    }
    resilience_policy::parse_duration(text).ok_or(WANTED)
}

pub(super) fn seconds_to_latency(seconds: f64) -> Option<Duration> {
    // A day is more than any call takes; a mistaken unit shows here.
    if !(0.0..=86_400.0).contains(&seconds) {
        return None;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_with_its_offset_and_seconds_since_1970_are_the_same_moment() {
        let dated = moment("2026-11-30T19:00:00.25+01:00").unwrap();
        assert_eq!(moment("2026-11-30T18:00:00.250Z").unwrap(), dated);
        assert_eq!(moment("1796061600.25").unwrap(), dated);
        assert_eq!(
            of_access_log("30/Nov/2026:19:00:00 +0100").unwrap(),
            dated - 250_000_000
        );
    }

    #[test]
    fn seconds_keep_their_nanoseconds() {
        assert_eq!(moment("1796061600.000000001").unwrap() % 1_000_000_000, 1);
        assert_eq!(moment("0.002").unwrap(), 2_000_000);
        assert_eq!(moment("3").unwrap(), 3_000_000_000);
        assert_eq!(moment("1e1").unwrap(), 10_000_000_000);
    }

    #[test]
    fn what_is_no_moment_and_no_latency_is_refused() {
        for text in ["", "noon", "nan", "inf", "-5", "1e300", "2026-11-30", "18:00:00"] {
            assert!(moment(text).is_err(), "{text}");
        }
        for text in ["", "-1", "nan", "fast", "1e9", "5 ms", "ms"] {
            assert!(latency(text).is_err(), "{text}");
        }
        assert_eq!(latency("150ms"), Ok(Duration::from_millis(150)));
        assert_eq!(latency("0.15"), Ok(Duration::from_millis(150)));
        assert_eq!(latency("0"), Ok(Duration::ZERO));
    }
}
