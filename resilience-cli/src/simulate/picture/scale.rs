//! Round numbers for axes, and how they are written.

/// The least of 1, 2, 2.5, 5 times a power of ten that is not below.
pub(super) fn nice(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    // What touches the frame looks cut off.
    let wanted = most * 1.04;
    let found = steps.into_iter().map(|step| step * power).find(|step| *step >= wanted);
    found.unwrap_or(12.0 * power)
}

/// Seconds between two marks of time, at most so many of them.
pub(super) fn time_step(seconds: f64, most: f64) -> f64 {
    const STEPS: [f64; 22] = [
        0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0,
        21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    ];
    STEPS
        .into_iter()
        .find(|step| seconds / step <= most)
        .unwrap_or(1_209_600.0)
}

/// A mark of time, in the unit that the step is whole in.
pub(super) fn time(at: f64, step: f64) -> String {
    if step >= 86_400.0 {
        format!("{:.0}d", at / 86_400.0)
    } else if step >= 3600.0 {
        format!("{:.0}h", at / 3600.0)
    } else if step >= 60.0 {
        format!("{:.0}m", at / 60.0)
    } else if step >= 1.0 {
        format!("{at:.0}s")
    } else {
        format!("{at:.1}s")
    }
}

/// A value on an axis.
pub(super) fn number(value: f64) -> String {
    if value >= 100.0 || value.fract() < 1e-9 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and positive
        return grouped(value.round() as u64);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Milliseconds, from a second on in seconds.
pub(super) fn millis(value: f64) -> String {
    if value >= 1000.0 {
        format!("{} s", number(value / 1000.0))
    } else {
        format!("{} ms", number(value))
    }
}

/// `12,034`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers_above_what_they_show() {
        for (most, axis) in [
            (500.0, 600.0),
            (75.0, 80.0),
            (0.02, 0.025),
            (1.0, 1.2),
            (0.0, 1.0),
            (980.0, 1200.0),
        ] {
            assert!((nice(most) - axis).abs() < 1e-9 * axis, "{most}: {}", nice(most));
        }
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(100), "100");
        assert_eq!(
            (number(0.025).as_str(), number(12.5).as_str(), number(1200.0).as_str()),
            ("0.025", "12.5", "1,200")
        );
        assert_eq!((millis(150.0).as_str(), millis(1500.0).as_str()), ("150 ms", "1.5 s"));
        assert_eq!(
            (time(90.0, 30.0).as_str(), time(7200.0, 3600.0).as_str()),
            ("90s", "2h")
        );
    }
}
