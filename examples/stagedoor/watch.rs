//! What the resilience layers report: their tracing events, as any subscriber would get them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::incident::Incident;

/// A breaker changed its state.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    /// Since the start.
    pub(crate) at: Duration,
    pub(crate) stage: usize,
    pub(crate) dependency: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) cause: String,
}

/// Rejections of one stage and dependency, by reason.
pub(crate) type Reasons = BTreeMap<String, u64>;

#[derive(Clone)]
pub(crate) struct Watch {
    start: Instant,
    incident: Arc<Incident>,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Default)]
struct Notes {
    transitions: Vec<Transition>,
    rejections: BTreeMap<(usize, String), Reasons>,
    recent: BTreeMap<String, Reasons>,
    lines: Vec<String>,
}

impl Watch {
    /// Begins to listen, for the whole process.
    pub(crate) fn install(
        start: Instant,
        incident: Arc<Incident>,
    ) -> Result<Self, tracing::subscriber::SetGlobalDefaultError> {
        let watch = Self {
            start,
            incident,
            notes: Arc::default(),
        };
        // Rejections are told at debug level.
        let only_ours = Targets::new().with_target("resilience", Level::DEBUG);
        let layer = Layer::with_filter(watch.clone(), only_ours);
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
        Ok(watch)
    }

    pub(crate) fn transitions(&self) -> Vec<Transition> {
        self.lock().transitions.clone()
    }

    pub(crate) fn rejections(&self, stage: usize, dependency: &str) -> Reasons {
        self.lock()
            .rejections
            .get(&(stage, dependency.to_owned()))
            .cloned()
            .unwrap_or_default()
    }

    /// Rejections since the last look, by dependency.
    pub(crate) fn take_rejections(&self) -> BTreeMap<String, Reasons> {
        std::mem::take(&mut self.lock().recent)
    }

    /// Lines worth showing since the last look.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().lines)
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Watch {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let at = self.start.elapsed();
        let stage = self.incident.stage();
        let mut take = |key| fields.0.remove(key).unwrap_or_default();
        match take("event").as_str() {
            "call.rejected" => {
                let (dependency, reason) = (take("dependency"), take("reason"));
                let mut notes = self.lock();
                let recent = notes.recent.entry(dependency.clone()).or_default();
                *recent.entry(reason.clone()).or_default() += 1;
                let all = notes.rejections.entry((stage, dependency)).or_default();
                *all.entry(reason).or_default() += 1;
            }
            "breaker.transition" => {
                let (dependency, cause) = (take("dependency"), take("cause"));
                let (from, to) = (take("from"), take("to"));
                let line = format!("{:6.2} s  {dependency}: {from} → {to} ({cause})", at.as_secs_f64());
                let mut notes = self.lock();
                notes.lines.push(line);
                notes.transitions.push(Transition {
                    at,
                    stage,
                    dependency,
                    from,
                    to,
                    cause,
                });
            }
            // Told for every call that the limiter turned away; the table counts them.
            "fallback.failed" => {}
            _ if *event.metadata().level() > Level::INFO => {}
            _ => {
                let line = format!("{:6.2} s  {}", at.as_secs_f64(), take("message"));
                self.lock().lines.push(line);
            }
        }
    }
}

/// The fields of one event, as text.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
