//! A date-time of TOML as a moment.

use std::time::{Duration, SystemTime};

use toml::Spanned;
use toml::de::DeValue;

use crate::fault::FaultName;
use crate::name::shown;
use crate::value::type_of;

/// A date-time of TOML, or a text that is one.
#[inline]
pub(super) fn moment(value: &Spanned<DeValue<'_>>) -> Result<SystemTime, (FaultName, String)> {
    let written = match value.get_ref() {
        DeValue::Datetime(moment) => *moment,
        DeValue::String(text) => text.parse::<toml_datetime::Datetime>().map_err(|_| {
            (
                FaultName::WrongType,
                format!(
                    "`{}` is no date and time; write one such as 2026-11-30T18:00:00Z",
                    shown(text)
                ),
            )
        })?,
        other => {
            return Err((
                FaultName::WrongType,
                format!("`until` is a date and time, not {}", type_of(other)),
            ));
        }
    };
    let (Some(date), Some(time)) = (written.date, written.time) else {
        return Err((FaultName::WrongType, "`until` needs a date and a time".into()));
    };
    let Some(offset) = written.offset else {
        return Err((
            FaultName::OutOfRange,
            "`until` needs its offset, such as `Z` or `+02:00`: nobody knows whose clock is meant".into(),
        ));
    };
    let minutes = match offset {
        toml_datetime::Offset::Z => 0,
        toml_datetime::Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_from_civil(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let seconds = days * 86_400
        + i64::from(time.hour) * 3600
        + (i64::from(time.minute) - minutes) * 60
        + i64::from(time.second.unwrap_or(0));
    let since = Duration::new(seconds.unsigned_abs(), time.nanosecond.unwrap_or(0));
    let moment = if seconds >= 0 {
        SystemTime::UNIX_EPOCH.checked_add(since)
    } else {
        SystemTime::UNIX_EPOCH.checked_sub(since)
    };
    moment.ok_or_else(|| {
        (
            FaultName::OutOfRange,
            "`until` lies beyond what a clock can hold".into(),
        )
    })
}

/// In UTC and whole seconds. Before 1970 and after the year 9999 the notation knows only its ends.
#[inline]
pub(super) fn written(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs().min(253_402_300_799);
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date that is so many days after 1970-01-01: the inverse of [`days_from_civil`], from the same source.
#[inline]
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar: Howard Hinnant's algorithm, years counted from March.
#[inline]
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> String {
        written(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn a_moment_is_written_as_its_date_and_its_time() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_796_061_661, "2026-11-30T18:01:01Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(at(seconds), text);
        }
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(written(before), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn every_day_until_the_last_that_can_be_written_is_read_back() {
        for day in 0..253_402_300_800 / 86_400 {
            let (year, month, date) = civil_from_days(day);
            let back = days_from_civil(year.cast_signed(), month.cast_signed(), date.cast_signed());
            assert_eq!(back, day.cast_signed());
        }
    }
}
