//! Figures as series of the `metrics` facade: the only place that knows that crate.
//!
//! A series is registered with the recorder that is installed when its figures first come; when another recorder is
//! there, everything is registered anew and told whole. A counter is told what was added since it was told last, so
//! two runtimes of one process add up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, Unit};

use crate::meter::{COUNTERS, Figures, GAUGES, Series as Named, counter_series, gauge_series};

static COUNTER_SERIES: LazyLock<Vec<Named>> = LazyLock::new(counter_series);
static GAUGE_SERIES: LazyLock<Vec<Named>> = LazyLock::new(gauge_series);
const DURATION: &str = "resilience_attempt_duration_seconds";
const POLICY: &str = "resilience_policy_info";
const RELOADS: &str = "resilience_policy_reloads_total";
const STALE: &str = "resilience_policy_stale";

/// What every metric is, for the exposition.
const HELP: [(&str, &str); 17] = [
    (
        "resilience_calls_total",
        "calls that ended, by outcome and by who answered",
    ),
    (
        "resilience_attempts_total",
        "runs of a guarded body that ended, by outcome and kind of failure",
    ),
    ("resilience_rejections_total", "calls refused or cut short, by reason"),
    ("resilience_breaker_transitions_total", "changes of a breaker's state"),
    (
        "resilience_probes_total",
        "probes of a half-open breaker that ended, by outcome",
    ),
    ("resilience_retries_total", "attempts that repeated another"),
    (
        "resilience_fallbacks_total",
        "calls on which a form of fallback had the last word, by why it was asked",
    ),
    ("resilience_breaker_state", "1 for the state that the breaker is in"),
    (
        "resilience_breaker_open_seconds",
        "time since the breaker left closed, half-open times included; 0 while closed",
    ),
    (
        "resilience_failure_rate",
        "share of failures in the window; 0 below minimum_calls",
    ),
    (
        "resilience_slow_rate",
        "share of slow attempts in the window; 0 below minimum_calls",
    ),
    (
        "resilience_bulkhead_in_flight",
        "slots taken; without a bulkhead the calls that run",
    ),
    ("resilience_bulkhead_limit", "slots"),
    ("resilience_bulkhead_waiting", "calls that wait for a slot"),
    ("resilience_retry_budget", "retries that the budget allows now"),
    (
        "resilience_degraded_ratio",
        "share of the last minute's calls that a fallback answered",
    ),
    ("resilience_mode", "1 for the mode that is in force"),
];

/// Whether anybody records. The facade's own recorder for nobody is the one without a size.
#[inline]
pub(crate) fn is_recording() -> bool {
    metrics::with_recorder(|recorder| size_of_val(recorder) != 0)
}

/// The series of one name.
#[derive(Debug, Default)]
pub(crate) struct Series {
    bound: ArcSwapOption<Bound>,
}

/// The series at one recorder.
#[derive(Debug)]
struct Bound {
    recorder: usize,
    counters: Box<[Told<Counter>]>,
    gauges: Box<[Told<Gauge>]>,
    duration: Histogram,
}

/// A series, once it is registered, and what it was told last.
#[derive(Debug)]
struct Told<T> {
    handle: OnceLock<T>,
    last: AtomicU64,
}

impl<T> Default for Told<T> {
    fn default() -> Self {
        Self {
            handle: OnceLock::new(),
            last: AtomicU64::new(0),
        }
    }
}

impl Series {
    /// Tells what changed; with `all` also the gauges that did not.
    pub(crate) fn publish(&self, dependency: &'static str, instance: &str, figures: &Figures, all: bool) {
        metrics::with_recorder(|recorder| {
            let place = Place {
                recorder,
                dependency,
                instance,
            };
            self.bound(&place).tell(&place, figures, all);
        });
    }

    pub(crate) fn took(&self, time: Duration) {
        if let Some(bound) = &*self.bound.load() {
            bound.duration.record(time.as_secs_f64());
        }
    }

    pub(crate) fn retire(&self) {
        if let Some(bound) = &*self.bound.load() {
            for gauge in &bound.gauges {
                if let Some(handle) = gauge.handle.get() {
                    handle.set(0.0);
                }
            }
        }
    }

    fn bound(&self, place: &Place<'_>) -> Arc<Bound> {
        let address = address(place.recorder);
        match self.bound.load_full() {
            // A thread that no recorder is for tells the one that is known.
            Some(bound) if bound.recorder == address || size_of_val(place.recorder) == 0 => bound,
            _ => {
                let bound = Arc::new(Bound {
                    recorder: address,
                    counters: (0..COUNTERS).map(|_| Told::default()).collect(),
                    gauges: (0..GAUGES).map(|_| Told::default()).collect(),
                    duration: place.recorder.register_histogram(&place.key(DURATION, &[]), &METADATA),
                });
                self.bound.store(Some(Arc::clone(&bound)));
                bound
            }
        }
    }
}

