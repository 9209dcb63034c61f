//! A recorder that keeps every series as one line, so that it can be compared with what `plain` has in its books.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// Series that are not nothing, each with its value.
pub(crate) type Shown = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    counters: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    gauges: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    times: Mutex<BTreeMap<String, Arc<Times>>>,
}

#[derive(Debug, Default)]
struct Times(Mutex<(u64, f64)>);

impl HistogramFn for Times {
    fn record(&self, value: f64) {
        let mut times = self.0.lock().unwrap();
        *times = (times.0 + 1, times.1 + value);
    }
}

impl Ledger {
    pub(crate) fn shown(&self) -> Shown {
        let mut shown = Shown::new();
        for (name, count) in &*self.counters.lock().unwrap() {
            count_of(&mut shown, name, count.load(Ordering::Relaxed));
        }
        for (name, value) in &*self.gauges.lock().unwrap() {
            value_of(&mut shown, name, f64::from_bits(value.load(Ordering::Relaxed)));
        }
        for (name, times) in &*self.times.lock().unwrap() {
            let (count, sum) = *times.0.lock().unwrap();
            count_of(&mut shown, &format!("{name} count"), count);
            value_of(&mut shown, &format!("{name} sum"), sum);
        }
        // Which policy it is, is the runtime's to say; there is one of it.
        shown.retain(|name, value| !name.starts_with("policy_info") || value != "1.000");
        shown
    }
}

pub(crate) fn count_of(shown: &mut Shown, name: &str, count: u64) {
    if count != 0 {
        shown.insert(name.to_owned(), count.to_string());
    }
}

pub(crate) fn value_of(shown: &mut Shown, name: &str, value: f64) {
    if value != 0.0 {
        shown.insert(name.to_owned(), format!("{value:.3}"));
    }
}

/// `calls_total outcome=success served=primary`; there is one dependency and one instance.
fn line(key: &Key) -> String {
    let mut labels: Vec<_> = key
        .labels()
        .filter(|label| !["dependency", "instance"].contains(&label.key()) && !label.value().is_empty())
        .map(|label| format!(" {}={}", label.key(), label.value()))
        .collect();
    labels.sort();
    key.name().trim_start_matches("resilience_").to_owned() + &labels.concat()
}

fn kept<T: Default>(series: &Mutex<BTreeMap<String, Arc<T>>>, key: &Key) -> Arc<T> {
    Arc::clone(series.lock().unwrap().entry(line(key)).or_default())
}

impl Recorder for Ledger {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(kept(&self.counters, key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(kept(&self.gauges, key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(kept(&self.times, key))
    }
}
