//! What comes of the evidence: numbers with their reasons, what is refused and why, and the verdict.

use std::time::Duration;

use resilience_policy::format_duration;
use toml_edit::Value;

/// What is to stand around the dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Evidence for both.
    Breaker,
    /// A breaker would have nothing to go by, or nothing to count.
    BulkheadOnly,
    /// There is a breaker to be had, and not enough evidence to size it.
    Thin,
}

impl Verdict {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::BulkheadOnly => "bulkhead",
            Self::Thin => "thin_evidence",
        }
    }
}

/// One number.
#[derive(Debug, Clone)]
pub(super) struct Suggestion {
    /// Below the dependency: `breaker.window`.
    pub(super) key: &'static str,
    pub(super) value: Number,
    /// What holds now, in the file's notation.
    pub(super) old: Option<String>,
    /// The rule and where it is from, with the figures in it.
    pub(super) reason: String,
    /// The same in a few words, for the file.
    pub(super) short: String,
    pub(super) evidence: Vec<(&'static str, f64)>,
}

/// A number that there is too little evidence for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) key: &'static str,
    pub(super) reason: String,
    pub(super) have: f64,
    pub(super) need: f64,
}

/// A number of the policy that the evidence does not speak against.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) key: &'static str,
    pub(super) value: String,
    pub(super) suggested: String,
}

/// A suggested value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Time(Duration),
    Count(u32),
    Rate(f64),
    Calls(u32),
}

impl Number {
    /// As it stands in the file.
    pub(super) fn to_toml(self) -> Value {
        match self {
            Self::Time(time) => written(time).into(),
            Self::Count(count) => i64::from(count).into(),
            Self::Rate(rate) => rate.into(),
            Self::Calls(calls) => format!("{calls} calls").into(),
        }
    }

    /// As `explain` has it in JSON: durations are seconds.
    pub(super) fn to_json(self) -> serde_json::Value {
        match self {
            Self::Time(time) => time.as_secs_f64().into(),
            Self::Count(count) => count.into(),
            Self::Rate(rate) => rate.into(),
            Self::Calls(calls) => format!("{calls} calls").into(),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(time) => f.write_str(&written(*time)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Calls(calls) => write!(f, "{calls} calls"),
        }
    }
}

/// Everything that is said of one dependency.
#[derive(Debug, Clone)]
pub(super) struct Advice {
    pub(super) verdict: Verdict,
    /// The verdict in a sentence.
    pub(super) because: String,
    pub(super) suggestions: Vec<Suggestion>,
    pub(super) kept: Vec<Kept>,
    pub(super) refused: Vec<Refused>,
    pub(super) notes: Vec<String>,
    /// The policy has a breaker that the evidence is too thin for.
    pub(super) drop_breaker: bool,
}

/// A duration with two digits that is not shorter: nobody believes in 613.7 ms.
pub(super) fn round_up(time: Duration) -> Duration {
    let nanos = time.as_nanos();
    let mut step: u128 = 1_000;
    while step * 100 <= nanos {
        step *= 10;
    }
    // From a minute on, what people read is whole seconds.
    let rounded = nanos.div_ceil(step) * step;
    let whole = if rounded >= 100_000_000_000 {
        rounded.div_ceil(1_000_000_000) * 1_000_000_000
    } else {
        rounded
    };
    Duration::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX))
}

/// As a person would write it: `8.5s` where the canonical form is `8s500ms`.
pub(super) fn written(time: Duration) -> String {
    let (whole, rest) = (time.as_secs(), time.subsec_nanos());
    if (1..60).contains(&whole) && rest > 0 {
        let fraction = format!("{rest:09}");
        return format!("{whole}.{}s", fraction.trim_end_matches('0'));
    }
    let millis = time.as_millis();
    if whole == 0 && millis > 0 && rest % 1_000_000 > 0 {
        let fraction = format!("{:06}", rest % 1_000_000);
        return format!("{millis}.{}ms", fraction.trim_end_matches('0'));
    }
    format_duration(time)
}

/// Three digits are enough of a latency; one that took no time at all took a microsecond.
pub(super) fn short(time: Duration) -> Duration {
    let micros = time.as_micros();
    let mut step = 1;
    while step * 1000 <= micros {
        step *= 10;
    }
    let rounded = ((micros + step / 2) / step * step).max(1);
    Duration::from_micros(u64::try_from(rounded).unwrap_or(u64::MAX))
}

/// A rate with three digits.
pub(super) fn three_digits(rate: f64) -> f64 {
    if rate <= 0.0 {
        return rate;
    }
    #[allow(clippy::cast_possible_truncation)] // the exponent of a double has three digits
    let digits = 2 - rate.log10().floor() as i32;
    let scale = 10_f64.powi(digits);
    let rounded = (rate * scale).round() / scale;
    // Binary fractions: 0.30000000000000004 is not three digits.
    format!("{rounded:.*}", usize::try_from(digits.max(0)).unwrap_or(0))
        .parse()
        .unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_to_two_digits() {
        for (from, to) in [
            (613_700, "620ms"),
            (150_000, "150ms"),
            (1_001_000, "1.1s"),
            (61_000_000, "1m1s"),
            (95_500_000, "1m36s"),
            (1_234, "1.3ms"),
        ] {
            assert_eq!(written(round_up(Duration::from_micros(from))), to, "{from}");
        }
        assert_eq!(written(round_up(Duration::from_secs(125))), "2m10s");
    }

    #[test]
    fn rates_are_rounded_to_three_digits() {
        for (from, to) in [(499.973, 500.0), (0.019_87, 0.0199), (1234.0, 1230.0), (0.3, 0.3)] {
            assert!((three_digits(from) - to).abs() < 1e-12, "{from}");
        }
    }
}
