//! The series of a runtime, and who keeps them up to date.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Runtime;
use crate::bell::Bell;
use crate::dependency::Entry;
use crate::event;
use crate::meter;
use crate::observe::metrics::PolicyFigures;

/// How often somebody comes by.
const EVERY: Duration = Duration::from_millis(250);

impl Runtime {
    /// Brings all series of this runtime up to date in the recorder of the `metrics` crate, those included that the
    /// clock alone moves: the time since a breaker left closed, the budget, the share of the last minute. Call it
    /// before a scrape is rendered.
    ///
    /// Calls and reloads do it for what they change, and [`init`](crate::init) does it for everything four times a
    /// second, so that without it a scrape shows what was so a quarter of a second ago.
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn refresh_metrics(&self) {
        for entry in self.entries().values() {
            meter::refresh(entry);
        }
        self.refresh_policy_metrics();
    }

    /// Does what [`refresh_metrics`](Self::refresh_metrics) does four times a second, on a thread of its own, until what
    /// it returns is dropped. For those who [`install`](Self::install) by hand; [`init`](crate::init) does it too.
    ///
    /// While it runs, a dependency that has more than 4 000 calls a second leaves its good calls to it: they show within
    /// a quarter of a second, and of those that are over in one poll one in 64 is measured in
    /// `resilience_attempt_duration_seconds`.
    #[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
    pub fn keep_metrics(&self) -> KeptMetrics {
        let bell = Arc::new(Bell::default());
        let wakes = Arc::clone(&bell);
        let runtime = self.clone();
        let spawned = std::thread::Builder::new()
            .name("resilience-metrics".to_owned())
            .spawn(move || {
                while wakes.wait(EVERY) {
                    runtime.tick_metrics(true);
                }
                runtime.tick_metrics(false);
            });
        let thread = spawned
            .inspect_err(|error| {
                ::tracing::error!(target: event::TARGET, error = %error, "no thread to keep the metrics up to date");
            })
            .ok();
        KeptMetrics { bell, thread }
    }

    /// Somebody comes by, and says whether they will again.
    pub(crate) fn tick_metrics(&self, stay: bool) {
        let entries: Vec<Arc<Entry>> = self.entries().values().cloned().collect();
        meter::keep(&entries, stay);
        self.refresh_policy_metrics();
    }

    fn refresh_policy_metrics(&self) {
        let (in_force, reloads) = (self.in_force(), self.reloads());
        self.inner.metrics.publish(
            self.instance(),
            &PolicyFigures {
                hash: in_force.policy.hash(),
                accepted: reloads.accepted,
                refused: reloads.refused,
                stale: self.refusal().is_some(),
            },
        );
    }
}

/// Keeps the metrics of a runtime up to date; dropping it ends that.
#[derive(Debug)]
#[must_use = "dropping it ends what it does"]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub struct KeptMetrics {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for KeptMetrics {
    fn drop(&mut self) {
        self.bell.end();
        if let Some(thread) = self.thread.take() {
            // It has nothing to wait for but the end of its quarter of a second, which the line above ended.
            let _ = thread.join();
        }
    }
}
