//! When the calls of each stream begin.

use super::chance::{draw, exponential, unit};
use crate::simulate::scenario::{Arrivals, Keys, Nanos, RecordedCall, SECOND, Scenario};

/// Where each stream is.
#[derive(Debug)]
pub(super) struct Streams(Vec<Stream>);

#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// The number of the next call.
    next: u64,
    /// Arrivals by chance: when the last one was.
    last: Nanos,
    /// Calls that were made, fresh starts of impatient callers included.
    pub(super) made: u64,
    pub(super) sold: u64,
    pub(super) sold_out: bool,
}

impl Streams {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self(vec![Stream::default(); scenario.callers.len()])
    }

    pub(super) fn of(&mut self, caller: usize) -> &mut Stream {
        &mut self.0[caller]
    }

    /// When the next call of a stream begins, if there is one.
    pub(super) fn next(&mut self, scenario: &Scenario, caller: usize) -> Option<Nanos> {
        let described = &scenario.callers[caller];
        let stream = &mut self.0[caller];
        let number = stream.next;
        stream.next += 1;
        let at = match &described.arrivals {
            Arrivals::Rate(rate) => described.from.checked_add(evenly(number, *rate))?,
            Arrivals::Every(every) => described.from.checked_add(every.checked_mul(number)?)?,
            Arrivals::Burst(count) => (number < *count).then_some(described.from)?,
            Arrivals::Poisson(rate) => {
                let drawn = unit(draw(&[scenario.seed, caller as u64, number, 3]));
                let base = if number == 0 { described.from } else { stream.last };
                stream.last = base.checked_add(exponential(drawn, *rate))?;
                stream.last
            }
            Arrivals::Recorded(calls) => calls.get(usize::try_from(number).ok()?)?.at,
        };
        (at < described.to.min(scenario.duration) && !stream.sold_out).then_some(at)
    }
}

/// `floor(number × 10⁹ ÷ rate)`, exact where the rate is a whole number.
fn evenly(number: u64, rate: f64) -> Nanos {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::float_cmp)]
    let whole = rate as u64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // a rate is at most 10⁹
    if whole > 0 && whole as f64 == rate {
        return u64::try_from(u128::from(number) * u128::from(SECOND) / u128::from(whole)).unwrap_or(Nanos::MAX);
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let at = (number as f64 * SECOND as f64 / rate).floor() as Nanos;
    at
}

/// The key of the call with this number.
pub(super) fn key(keys: Keys, number: u64, drawn: u64, recorded: Option<RecordedCall>) -> Option<u64> {
    if let Some(key) = recorded.and_then(|call| call.key) {
        return Some(key);
    }
    match keys {
        Keys::None => None,
        Keys::Turn(count) => Some(number % count),
        Keys::Fixed(key) => Some(key),
        Keys::Rank(count) => Some(by_rank(count, drawn)),
    }
}

/// The n-th of `count` keys has weight 1 ÷ n, in whole millionths so that every machine draws the same.
fn by_rank(count: u64, drawn: u64) -> u64 {
    let weight = |rank: u64| 1_000_000 / rank;
    let all: u64 = (1..=count).map(weight).sum();
    let mut place = drawn % all.max(1);
    for rank in 1..=count {
        if place < weight(rank) {
            return rank - 1;
        }
        place -= weight(rank);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_evenly_spaced_and_cut_to_whole_nanoseconds() {
        assert_eq!((evenly(0, 1500.0), evenly(1, 1500.0)), (0, 666_666));
        assert_eq!(evenly(45_000, 1500.0), 30 * SECOND);
        assert_eq!(evenly(7, 0.1), 70 * SECOND);
        assert_eq!(evenly(1_000_000_000, 300.0), 3_333_333_333_333_333);
    }
}
