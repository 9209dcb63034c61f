//! A date-time of TOML as a moment.

use std::time::{Duration, SystemTime};

use toml::Spanned;
use toml::de::DeValue;

use crate::fault::FaultName;
use crate::name::shown;
use crate::value::type_of;

/// A date-time of TOML, or a text that is one.
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

/// Days since 1970-01-01 of a date of the Gregorian calendar: Howard Hinnant's algorithm, years counted from March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
