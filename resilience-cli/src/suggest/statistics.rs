//! What a sample says of its source: percentiles, how sure they are, and chance.

use std::time::Duration;

/// How sure an upper bound is.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The nearest rank: the least value that a share of `q` does not exceed.
pub(super) fn quantile(sorted: &[Duration], q: f64) -> Duration {
    let rank = (q * count(sorted.len())).ceil();
    sorted.get(index(rank).saturating_sub(1)).copied().unwrap_or_default()
}

/// A value of the sample that the source's own quantile does not exceed, with a confidence of 95 %, whatever its
/// distribution: how many of `n` draws lie above the quantile is binomial. `None` while the sample is too small for any.
pub(super) fn upper_bound(sorted: &[Duration], q: f64) -> Option<Duration> {
    let above = draws_above(sorted.len(), 1.0 - q);
    let at = sorted.len().checked_sub(above).filter(|_| above > 0)?;
    sorted.get(at).copied()
}

/// The least sample for which [`upper_bound`] has an answer: the longest of so many lies above the quantile.
pub(super) fn needed(q: f64) -> usize {
    index(((1.0 - CONFIDENCE).ln() / q.ln()).ceil())
}

/// The most draws that lie above the quantile with the confidence wanted, when a draw does so with `chance`.
fn draws_above(draws: usize, chance: f64) -> usize {
    let n = count(draws);
    let expected = n * chance;
    if expected > 500.0 {
        // The normal curve is good enough by now, and the sum below would lose itself in tiny numbers.
        return index((expected - 1.645 * (expected * (1.0 - chance)).sqrt()).floor());
    }
    let mut exactly = (n * (-chance).ln_1p()).exp();
    let mut at_most = exactly;
    let mut above = 0;
    while at_most <= 1.0 - CONFIDENCE && above < draws {
        let k = count(above);
        exactly *= (n - k) / (k + 1.0) * chance / (1.0 - chance);
        at_most += exactly;
        above += 1;
    }
    above
}

/// The chance that of `n` calls at least `k` fail, when each fails with `p`.
pub(super) fn chance_of_at_least(k: u32, n: u32, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    let mut log_of_choices = 0.0;
    let mut sum = 0.0;
    for failed in 0..=n {
        if failed >= k {
            sum += (log_of_choices + f64::from(failed) * p.ln() + f64::from(n - failed) * (-p).ln_1p()).exp();
        }
        log_of_choices += (f64::from(n - failed) / f64::from(failed + 1)).ln();
    }
    sum.min(1.0)
}

#[allow(clippy::cast_precision_loss)] // counts of records stay far below 2⁵³
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, and not below zero
fn index(number: f64) -> usize {
    number.max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(numbers: std::ops::RangeInclusive<u64>) -> Vec<Duration> {
        numbers.map(Duration::from_millis).collect()
    }

    #[test]
    fn the_nearest_rank_is_a_value_of_the_sample() {
        let sample = millis(1..=1000);
        assert_eq!(quantile(&sample, 0.5), Duration::from_millis(500));
        assert_eq!(quantile(&sample, 0.99), Duration::from_millis(990));
        assert_eq!(quantile(&sample, 1.0), Duration::from_secs(1));
        assert_eq!(quantile(&millis(7..=7), 0.99), Duration::from_millis(7));
    }

    /// 0.99²⁹⁹ is the first power below 0.05.
    #[test]
    fn the_longest_of_299_is_the_first_bound_of_the_99th_percentile() {
        assert_eq!((needed(0.99), needed(0.999)), (299, 2995));
        assert_eq!(upper_bound(&millis(1..=298), 0.99), None);
        assert_eq!(upper_bound(&millis(1..=299), 0.99), Some(Duration::from_millis(299)));
        // 473 is the least sample whose second longest will do.
        assert_eq!(upper_bound(&millis(1..=472), 0.99), Some(Duration::from_millis(472)));
        assert_eq!(upper_bound(&millis(1..=473), 0.99), Some(Duration::from_millis(472)));
    }

    /// Drawn over and over, the bound is below the true percentile about once in twenty.
    #[test]
    fn the_bound_holds_19_times_in_20() {
        let mut random = fastrand::Rng::with_seed(1);
        for n in [300, 2_000, 60_000] {
            // The last is on the other side of the change of formula.
            let rounds = if n > 10_000 { 20 } else { 300 };
            let missed = (0..rounds)
                .filter(|_| {
                    let mut sample: Vec<_> = (0..n).map(|_| Duration::from_secs_f64(random.f64())).collect();
                    sample.sort();
                    upper_bound(&sample, 0.99).unwrap() < Duration::from_secs_f64(0.99)
                })
                .count();
            assert!(missed * 100 <= rounds * 10, "{n}: {missed} of {rounds}");
        }
    }

    #[test]
    fn chance_is_that_of_the_binomial_distribution() {
        let near = |left: f64, right: f64| (left - right).abs() < 1e-9;
        assert!(near(chance_of_at_least(1, 1, 0.3), 0.3));
        assert!(near(chance_of_at_least(1, 20, 0.01), 1.0 - 0.99_f64.powi(20)));
        assert!(near(chance_of_at_least(2, 2, 0.5), 0.25));
        assert!(near(chance_of_at_least(0, 5, 0.0), 1.0));
        assert!(near(chance_of_at_least(3, 5, 0.0), 0.0));
        assert!(chance_of_at_least(50, 100, 0.01) < 1e-60);
    }
}
