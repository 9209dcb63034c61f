//! What the resilience layers count, as Prometheus text: the exporter that any service has.

use std::error::Error;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use resilience_runtime::Runtime;

/// Installs the recorder; what it gives renders a scrape. Installed before `init`, so that the first look finds every
/// series at zero.
pub(crate) fn install() -> Result<impl Fn() -> String + Send + Sync + 'static, Box<dyn Error>> {
    let attempts = Matcher::Full("resilience_attempt_duration_seconds".to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(attempts, &[0.01, 0.03, 0.1, 0.3, 1.0])?
        .build_recorder();
    let prometheus = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    Ok(move || {
        // What the clock alone moves is told by who looks.
        Runtime::current().refresh_metrics();
        prometheus.render()
    })
}
