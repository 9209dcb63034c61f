//! One dependency under test: its runtime, its guard and the test's zero of time.

use std::time::Duration;

use resilience_runtime::testing::{self, Event};
use resilience_runtime::{DependencySnapshot, Guard, Runtime};
use tokio::task::JoinHandle;

use crate::kit::{self, Clock, Gate, Script, settle};

pub(crate) struct Stand {
    pub(crate) runtime: Runtime,
    pub(crate) guard: Guard,
    pub(crate) clock: Clock,
}

impl Stand {
    /// A dependency `far` whose table has these lines.
    pub(crate) fn new(lines: &str) -> Self {
        let (runtime, guard) = kit::guard(lines);
        Self {
            runtime,
            guard,
            clock: Clock::start(),
        }
    }

    /// So many calls of one body, one after the other.
    pub(crate) async fn calls(&self, body: &Script, count: usize) -> Vec<&'static str> {
        kit::calls(&self.guard, body, count).await
    }

    /// One call for each step of a script of its own.
    pub(crate) async fn each(&self, script: &str) -> Vec<&'static str> {
        let count = words(script).len();
        kit::calls(&self.guard, &Script::new(script), count).await
    }

    /// One call with this one step.
    pub(crate) async fn one(&self, step: &str) -> &'static str {
        kit::call(&self.guard, &Script::new(step)).await
    }

    /// Begins so many calls as tasks of their own, each of which waits for the gate.
    pub(crate) async fn begin(&self, gate: &Gate, count: usize) -> Vec<JoinHandle<&'static str>> {
        let mut tasks = Vec::new();
        for _ in 0..count {
            let (guard, gate) = (self.guard.clone(), gate.clone());
            tasks.push(tokio::spawn(async move { kit::seen(&guard.call(|| gate.run()).await) }));
            settle().await;
        }
        tasks
    }

    /// Begins a call with the body's next step as a task of its own.
    pub(crate) async fn begin_script(&self, body: &Script) -> JoinHandle<&'static str> {
        let (guard, body) = (self.guard.clone(), body.clone());
        let task = tokio::spawn(async move { kit::call(&guard, &body).await });
        settle().await;
        task
    }

    pub(crate) fn state(&self) -> &'static str {
        kit::state(&self.runtime)
    }

    pub(crate) fn read(&self) -> DependencySnapshot {
        self.runtime.snapshot().dependency("far").unwrap().clone()
    }

    /// Slots that are taken, and calls that wait for one.
    pub(crate) fn slots(&self) -> (u64, u32) {
        kit::slots(&self.runtime)
    }

    pub(crate) fn window(&self) -> u32 {
        kit::window(&self.runtime)
    }

    /// Failures and slow attempts in the window; the policy's `minimum_calls` has to be 1.
    pub(crate) fn failed_and_slow(&self) -> (u32, u32) {
        let read = self.read();
        let count = |rate: Option<f64>| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a few calls
            let count = (rate.unwrap_or(0.0) * f64::from(read.calls)).round() as u32;
            count
        };
        (count(read.failure_rate), count(read.slow_rate))
    }

    pub(crate) async fn trip(&self) {
        self.runtime.scope(async { testing::trip("far") }).await;
    }

    pub(crate) async fn reset(&self) {
        self.runtime.scope(async { testing::reset("far") }).await;
    }

    /// Waits until so many milliseconds have passed since the begin, and lets what is due then happen.
    pub(crate) async fn at_ms(&self, millis: u64) {
        self.clock.at(Duration::from_millis(millis)).await;
        settle().await;
    }

    /// Milliseconds since the begin.
    pub(crate) fn now_ms(&self) -> u128 {
        self.clock.now().as_millis()
    }
}

/// `"4*server open"` as its five words.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let many = |word| match str::split_once(word, '*') {
        Some((count, word)) => vec![word; count.parse().unwrap()],
        None => vec![word],
    };
    text.split_whitespace().flat_map(many).collect()
}

/// The transitions among events, as `closed>open failure_rate`.
pub(crate) fn transitions(events: &[Event]) -> Vec<String> {
    let made = events.iter().filter(|event| event.name() == "breaker.transition");
    let field = |event: &Event, name: &str| event.field(name).unwrap().to_owned();
    made.map(|event| {
        format!(
            "{}>{} {}",
            field(event, "from"),
            field(event, "to"),
            field(event, "cause")
        )
    })
    .collect()
}

/// The reasons of the rejections among events.
pub(crate) fn rejections(events: &[Event]) -> Vec<&str> {
    let rejected = events.iter().filter(|event| event.name() == "call.rejected");
    rejected.map(|event| event.field("reason").unwrap()).collect()
}

/// Whether two rates are the same, as far as the last digit matters.
pub(crate) fn is_rate(read: Option<f64>, rate: f64) -> bool {
    read.is_some_and(|read| (read - rate).abs() < 1e-9)
}
