//! What a run gives, in the shape of the JSON output. Times are seconds as numbers.

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::scenario::{Nanos, SECOND};

/// Everything that a run gives.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) name: String,
    /// None where nothing was guarded.
    pub(crate) policy_hash: Option<String>,
    /// By caller, in the order of the file.
    #[serde(serialize_with = "by_name")]
    pub(crate) summary: Vec<(String, Summary)>,
    pub(crate) phases: Vec<PhaseSummary>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) looks: Vec<Look>,
    pub(crate) seconds: Seconds,
}

/// One caller in one phase.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PhaseSummary {
    pub(crate) name: String,
    pub(crate) caller: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
}

/// Who answered calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Served {
    pub(crate) primary: u64,
    pub(crate) fallback: u64,
    pub(crate) stale: u64,
    pub(crate) error: u64,
}

/// What happened in a stretch of time. `reached` and `probes` count attempts, all else calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) arrived: u64,
    pub(crate) ok: u64,
    pub(crate) business: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    pub(crate) rejected: BTreeMap<&'static str, u64>,
    pub(crate) left: u64,
    pub(crate) served: Served,
    pub(crate) reached: u64,
    pub(crate) probes: u64,
}

impl Counts {
    pub(crate) fn rejections(&self) -> u64 {
        self.rejected.values().sum()
    }
}

/// How many there are at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Gauges {
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
    pub(crate) pool_used: u64,
    pub(crate) pool_waiting: u64,
}

/// Results as the breakers took them. A slow one is a success or a failure, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
    pub(crate) success: u64,
    pub(crate) failure: u64,
    pub(crate) slow: u64,
    pub(crate) ignored: u64,
    pub(crate) late: u64,
}

/// One caller over one stretch of time, with the gauges at its end.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Summary {
    #[serde(flatten)]
    pub(crate) counts: Counts,
    #[serde(flatten)]
    pub(crate) gauges: Gauges,
    pub(crate) first_ok_s: Option<f64>,
    pub(crate) last_ok_s: Option<f64>,
    pub(crate) first_rejection_s: Option<f64>,
    pub(crate) first_rejection_reason: Option<&'static str>,
    pub(crate) first_failure_s: Option<f64>,
    pub(crate) first_timeout_s: Option<f64>,
    pub(crate) first_left_s: Option<f64>,
    pub(crate) full_s: Option<f64>,
    pub(crate) opened_s: Vec<f64>,
    pub(crate) closed_s: Vec<f64>,
    pub(crate) sold_out_s: Option<f64>,
    pub(crate) peak_in_flight: u64,
    pub(crate) peak_waiting: u64,
    pub(crate) peak_tasks: u64,
    pub(crate) peak_pool_used: u64,
    pub(crate) peak_pool_waiting: u64,
    pub(crate) peak_fallbacks: u64,
    pub(crate) longest_ok_s: Option<f64>,
    pub(crate) oldest_s: Option<f64>,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) abandoned: u64,
    pub(crate) twice: u64,
    pub(crate) recorded: Recorded,
    pub(crate) ended: Vec<Ended>,
    pub(crate) retry_after_kept: Option<f64>,
    pub(crate) refused_working: u64,
    /// Of a caller that calls several, each by itself.
    #[serde(serialize_with = "by_name", skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<(String, Summary)>,
}

/// A breaker at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Ended {
    pub(crate) dependency: String,
    pub(crate) instance: u32,
    pub(crate) state: &'static str,
}

/// One change of a breaker's state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Transition {
    pub(crate) at: f64,
    pub(crate) dependency: String,
    pub(crate) instance: u32,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) cause: String,
}

/// A dependency at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Look {
    pub(crate) at: f64,
    pub(crate) dependency: String,
    pub(crate) instance: u32,
    /// None without a breaker.
    pub(crate) state: Option<&'static str>,
    pub(crate) tasks: u64,
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
    pub(crate) pool_used: u64,
    pub(crate) pool_waiting: u64,
    /// `admit`, or the reason of the rejection.
    pub(crate) would: &'static str,
    pub(crate) retry_after_s: Option<f64>,
}

/// One caller in one step of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Second {
    pub(crate) t: f64,
    pub(crate) caller: String,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    #[serde(flatten)]
    pub(crate) gauges: Gauges,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

/// The rows of time. Only those are kept in which something happened; the others follow from the one before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seconds {
    pub(crate) step: Nanos,
    pub(crate) rows: u64,
    /// By caller.
    pub(crate) callers: Vec<(String, Vec<Kept>)>,
}

/// A row in which something happened.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Kept {
    pub(crate) row: u64,
    pub(crate) counts: Counts,
    pub(crate) gauges: Gauges,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

impl Seconds {
    /// Every row, by time and then by caller.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Second> {
        let mut places = vec![0; self.callers.len()];
        let mut last = vec![Gauges::default(); self.callers.len()];
        (0..self.rows).flat_map(move |row| {
            let mut seconds = Vec::with_capacity(self.callers.len());
            for (at, (caller, kept)) in self.callers.iter().enumerate() {
                #[allow(clippy::cast_precision_loss)] // rows are at most some millions
                let t = row as f64 * seconds_of(self.step);
                let mut second = Second {
                    t,
                    caller: caller.clone(),
                    gauges: last[at],
                    ..Second::default()
                };
                if let Some(kept) = kept.get(places[at]).filter(|kept| kept.row == row) {
                    places[at] += 1;
                    last[at] = kept.gauges;
                    second.counts = kept.counts.clone();
                    second.gauges = kept.gauges;
                    (second.p50_ms, second.p99_ms) = (kept.p50_ms, kept.p99_ms);
                }
                seconds.push(second);
            }
            seconds
        })
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for second in self.rows() {
            list.serialize_element(&second)?;
        }
        list.end()
    }
}

fn by_name<S: Serializer>(entries: &[(String, Summary)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for (name, summary) in entries {
        map.serialize_entry(name, summary)?;
    }
    map.end()
}

/// Nanoseconds as the seconds of the output.
#[allow(clippy::cast_precision_loss)] // 60 days have 53 bits of nanoseconds
pub(crate) fn seconds_of(nanos: Nanos) -> f64 {
    nanos as f64 / SECOND as f64
}
