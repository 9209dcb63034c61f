//! The last two minutes of one dependency, a point a second, for the sparkline.

use std::collections::VecDeque;

use resilience_runtime::DependencySnapshot;
use serde::{Serialize, Serializer};

use crate::card::Served;

/// Seconds that are kept.
const KEPT: usize = 120;

/// What one second was like.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    at: f64,
    calls: Served,
    failure_rate: Option<f64>,
    slow_rate: Option<f64>,
    bad_rate: Option<f64>,
    state: Option<&'static str>,
}

/// Written as `[at, primary, fallback, stale, error, failure rate, slow rate, bad rate, state]`: there are many of them.
impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let calls = self.calls;
        (
            self.at,
            calls.primary,
            calls.fallback,
            calls.stale,
            calls.error,
            self.failure_rate,
            self.slow_rate,
            self.bad_rate,
            self.state,
        )
            .serialize(serializer)
    }
}

/// The points of one dependency.
#[derive(Debug, Default)]
pub(crate) struct Series {
    totals: Option<Served>,
    points: VecDeque<Point>,
}

impl Series {
    /// Notes the second that ends now. Of the first one nobody knows what was before it.
    pub(crate) fn note(&mut self, at: f64, dependency: &DependencySnapshot) {
        self.add(Point {
            at: (at * 10.0).round() / 10.0,
            calls: Served::of(dependency),
            failure_rate: dependency.failure_rate,
            slow_rate: dependency.slow_rate,
            bad_rate: dependency.bad_rate,
            state: dependency.state,
        });
    }

    /// Takes a point whose calls are totals.
    fn add(&mut self, point: Point) {
        let Some(before) = self.totals.replace(point.calls) else {
            return;
        };
        if self.points.len() == KEPT {
            self.points.pop_front();
        }
        self.points.push_back(Point {
            calls: point.calls.since(before),
            ..point
        });
    }

    pub(crate) fn points(&self) -> impl Serialize + use<> {
        self.points.iter().copied().collect::<Vec<_>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u32, primary: u64, error: u64, failure_rate: Option<f64>) -> Point {
        Point {
            at: f64::from(second),
            calls: Served {
                primary,
                error,
                ..Served::default()
            },
            failure_rate,
            slow_rate: None,
            bad_rate: None,
            state: Some("closed"),
        }
    }

    #[test]
    fn a_point_is_what_one_second_added() {
        let mut series = Series::default();
        series.add(at(1, 100, 0, None));
        series.add(at(2, 103, 1, Some(0.25)));
        let written = serde_json::to_string(&series.points()).expect("plain numbers");
        assert_eq!(written, r#"[[2.0,3,0,0,1,0.25,null,null,"closed"]]"#);
    }

    #[test]
    fn two_minutes_are_kept_and_no_more() {
        let mut series = Series::default();
        for second in 0..1_000 {
            series.add(at(second, u64::from(second), 0, None));
        }
        assert_eq!(series.points.len(), KEPT);
        assert_eq!(series.points.back().map(|point| point.calls.primary), Some(1));
    }
}
