//! What a trace says of one dependency: counts, latencies in health, rates.

use std::collections::BTreeMap;
use std::time::Duration;

use super::advice::{short, three_digits};
use super::statistics::{count, quantile, upper_bound};
use crate::trace::{Call, Seen};

/// A stretch of the trace is judged by itself if it has so many results.
const TELLING: usize = 20;
/// A stretch is sick when its median is so many times that of the whole …
const SICK_MEDIAN: u32 = 2;
/// … or when such a share of its results are failures.
const SICK_SHARE: f64 = 0.25;
/// The rate that slots are sized for is that of the busiest stretch of this length.
const BUSY: i64 = 10_000_000_000;

/// What there is to go by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evidence {
    pub(super) calls: usize,
    pub(super) success: usize,
    pub(super) business: usize,
    /// By kind.
    pub(super) failures: BTreeMap<&'static str, usize>,
    pub(super) throttled: usize,
    pub(super) ignored: usize,
    pub(super) rejected: usize,
    /// From the first call to the last.
    pub(super) span_s: f64,
    /// Calls a second, all instances together, refused ones included.
    pub(super) rate: f64,
    pub(super) busiest_rate: f64,
    pub(super) peak_in_flight: usize,
    pub(super) instances: u32,
    /// Answers (success and business) outside of sick stretches; percentiles and the share below are over these.
    pub(super) answers: usize,
    pub(super) median: Duration,
    pub(super) p99: Duration,
    pub(super) p99_bound: Option<Duration>,
    pub(super) p999: Duration,
    pub(super) p999_bound: Option<Duration>,
    pub(super) longest: Duration,
    /// The share of results that are failures, outside of sick stretches.
    pub(super) failing_in_health: f64,
    /// How long the sick stretches are together, and how many there are one after the other.
    pub(super) sick_s: f64,
    pub(super) outages: usize,
    /// So much of it was sick that there is no telling what health is.
    pub(super) never_well: bool,
    pub(super) keys: usize,
    /// Share of the calls that the busiest key makes.
    pub(super) busiest_key: f64,
}

impl Evidence {
    /// Weighs the calls of one dependency, in order of their beginning.
    pub(super) fn of(calls: &[Call], instances: u32) -> Self {
        let (first, last) = (
            calls.first().map_or(0, |call| call.at),
            calls.last().map_or(0, |call| call.at),
        );
        let span_s = seconds(last - first);
        let tally = |wanted: fn(Seen) -> bool| calls.iter().filter(|call| wanted(call.outcome)).count();
        let mut failures = BTreeMap::new();
        for call in calls {
            if let Seen::Failure(kind) = call.outcome {
                *failures.entry(kind.as_str()).or_default() += 1;
            }
        }
        let health = Health::of(calls, first, span_s);
        let sorted = &health.latencies;
        let keys = keys(calls);
        // What is written into the file has three digits; what follows from it has to fit what is written.
        let over_all = three_digits(rate(calls.len(), span_s));
        Self {
            calls: calls.len(),
            success: tally(|seen| seen == Seen::Success),
            business: tally(|seen| seen == Seen::Business),
            failures,
            throttled: tally(|seen| seen == Seen::Throttled),
            ignored: tally(|seen| seen == Seen::Ignored),
            rejected: tally(|seen| seen == Seen::Rejected),
            span_s,
            rate: over_all,
            busiest_rate: busiest(calls, span_s).max(over_all),
            peak_in_flight: peak(calls),
            instances,
            answers: sorted.len(),
            median: short(quantile(sorted, 0.5)),
            p99: short(quantile(sorted, 0.99)),
            p99_bound: upper_bound(sorted, 0.99).map(short),
            p999: short(quantile(sorted, 0.999)),
            p999_bound: upper_bound(sorted, 0.999).map(short),
            longest: short(sorted.last().copied().unwrap_or_default()),
            failing_in_health: count(health.failed) / count((health.failed + sorted.len()).max(1)),
            sick_s: health.sick_s,
            outages: health.outages,
            never_well: health.never_well,
            keys: keys.len(),
            busiest_key: count(keys.values().copied().max().unwrap_or(0)) / count(calls.len().max(1)),
        }
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.values().sum()
    }

    pub(super) fn per_instance(&self) -> f64 {
        self.rate / f64::from(self.instances)
    }
}

/// What is left of the trace without its sick stretches.
struct Health {
    /// Of answers, sorted.
    latencies: Vec<Duration>,
    failed: usize,
    sick_s: f64,
    outages: usize,
    never_well: bool,
}

