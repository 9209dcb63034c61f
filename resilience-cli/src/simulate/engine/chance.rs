//! Chance that is asked for: the same seed gives the same draws, whatever happens to other calls.

use crate::simulate::scenario::{Nanos, SECOND};

/// The finalizer of `SplitMix64`: a number that looks like none of its neighbours.
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A draw of its own for each list of facts.
pub(super) fn draw(facts: &[u64]) -> u64 {
    facts.iter().fold(0, |state, fact| mix(state ^ mix(*fact)))
}

/// Uniform in [0, 1).
#[allow(clippy::cast_precision_loss)] // 53 bits fit
pub(super) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// The distance to the next of `rate` arrivals a second that know nothing of each other.
pub(super) fn exponential(unit: f64, rate: f64) -> Nanos {
    nanos(-(1.0 - unit).ln() / rate)
}

/// Lognormal, by its median and its 99th percentile, in nanoseconds.
#[allow(clippy::cast_precision_loss)]
pub(super) fn lognormal(draw: u64, median: Nanos, p99: Nanos) -> Nanos {
    /// The standard normal's own 99th percentile.
    const Z99: f64 = 2.326_347_874_040_841;
    let sigma = (p99 as f64 / median as f64).ln() / Z99;
    // Box and Muller: two uniform draws make a normal one.
    let (first, second) = (unit(mix(draw)), unit(mix(draw ^ 0x5DEE_CE66)));
    let normal = (-2.0 * (1.0 - first).ln()).sqrt() * (std::f64::consts::TAU * second).cos();
    nanos(median as f64 / SECOND as f64 * (sigma * normal).exp())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float to integer cast is cut at both ends
fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lognormal_draws_have_the_median_and_the_percentile_that_were_asked_for() {
        let mut drawn: Vec<_> = (0..100_000)
            .map(|n| lognormal(draw(&[7, n]), 150_000_000, 400_000_000))
            .collect();
        drawn.sort_unstable();
        #[allow(clippy::cast_precision_loss)]
        let near = |at: usize, wanted: f64| (drawn[at] as f64 / wanted - 1.0).abs() < 0.03;
        assert!(near(50_000, 150e6) && near(99_000, 400e6));
    }
}
