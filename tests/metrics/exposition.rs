//! A Prometheus exposition, rendered and parsed.

use std::collections::{BTreeMap, BTreeSet};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use prometheus_parse::{Sample, Scrape, Value};

/// A recorder as a service installs it: durations in buckets, so that instances can be summed.
pub(crate) fn recorder() -> PrometheusRecorder {
    PrometheusBuilder::new()
        .set_buckets_for_metric(
            metrics_exporter_prometheus::Matcher::Full("resilience_attempt_duration_seconds".into()),
            &[0.01, 0.1, 1.0, 10.0],
        )
        .unwrap()
        .build_recorder()
}

/// One scrape.
pub(crate) struct Page {
    samples: Vec<Sample>,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn of(handle: &PrometheusHandle) -> Self {
        let text = handle.render();
        let lines = text.lines().map(|line| Ok(line.to_owned()));
        let samples = Scrape::parse(lines).unwrap().samples;
        Self { samples, text }
    }

    /// The sum over all series of this name that have these labels.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.matching(name, labels).map(|sample| number(&sample.value)).sum()
    }

    /// The one series of this name with these labels, or nothing.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut matching = self.matching(name, labels);
        let found = matching.next().map(|sample| number(&sample.value));
        assert!(matching.next().is_none(), "more than one `{name}` has {labels:?}");
        found
    }

    /// How many attempts were measured.
    pub(crate) fn measured(&self, dependency: &str) -> f64 {
        self.sum(
            "resilience_attempt_duration_seconds_count",
            &[("dependency", dependency)],
        )
    }

    fn matching<'p>(&'p self, name: &'p str, labels: &'p [(&str, &str)]) -> impl Iterator<Item = &'p Sample> {
        let has = |sample: &&Sample| {
            labels
                .iter()
                .all(|(name, value)| sample.labels.get(name) == Some(value))
        };
        self.samples
            .iter()
            .filter(move |sample| sample.metric == name)
            .filter(has)
    }

    /// Each name with the names of its labels.
    pub(crate) fn names(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut names = BTreeMap::<_, BTreeSet<_>>::new();
        for sample in &self.samples {
            let labels = sample.labels.keys().map(String::as_str);
            names.entry(sample.metric.as_str()).or_default().extend(labels);
        }
        names
    }

    /// The values that a label has.
    pub(crate) fn values<'p>(&'p self, name: &'p str, label: &str) -> BTreeSet<&'p str> {
        self.matching(name, &[])
            .filter_map(|sample| sample.labels.get(label))
            .collect()
    }

    /// How many series there are.
    pub(crate) fn series(&self) -> usize {
        self.samples.len()
    }

    /// Every series that is not nothing.
    pub(crate) fn not_nothing(&self) -> Vec<String> {
        self.samples
            .iter()
            .filter(|sample| number(&sample.value) != 0.0)
            .map(|sample| sample.metric.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Counter(number) | Value::Gauge(number) | Value::Untyped(number) => *number,
        Value::Histogram(buckets) => buckets.iter().map(|bucket| bucket.count).sum(),
        Value::Summary(_) => panic!("durations have buckets"),
    }
}
