//! How a row is measured: all rows in turn, again and again, so that a drift of the machine hits all alike.

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::stats::Samples;

/// How long one sample takes: long against a reading of the clock, short against a drift.
const SAMPLE: Duration = Duration::from_millis(1);

/// How many calls the other of two threads makes between looking up.
const CHUNK: u32 = 64;

/// One kind of call.
pub struct Row {
    /// What targets call it by.
    pub id: &'static str,
    /// What people call it by.
    pub name: String,
    /// Bytes of the future that a caller awaits, where there is one.
    pub future: Option<usize>,
    /// What was seen.
    pub samples: Samples,
    /// Allocations per call.
    pub allocations: f64,
    /// Sampled in every so many-th round only: for rows that take long to set up.
    every: u32,
    calls: u32,
    run: Box<dyn FnMut(u32) -> Duration>,
}

impl Row {
    /// A row that makes `call` again and again.
    pub fn new<T>(id: &'static str, name: impl Into<String>, mut call: impl FnMut() -> T + 'static) -> Self {
        Self::timed(id, name, 0, move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(call());
            }
            start.elapsed()
        })
    }

    /// A row that does its own timing of so many calls; 0 leaves the number to us.
    pub fn timed(
        id: &'static str,
        name: impl Into<String>,
        calls: u32,
        run: impl FnMut(u32) -> Duration + 'static,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            future: None,
            samples: Samples::default(),
            allocations: f64::NAN,
            every: 1,
            calls,
            run: Box::new(run),
        }
    }

    /// Says how large its future is.
    #[must_use]
    pub fn sized<F>(mut self, future: &F) -> Self {
        self.future = Some(size_of_val(future));
        self
    }

    /// Samples it in each `rounds`-th round only.
    #[must_use]
    pub fn seldom(mut self, rounds: u32) -> Self {
        self.every = rounds;
        self
    }

    /// Warms up, finds how many calls make a sample, and counts allocations.
    pub fn prepare(&mut self, count: impl Fn(&mut dyn FnMut()) -> u64) {
        if self.calls == 0 {
            self.calls = calls_of(|calls| (self.run)(calls));
        }
        // The first calls of a thread may allocate; they are over by now.
        (self.run)(self.calls);
        if self.every == 1 {
            let calls = self.calls.min(10_000);
            let run = &mut self.run;
            let counted = count(&mut || {
                run(calls);
            });
            self.allocations = per_call(counted, calls);
        }
    }

    /// A row that another program measured.
    pub fn seen(id: &'static str, name: String, allocations: f64, samples: Samples) -> Self {
        Self {
            samples,
            allocations,
            ..Self::timed(id, name, 1, |_| Duration::ZERO)
        }
    }

    fn sample(&mut self, round: u32) {
        if round.is_multiple_of(self.every) {
            let took = (self.run)(self.calls);
            self.samples.add(took.as_secs_f64() * 1e9 / f64::from(self.calls));
        }
    }
}

/// Rows of one kind of work.
pub struct Group {
    /// The heading.
    pub title: &'static str,
    /// What is done, and what differs between the rows.
    pub note: &'static str,
    /// The rows.
    pub rows: Vec<Row>,
}

/// Measures every row of every group, `rounds` times in turn.
pub fn measure(groups: &mut [Group], rounds: u32) {
    for round in 0..rounds {
        for group in &mut *groups {
            for row in &mut group.rows {
                row.sample(round);
            }
        }
    }
}

/// One kind of call, made by two threads on the same object.
pub struct Shared {
    /// What targets call it by.
    pub id: &'static str,
    /// What people call it by.
    pub name: String,
    /// A call by one thread while the other rests.
    pub alone: Samples,
    /// A call by one thread while the other makes the same without a pause.
    pub together: Samples,
    calls: u32,
    worker: Box<dyn Fn() -> Worker>,
}

/// So many calls, by whatever thread has it.
pub type Worker = Box<dyn FnMut(u32) + Send>;

impl Shared {
    /// A row whose threads each get what `worker` makes.
    pub fn new<C, T>(id: &'static str, name: impl Into<String>, worker: impl Fn() -> C + 'static) -> Self
    where
        C: FnMut() -> T + Send + 'static,
    {
        let worker = move || -> Worker {
            let mut call = worker();
            Box::new(move |calls| {
                for _ in 0..calls {
                    black_box(call());
                }
            })
        };
        let (alone, together) = (Samples::default(), Samples::default());
        Self {
            id,
            name: name.into(),
            alone,
            together,
            calls: 0,
            worker: Box::new(worker),
        }
    }

    fn prepare(&mut self) {
        let mut worker = (self.worker)();
        self.calls = calls_of(|calls| timed(&mut worker, calls));
    }

    fn sample(&mut self, handle: &Handle) {
        let (mut mine, mut theirs) = ((self.worker)(), (self.worker)());
        self.alone
            .add(timed(&mut mine, self.calls).as_secs_f64() * 1e9 / f64::from(self.calls));

        let (theirs_made, over) = (AtomicU32::new(0), AtomicBool::new(false));
        let (took, met) = thread::scope(|scope| {
            scope.spawn(|| {
                let _context = handle.enter();
                while !over.load(Ordering::Relaxed) {
                    theirs(CHUNK);
                    theirs_made.fetch_add(CHUNK, Ordering::Relaxed);
                }
            });
            while theirs_made.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
            }
            let before = theirs_made.load(Ordering::Relaxed);
            let waiting = waited();
            let took = timed(&mut mine, self.calls);
            let waited = waited().saturating_sub(waiting);
            let met = theirs_made.load(Ordering::Relaxed) - before;
            over.store(true, Ordering::Relaxed);
            (took, met >= self.calls / 4 && waited < took / 20)
        });
        // On a busy machine the two may take turns instead; that shows nothing.
        if met {
            self.together.add(took.as_secs_f64() * 1e9 / f64::from(self.calls));
        }
    }
}

/// Measures the rows with two threads, `rounds` times in turn.
pub fn measure_shared(rows: &mut [Shared], rounds: u32, handle: &Handle) {
    for row in &mut *rows {
        row.prepare();
    }
    for _ in 0..rounds {
        for row in &mut *rows {
            row.sample(handle);
        }
    }
}

/// How long this thread has waited for a core so far; nothing where the system does not say.
fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn timed(worker: &mut Worker, calls: u32) -> Duration {
    let start = Instant::now();
    worker(calls);
    start.elapsed()
}

/// How many calls make a sample.
fn calls_of(mut run: impl FnMut(u32) -> Duration) -> u32 {
    let mut calls = 16;
    loop {
        // The least of some: one that the machine interrupted would make the samples too short to mean anything.
        let took = (0..5).map(|_| run(calls)).min().unwrap_or_default();
        if took >= SAMPLE / 4 || calls >= 1 << 22 {
            let wanted = f64::from(calls) * SAMPLE.as_secs_f64() / took.as_secs_f64().max(1e-9);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some thousand
            return wanted.clamp(16.0, f64::from(1 << 22)) as u32;
        }
        calls *= 2;
    }
}

#[allow(clippy::cast_precision_loss)] // small numbers
fn per_call(counted: u64, calls: u32) -> f64 {
    counted as f64 / f64::from(calls)
}