impl Health {
    fn of(calls: &[Call], first: i64, span_s: f64) -> Self {
        let mut whole: Vec<Duration> = answers(calls).collect();
        whole.sort_unstable();
        let usual = quantile(&whole, 0.5);
        // A hundred stretches or so, none of them too short to tell.
        let width_s = (span_s / 120.0)
            .max(1.0)
            .max(count(TELLING) / rate(calls.len(), span_s).max(1e-9));
        let stretch = |call: &Call| (seconds(call.at - first) / width_s).floor();
        let mut kept = Self {
            latencies: Vec::with_capacity(whole.len()),
            failed: 0,
            sick_s: 0.0,
            outages: 0,
            never_well: false,
        };
        let mut sick_calls = 0;
        let mut sick_before = None;
        for calls in calls.chunk_by(|left, right| stretch(left) >= stretch(right)) {
            let failed = calls.iter().filter(|call| call.outcome.is_failure()).count();
            if is_sick(calls, failed, usual) {
                let at = stretch(&calls[0]);
                kept.outages += usize::from(sick_before != Some(at - 1.0));
                sick_before = Some(at);
                kept.sick_s += width_s;
                sick_calls += calls.len();
            } else {
                kept.failed += failed;
                kept.latencies.extend(answers(calls));
            }
        }
        if sick_calls * 2 > calls.len() {
            kept.never_well = true;
            kept.failed = calls.iter().filter(|call| call.outcome.is_failure()).count();
            kept.latencies = whole;
            return kept;
        }
        kept.latencies.sort_unstable();
        kept
    }
}

fn is_sick(calls: &[Call], failed: usize, usual: Duration) -> bool {
    let mut latencies: Vec<Duration> = answers(calls).collect();
    let results = failed + latencies.len();
    if results < TELLING / 2 {
        return false;
    }
    if count(failed) >= SICK_SHARE * count(results) {
        return true;
    }
    latencies.sort_unstable();
    quantile(&latencies, 0.5) > usual * SICK_MEDIAN
}

fn answers(calls: &[Call]) -> impl Iterator<Item = Duration> {
    calls
        .iter()
        .filter(|call| call.outcome.is_answer())
        .map(|call| call.latency)
}

/// The gaps between n calls are n − 1.
fn rate(calls: usize, span_s: f64) -> f64 {
    if span_s > 0.0 {
        count(calls.saturating_sub(1)) / span_s
    } else {
        0.0
    }
}

/// The most calls in any ten seconds, as a rate; of a shorter trace its own.
fn busiest(calls: &[Call], span_s: f64) -> f64 {
    let over_all = rate(calls.len(), span_s);
    if span_s <= seconds(BUSY) {
        return over_all;
    }
    let (mut from, mut most) = (0, 0);
    for (at, call) in calls.iter().enumerate() {
        while call.at - calls[from].at >= BUSY {
            from += 1;
        }
        most = most.max(at + 1 - from);
    }
    over_all.max(count(most) / seconds(BUSY))
}

/// The most calls at once; one that ends as another begins makes room first.
fn peak(calls: &[Call]) -> usize {
    let reached = || calls.iter().filter(|call| call.outcome != Seen::Rejected);
    let mut ends: Vec<i64> = reached().map(Call::end).collect();
    ends.sort_unstable();
    let (mut ended, mut most) = (0, 0);
    for (begun, call) in reached().enumerate() {
        while ends.get(ended).is_some_and(|end| *end <= call.at) {
            ended += 1;
        }
        // Calls of no length have ended before they are counted.
        most = most.max((begun + 1).saturating_sub(ended));
    }
    most
}

fn keys(calls: &[Call]) -> BTreeMap<u32, usize> {
    let mut keys = BTreeMap::new();
    for key in calls.iter().filter_map(|call| call.key) {
        *keys.entry(key).or_default() += 1;
    }
    keys
}

#[allow(clippy::cast_precision_loss)] // shown with three digits
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at_ms: i64, latency_ms: u64, outcome: Seen) -> Call {
        Call {
            at: at_ms * 1_000_000,
            latency: Duration::from_millis(latency_ms),
            outcome,
            dependency: None,
            key: None,
            instance: None,
            repeats: false,
        }
    }

    #[test]
    fn in_flight_is_counted_by_beginning_and_end() {
        let calls = [
            call(0, 10, Seen::Success),
            call(5, 10, Seen::Success),
            call(10, 1, Seen::Success),
        ];
        assert_eq!(peak(&calls), 2);
        assert_eq!(peak(&[call(0, 10, Seen::Rejected)]), 0);
    }

    /// 100 calls/s for 60 s, of which ten seconds answer in 900 ms instead of 150.
    #[test]
    fn a_sick_stretch_is_left_out_of_what_health_looks_like() {
        let calls: Vec<_> = (0..6_000)
            .map(|at| {
                let slow = (20_000..30_000).contains(&(at * 10));
                call(at * 10, if slow { 900 } else { 150 }, Seen::Success)
            })
            .collect();
        let evidence = Evidence::of(&calls, 2);
        assert_eq!((evidence.calls, evidence.answers), (6_000, 5_000));
        assert_eq!(evidence.longest, Duration::from_millis(150));
        assert!((evidence.sick_s - 10.0).abs() < 1e-9);
        assert_eq!((evidence.outages, evidence.never_well), (1, false));
        assert_eq!(evidence.peak_in_flight, 90);
        assert!((evidence.per_instance() - 50.0).abs() < 0.01, "{}", evidence.rate);
    }

    #[test]
    fn where_most_is_sick_nothing_is_left_out() {
        let calls: Vec<_> = (0..1_000)
            .map(|at| {
                let failed = at % 3 == 0;
                let seen = if failed {
                    Seen::Failure(resilience_policy::FailureKind::Server)
                } else {
                    Seen::Success
                };
                call(at * 100, 20, seen)
            })
            .collect();
        let evidence = Evidence::of(&calls, 1);
        assert!(evidence.never_well);
        assert!((evidence.failing_in_health - 0.334).abs() < 1e-9);
    }
}
