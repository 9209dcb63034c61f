//! What the callers saw, per phase, twin and route.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::incident::Phase;
use crate::service::{Route, Twin};

/// Where an answer came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    Primary,
    Fallback,
    Stale,
    /// No answer, or one that says there is none.
    #[default]
    Error,
}

/// One call as its caller saw it. Without a status the caller left, or was cut off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) source: Source,
    pub(crate) retry_after: Option<u64>,
    pub(crate) names_internals: bool,
    pub(crate) took: Duration,
    pub(crate) order: Option<u64>,
}

/// A 503 as its caller saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// Since the start of the book.
    pub(crate) at: Duration,
    pub(crate) took: Duration,
    pub(crate) retry_after: Option<u64>,
    pub(crate) order: Option<u64>,
}

/// Calls of one kind, summed up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) calls: u64,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) left: u64,
    pub(crate) refused: Vec<Refused>,
    pub(crate) names_internals: u64,
    sources: [u64; 4],
    took: Vec<Duration>,
}

impl Cell {
    pub(crate) fn from(&self, source: Source) -> u64 {
        self.sources[source as usize]
    }

    pub(crate) fn status(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    pub(crate) fn percentile(&self, percent: usize) -> Option<Duration> {
        percentile(self.took.clone(), percent)
    }

    fn add(&mut self, at: Duration, answer: &Answer) {
        self.calls += 1;
        self.sources[answer.source as usize] += 1;
        self.took.push(answer.took);
        self.names_internals += u64::from(answer.names_internals);
        match answer.status {
            None => self.left += 1,
            Some(status) => *self.statuses.entry(status).or_default() += 1,
        }
        if answer.status == Some(503) {
            let Answer {
                took,
                retry_after,
                order,
                ..
            } = *answer;
            self.refused.push(Refused {
                at,
                took,
                retry_after,
                order,
            });
        }
    }
}

/// The nearest rank: a time that somebody really waited.
pub(crate) fn percentile(mut took: Vec<Duration>, percent: usize) -> Option<Duration> {
    took.sort_unstable();
    took.get((took.len() * percent).div_ceil(100).saturating_sub(1))
        .copied()
}

/// What the far sides and the service itself noticed during a stage, of one twin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noticed {
    /// The most requests of each route that were inside the service at once.
    pub(crate) held: [usize; 3],
    /// Charges that reached Payrail.
    pub(crate) charges: u64,
    /// The most seat maps that the database read at once.
    pub(crate) database_peak: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) phase: Phase,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// Of the guarded twin's breakers, at the end.
    pub(crate) states: [&'static str; 3],
    pub(crate) noticed: [Noticed; 2],
    /// Answers that depend on nothing: how busy the machine is with other things.
    alive: Vec<Duration>,
    cells: Cells,
}

impl Stage {
    pub(crate) fn cell(&self, twin: Twin, route: Route) -> &Cell {
        &self.cells[twin as usize][route as usize]
    }

    /// What an answer takes that depends on nothing.
    pub(crate) fn machine(&self, percent: usize) -> Duration {
        percentile(self.alive.clone(), percent).unwrap_or_default()
    }
}

pub(crate) type Cells = [[Cell; 3]; 2];

pub(crate) struct Book {
    start: Instant,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    stages: Vec<Stage>,
    recent: Cells,
}

impl Book {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            pages: Mutex::default(),
        }
    }

    /// Opens the next stage. Stages are numbered from 1; what belongs to none of them is not kept.
    pub(crate) fn open(&self, phase: Phase) {
        let (from, states) = (self.start.elapsed(), <[&str; 3]>::default());
        let stage = Stage {
            phase,
            from,
            to: from,
            states,
            noticed: Default::default(),
            alive: Vec::new(),
            cells: Default::default(),
        };
        self.lock().stages.push(stage);
    }

    /// Closes the last stage. Calls that began in it are added when they end.
    pub(crate) fn close(&self, states: [&'static str; 3], noticed: [Noticed; 2]) {
        let to = self.start.elapsed();
        if let Some(stage) = self.lock().stages.last_mut() {
            *stage = Stage {
                to,
                states,
                noticed,
                ..stage.clone()
            };
        }
    }

    pub(crate) fn record(&self, twin: Twin, route: Route, stage: usize, answer: &Answer) {
        let at = self.start.elapsed();
        let mut pages = self.lock();
        pages.recent[twin as usize][route as usize].add(at, answer);
        if let Some(stage) = stage.checked_sub(1).and_then(|index| pages.stages.get_mut(index)) {
            stage.cells[twin as usize][route as usize].add(at, answer);
        }
    }

    pub(crate) fn alive(&self, stage: usize, took: Duration) {
        let mut pages = self.lock();
        if let Some(stage) = stage.checked_sub(1).and_then(|index| pages.stages.get_mut(index)) {
            stage.alive.push(took);
        }
    }

    /// What ended since the last look.
    pub(crate) fn take_recent(&self) -> Cells {
        std::mem::take(&mut self.lock().recent)
    }

    pub(crate) fn stages(&self) -> Vec<Stage> {
        self.lock().stages.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
