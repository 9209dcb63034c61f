//! Events of a process as lines, to wait for: no test waits for a time.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

/// The two seconds that the operator is promised, with room for a busy machine.
pub(crate) const WITHIN: Duration = Duration::from_secs(10);

/// Sends each event of ours as one line.
struct Lines(Sender<String>);

struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {}={value}", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Layer<Registry> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, Registry>) {
        if event.metadata().target() == "resilience" {
            let mut line = Line(String::new());
            event.record(&mut line);
            let _ = self.0.send(line.0);
        }
    }
}

pub(crate) struct Events(Receiver<String>);

impl Events {
    /// Listens to all events of this process from now on.
    pub(crate) fn listen() -> Self {
        let (send, receive) = mpsc::channel();
        tracing::subscriber::set_global_default(Registry::default().with(Lines(send))).unwrap();
        Self(receive)
    }

    /// The next event of this name; those before it are passed over.
    pub(crate) fn next(&self, name: &str) -> String {
        let wanted = format!(" event={name}");
        let begun = Instant::now();
        loop {
            let left = WITHIN.saturating_sub(begun.elapsed());
            let line = self.0.recv_timeout(left).unwrap_or_else(|_| panic!("no `{name}` came"));
            if line.contains(&wanted) {
                return line;
            }
        }
    }

    /// The next line with these words; those before it are passed over.
    #[allow(dead_code)] // not every process looks for words
    pub(crate) fn with(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let left = WITHIN.saturating_sub(begun.elapsed());
            let line = self
                .0
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("no `{words}` came"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// How many events of this name have come and were not looked at.
    #[allow(dead_code)] // not every process counts
    pub(crate) fn count(&self, name: &str) -> usize {
        let wanted = format!(" event={name}");
        self.0.try_iter().filter(|line| line.contains(&wanted)).count()
    }
}

/// As editors and deployments save: whole, and at once.
pub(crate) fn save(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, file).unwrap();
}
