//! A steady stream of readers, the same for both twins, and what they got.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use resilience_runtime::{Freshness, Served};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::ReadError;
use crate::reader::{Guarded, TONIGHT, Twin};

/// Readers a second, of either twin.
pub(crate) const RATE: u32 = 200;
/// One reader in so many wants a show that nobody else wants, and that no cache has.
const RARE: u32 = 20;

/// What the readers of one phase got.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) reads: u32,
    pub(crate) from_redis: u32,
    pub(crate) from_database: u32,
    pub(crate) stale: u32,
    pub(crate) refused: u32,
    pub(crate) failed: u32,
    pub(crate) longest: Duration,
    pub(crate) twin_reads: u32,
    pub(crate) twin_failed: u32,
}

impl Tally {
    pub(crate) fn answered(&self) -> u32 {
        self.from_redis + self.from_database + self.stale
    }

    fn note(&mut self, show: u32, answer: &Result<Served<String>, ReadError>) {
        self.reads += 1;
        let cell = match answer {
            Ok(served) => match served.freshness {
                // A rare one that came fresh was not cached: the database gave it.
                Freshness::Fresh if show > TONIGHT => &mut self.from_database,
                Freshness::Fresh => &mut self.from_redis,
                Freshness::Stale { .. } => &mut self.stale,
                Freshness::Fallback => &mut self.from_database,
            },
            Err(ReadError::Refused(_) | ReadError::Spared) => &mut self.refused,
            Err(_) => &mut self.failed,
        };
        *cell += 1;
    }
}

/// The running stream; it ends when dropped.
pub(crate) struct Load {
    /// Of the phase that runs; a reader belongs to the one in which it came.
    now: Arc<Mutex<Arc<Mutex<Tally>>>>,
    stream: JoinHandle<()>,
}

impl Load {
    pub(crate) fn start(guarded: Guarded, twin: Twin) -> Self {
        let now: Arc<Mutex<Arc<Mutex<Tally>>>> = Arc::default();
        let stream = tokio::spawn({
            let now = Arc::clone(&now);
            async move {
                let mut ticks = interval(Duration::from_secs(1) / RATE);
                // A machine that was busy for a moment catches up: the load is what it is.
                ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
                for number in 0.. {
                    ticks.tick().await;
                    read(&guarded, &twin, wanted(number), &lock(&now));
                }
            }
        });
        Self { now, stream }
    }

    /// Begins a new phase; what the readers of the one before it get is still noted there.
    pub(crate) fn phase(&self) -> Arc<Mutex<Tally>> {
        let next = Arc::default();
        lock(&self.now).clone_from(&next);
        next
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stream.abort();
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wanted(number: u32) -> u32 {
    if number.is_multiple_of(RARE) {
        TONIGHT + 1 + number / RARE % 1_900
    } else {
        1 + number % TONIGHT
    }
}

fn read(guarded: &Guarded, twin: &Twin, show: u32, tally: &Arc<Mutex<Tally>>) {
    let (reader, notes) = (guarded.clone(), Arc::clone(tally));
    tokio::spawn(async move {
        let began = Instant::now();
        let answer = reader.seat_map(show).await;
        let mut notes = lock(&notes);
        notes.note(show, &answer);
        notes.longest = notes.longest.max(began.elapsed());
    });
    let (reader, notes) = (twin.clone(), Arc::clone(tally));
    tokio::spawn(async move {
        let failed = reader.seat_map(show).await.is_err();
        let mut notes = lock(&notes);
        notes.twin_reads += 1;
        notes.twin_failed += u32::from(failed);
    });
}
