//! What all open pages are shown: the last look at the runtime, what changed since the one before, and two minutes of
//! history.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use resilience_runtime::{Runtime, Snapshot};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::broadcast::{self, Receiver, Sender};

use crate::card::Card;
use crate::journal::{Cleared, Entry, Journal};
use crate::series::Series;

/// A page that is this many messages behind is cut off, and comes back to a full picture.
const BEHIND: usize = 64;

pub(crate) struct Board {
    acts: bool,
    /// How the other instances differ, where there is a fleet.
    fleet: Option<Box<dyn Fn() -> Option<Value> + Send + Sync>>,
    inner: Mutex<Inner>,
    sender: Mutex<Option<Sender<Message>>>,
}

#[derive(Default)]
struct Inner {
    seq: u64,
    cards: BTreeMap<String, Box<RawValue>>,
    journal: Journal,
    cleared: Vec<Cleared>,
    series: HashMap<String, Series>,
}

/// One server-sent event.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    pub(crate) seq: u64,
    pub(crate) data: Arc<str>,
}

/// All cards, or those that changed.
#[derive(Serialize)]
struct Frame<'a> {
    seq: u64,
    at: f64,
    instance: &'a str,
    policy: &'a resilience_runtime::PolicySnapshot,
    /// Whether there is a token, so that switches make sense.
    acts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<Value>,
    cards: BTreeMap<&'a str, &'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gone: Vec<&'a str>,
    /// What happened so far; in a full frame only, later entries come as events of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<Vec<&'a Entry>>,
}

impl Board {
    pub(crate) fn new(acts: bool) -> Self {
        Self {
            acts,
            fleet: None,
            inner: Mutex::default(),
            sender: Mutex::new(Some(broadcast::channel(BEHIND).0)),
        }
    }

    #[cfg(feature = "fleet")]
    pub(crate) fn with_fleet(mut self, view: Arc<crate::fleet::View>) -> Self {
        self.fleet = Some(Box::new(move || view.show()));
        self
    }

    /// How the other instances differ; nothing without a fleet.
    pub(crate) fn fleet(&self) -> Option<Value> {
        self.fleet.as_ref().and_then(|show| show())
    }

    /// A second is over.
    pub(crate) fn tick(&self, runtime: &Runtime) {
        let mut inner = self.lock();
        let at = now();
        let snapshot = runtime.snapshot();
        inner.series.retain(|name, _| snapshot.dependencies.contains_key(name));
        for (name, dependency) in &snapshot.dependencies {
            let series = match inner.series.get_mut(name) {
                Some(series) => series,
                None => inner.series.entry(name.clone()).or_default(),
            };
            series.note(at, dependency);
        }
        self.show(&mut inner, runtime, &snapshot, at);
    }

    /// Something may have changed within the second.
    pub(crate) fn look(&self, runtime: &Runtime) {
        let mut inner = self.lock();
        self.show(&mut inner, runtime, &runtime.snapshot(), now());
    }

    /// The hand on `dependency` was taken off; the next look finds it gone.
    pub(crate) fn cleared(&self, dependency: &str, by: &str, reason: &str) {
        self.lock().cleared.push(Cleared {
            dependency: dependency.to_owned(),
            by: by.to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// A full picture, and all that comes after it; nothing once the streams have ended.
    pub(crate) fn subscribe(&self, runtime: &Runtime) -> Option<(Message, Receiver<Message>)> {
        let mut inner = self.lock();
        let receiver = self.sender()?.subscribe();
        let (snapshot, at) = (runtime.snapshot(), now());
        self.show(&mut inner, runtime, &snapshot, at);
        let frame = Frame {
            journal: Some(inner.journal.entries().map(|entry| &**entry).collect()),
            ..self.frame(&inner, &snapshot, at, inner.cards.keys().map(String::as_str).collect())
        };
        // What `show` has just sent to the new receiver too is in the frame already, and its number says so.
        Some((message("frame", inner.seq, &frame), receiver))
    }

    /// Ends all streams.
    pub(crate) fn end(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The last two minutes of a dependency.
    pub(crate) fn series(&self, name: &str) -> impl Serialize + use<> {
        self.lock().series.get(name).map(Series::points)
    }

    fn show(&self, inner: &mut Inner, runtime: &Runtime, snapshot: &Snapshot, at: f64) {
        let cleared = std::mem::take(&mut inner.cleared);
        let entries = inner.journal.read(at, snapshot, &cleared);
        let Some(sender) = self.sender().filter(|sender| sender.receiver_count() > 0) else {
            return;
        };
        inner.seq += 1;
        let policy = runtime.policy();
        let mut changed = Vec::new();
        for (name, dependency) in &snapshot.dependencies {
            let card = Card::new(name, dependency, &policy);
            let card = serde_json::value::to_raw_value(&card).expect("a card has text keys and finite numbers");
            if inner.cards.get(name).is_none_or(|old| old.get() != card.get()) {
                inner.cards.insert(name.clone(), card);
                changed.push(name.as_str());
            }
        }
        let gone: Vec<_> = inner
            .cards
            .keys()
            .filter(|name| !snapshot.dependencies.contains_key(*name))
            .cloned()
            .collect();
        inner.cards.retain(|name, _| snapshot.dependencies.contains_key(name));
        for entry in &entries {
            let _ = sender.send(message(entry.kind, inner.seq, &**entry));
        }
        let frame = Frame {
            gone: gone.iter().map(String::as_str).collect(),
            ..self.frame(inner, snapshot, at, changed)
        };
        let _ = sender.send(message("frame", inner.seq, &frame));
    }

    fn frame<'a>(&self, inner: &'a Inner, snapshot: &'a Snapshot, at: f64, names: Vec<&'a str>) -> Frame<'a> {
        let cards = names
            .into_iter()
            .filter_map(|name| Some((name, &**inner.cards.get(name)?)));
        Frame {
            seq: inner.seq,
            at,
            instance: &snapshot.instance,
            policy: &snapshot.policy,
            acts: self.acts,
            fleet: self.fleet(),
            cards: cards.collect(),
            gone: Vec::new(),
            journal: None,
        }
    }

    fn sender(&self) -> Option<Sender<Message>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn message(name: &'static str, seq: u64, data: &impl Serialize) -> Message {
    let data = serde_json::to_string(data).expect("it has text keys and finite numbers");
    Message {
        name,
        seq,
        data: data.into(),
    }
}

/// Unix time in seconds.
pub(crate) fn now() -> f64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