impl Bound {
    fn tell(&self, place: &Place<'_>, figures: &Figures, all: bool) {
        let counters = self.counters.iter().zip(&*COUNTER_SERIES);
        for ((told, series), (count, has)) in counters.zip(figures.counters.iter().zip(figures.has)) {
            if !has && *count == 0 {
                continue;
            }
            let register = || {
                place
                    .recorder
                    .register_counter(&place.key(series.name, &series.labels), &METADATA)
            };
            let handle = told.handle.get_or_init(register);
            let before = told.last.fetch_max(*count, Ordering::Relaxed);
            if *count > before {
                handle.increment(count - before);
            }
        }
        for ((told, series), value) in self.gauges.iter().zip(&*GAUGE_SERIES).zip(figures.gauges) {
            let is_new = told.handle.get().is_none();
            let Some(value) = value.or((!is_new).then_some(0.0)) else {
                continue;
            };
            let register = || {
                place
                    .recorder
                    .register_gauge(&place.key(series.name, &series.labels), &METADATA)
            };
            let handle = told.handle.get_or_init(register);
            if told.last.swap(value.to_bits(), Ordering::Relaxed) != value.to_bits() || is_new || all {
                handle.set(value);
            }
        }
    }
}

/// What a runtime itself shows.
#[derive(Debug, Default)]
pub(crate) struct OfRuntime {
    bound: ArcSwapOption<RuntimeBound>,
}

#[derive(Debug)]
struct RuntimeBound {
    recorder: usize,
    accepted: Told<Counter>,
    refused: Told<Counter>,
    stale: Gauge,
    hash: String,
    info: Gauge,
}

/// What a runtime shows of its policy.
pub(crate) struct PolicyFigures<'p> {
    pub(crate) hash: &'p str,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    pub(crate) stale: bool,
}

impl OfRuntime {
    pub(crate) fn publish(&self, instance: &str, figures: &PolicyFigures<'_>) {
        metrics::with_recorder(|recorder| {
            if size_of_val(recorder) == 0 {
                return;
            }
            let bound = self.bound(recorder, instance, figures.hash);
            for (told, count) in [(&bound.accepted, figures.accepted), (&bound.refused, figures.refused)] {
                let before = told.last.fetch_max(count, Ordering::Relaxed);
                if let Some(handle) = told.handle.get() {
                    handle.increment(count.saturating_sub(before));
                }
            }
            bound.stale.set(f64::from(u8::from(figures.stale)));
            bound.info.set(1.0);
        });
    }

    fn bound(&self, recorder: &dyn Recorder, instance: &str, hash: &str) -> Arc<RuntimeBound> {
        let known = self.bound.load_full();
        let same = known.as_ref().filter(|bound| bound.recorder == address(recorder));
        if let Some(bound) = same
            && bound.hash == hash
        {
            return Arc::clone(bound);
        }
        let key = |name: &'static str, label: Option<(&'static str, &str)>| {
            let label = label.map(|(name, value)| Label::new(name, value.to_owned()));
            let labels = [Label::new("instance", instance.to_owned())].into_iter().chain(label);
            Key::from_parts(name, labels.collect::<Vec<_>>())
        };
        match same {
            // That policy is no longer in force.
            Some(before) => before.info.set(0.0),
            None => describe(recorder),
        }
        let reloads = |result, before: Option<&Told<Counter>>| Told {
            handle: recorder
                .register_counter(&key(RELOADS, Some(("result", result))), &METADATA)
                .into(),
            last: AtomicU64::new(before.map_or(0, |told| told.last.load(Ordering::Relaxed))),
        };
        let bound = Arc::new(RuntimeBound {
            recorder: address(recorder),
            accepted: reloads("accepted", same.map(|bound| &bound.accepted)),
            refused: reloads("refused", same.map(|bound| &bound.refused)),
            stale: recorder.register_gauge(&key(STALE, None), &METADATA),
            hash: hash.to_owned(),
            info: recorder.register_gauge(&key(POLICY, Some(("hash", hash))), &METADATA),
        });
        self.bound.store(Some(Arc::clone(&bound)));
        bound
    }
}

/// Where a series is registered, and under whose name.
struct Place<'p> {
    recorder: &'p dyn Recorder,
    dependency: &'static str,
    instance: &'p str,
}

impl Place<'_> {
    fn key(&self, name: &'static str, labels: &[(&'static str, &'static str)]) -> Key {
        let own = [
            Label::from_static_parts("dependency", self.dependency),
            Label::new("instance", self.instance.to_owned()),
        ];
        let further = labels.iter().map(|(name, value)| Label::from_static_parts(name, value));
        Key::from_parts(name, own.into_iter().chain(further).collect::<Vec<_>>())
    }
}

static METADATA: Metadata<'static> = Metadata::new("resilience", Level::INFO, Some(module_path!()));

/// Tells recorders apart.
fn address(recorder: &dyn Recorder) -> usize {
    std::ptr::from_ref(recorder).cast::<()>().addr()
}

fn describe(recorder: &dyn Recorder) {
    for (name, help) in HELP {
        if name.ends_with("_total") {
            recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        } else {
            recorder.describe_gauge(name.into(), None, help.into());
        }
    }
    recorder.describe_counter(
        RELOADS.into(),
        Some(Unit::Count),
        "policies put in force, or refused".into(),
    );
    recorder.describe_gauge(POLICY.into(), None, "1 for the policy that is in force".into());
    recorder.describe_gauge(
        STALE.into(),
        None,
        "1 while the file differs from what is in force".into(),
    );
    recorder.describe_gauge(
        "resilience_override_left_seconds".into(),
        Some(Unit::Seconds),
        "what is left of the operator's hand; 0 without one".into(),
    );
    recorder.describe_histogram(DURATION.into(), Some(Unit::Seconds), "how long an attempt ran".into());
}
