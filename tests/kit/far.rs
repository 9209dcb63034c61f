//! The far side: answers as a script says, and counts what reaches it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use resilience_runtime::{Classify, FailureKind, Outcome, Rejection};
use tokio::sync::Semaphore;

/// An error of the far side, one variant per class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FarError {
    Business,
    Failed(FailureKind),
    Throttled(Option<Duration>),
    Ignored,
    /// What a guarded function makes of a rejection.
    Rejected(&'static str),
}

impl FarError {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Business => "business",
            Self::Failed(kind) => kind.as_str(),
            Self::Throttled(_) => "throttled",
            Self::Ignored => "ignored",
            Self::Rejected(reason) => reason,
        }
    }
}

impl std::fmt::Display for FarError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl std::error::Error for FarError {}

impl Classify for FarError {
    fn classify(&self) -> Outcome {
        match *self {
            Self::Business => Outcome::Business,
            Self::Failed(kind) => Outcome::Failure(kind),
            Self::Throttled(retry_after) => Outcome::Throttled { retry_after },
            Self::Ignored | Self::Rejected(_) => Outcome::Ignored,
        }
    }
}

impl From<Rejection> for FarError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection.reason().as_str())
    }
}

/// What one run of a body does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Success,
    Error(FarError),
    Hang,
    Panic,
}

/// A body that does one step per run, in turn, and the last one ever after.
///
/// Letters: `S` success, `B` (or `N`) business, `F` server failure, `C` connect, `T` timeout, `X` protocol, `O` other,
/// `Q` throttled (`Q30s`: come back in 30 s), `I` ignored, `H` never ends, `P` panics. After a slash how long it takes:
/// `S/900ms`. `20*F` is twenty of them.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    steps: Vec<(Step, Duration)>,
    next: AtomicUsize,
    ends: AtomicUsize,
    running: AtomicUsize,
    peak: AtomicUsize,
}

impl Script {
    pub(crate) fn new(text: &str) -> Self {
        let steps = text.split_whitespace().flat_map(parse).collect::<Vec<_>>();
        assert!(!steps.is_empty(), "a script has a step");
        Self {
            inner: Arc::new(Inner {
                steps,
                next: AtomicUsize::new(0),
                ends: AtomicUsize::new(0),
                running: AtomicUsize::new(0),
                peak: AtomicUsize::new(0),
            }),
        }
    }

    /// One run. It begins, and counts as a start, when it is first polled. The answer is the number of the run, from 1.
    pub(crate) fn run(&self) -> impl Future<Output = Result<usize, FarError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        async move {
            let number = inner.next.fetch_add(1, Ordering::Relaxed);
            let running = inner.running.fetch_add(1, Ordering::Relaxed) + 1;
            inner.peak.fetch_max(running, Ordering::Relaxed);
            let _leaving = Leaving(&inner);
            let (step, takes) = inner.steps[number.min(inner.steps.len() - 1)];
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            match step {
                Step::Success => Ok(number + 1),
                Step::Error(error) => Err(error),
                Step::Hang => std::future::pending().await,
                Step::Panic => panic!("the body panics as the script says"),
            }
        }
    }

    /// Runs that began.
    pub(crate) fn starts(&self) -> usize {
        self.inner.next.load(Ordering::Relaxed)
    }

    /// Runs that ended, by whatever way.
    pub(crate) fn ends(&self) -> usize {
        self.inner.ends.load(Ordering::Relaxed)
    }

    /// Runs that are under way.
    pub(crate) fn running(&self) -> usize {
        self.inner.running.load(Ordering::Relaxed)
    }

    /// The most runs that were ever under way at once.
    pub(crate) fn peak(&self) -> usize {
        self.inner.peak.load(Ordering::Relaxed)
    }
}

struct Leaving<'i>(&'i Inner);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.ends.fetch_add(1, Ordering::Relaxed);
    }
}

fn parse(word: &str) -> Vec<(Step, Duration)> {
    let (count, word) = word
        .split_once('*')
        .map_or((1, word), |(count, word)| (count.parse().unwrap(), word));
    let (letter, takes) = word
        .split_once('/')
        .map_or((word, Duration::ZERO), |(letter, takes)| (letter, time(takes)));
    let step = match letter {
        "S" => Step::Success,
        "B" | "N" => Step::Error(FarError::Business),
        "F" => Step::Error(FarError::Failed(FailureKind::Server)),
        "C" => Step::Error(FarError::Failed(FailureKind::Connect)),
        "T" => Step::Error(FarError::Failed(FailureKind::Timeout)),
        "X" => Step::Error(FarError::Failed(FailureKind::Protocol)),
        "O" => Step::Error(FarError::Failed(FailureKind::Other)),
        "I" => Step::Error(FarError::Ignored),
        "Q" => Step::Error(FarError::Throttled(None)),
        "H" => Step::Hang,
        "P" => Step::Panic,
        _ => match letter.strip_prefix('Q') {
            Some(wait) => Step::Error(FarError::Throttled(Some(time(wait)))),
            None => panic!("`{letter}` is no step of a script"),
        },
    };
    vec![(step, takes); count]
}

fn time(text: &str) -> Duration {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().unwrap();
    match &text[digits.len()..] {
        "us" => Duration::from_secs_f64(number / 1e6),
        "ms" => Duration::from_secs_f64(number / 1e3),
        "s" => Duration::from_secs_f64(number),
        unit => panic!("`{unit}` is no unit of a script"),
    }
}

/// Bodies that wait until they are let go, one by one or all at once.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    script: Script,
}

impl Gate {
    /// Bodies that answer as `script` says once they are let go.
    pub(crate) fn new(script: &str) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(0)),
            script: Script::new(script),
        }
    }

    /// One body: counts as a start at once, and answers when it is let go.
    pub(crate) fn run(&self) -> impl Future<Output = Result<usize, FarError>> + Send + use<> {
        let (permits, inner) = (Arc::clone(&self.permits), self.script.clone());
        async move {
            inner.inner.running.fetch_add(1, Ordering::Relaxed);
            let running = inner.running();
            inner.inner.peak.fetch_max(running, Ordering::Relaxed);
            let leaving = Leaving(&inner.inner);
            permits.acquire().await.unwrap().forget();
            // From here on the run counts itself.
            drop(leaving);
            inner.inner.ends.fetch_sub(1, Ordering::Relaxed);
            inner.run().await
        }
    }

    /// Lets so many bodies go, those that wait first.
    pub(crate) fn open(&self, bodies: usize) {
        self.permits.add_permits(bodies);
    }

    /// Bodies that are under way.
    pub(crate) fn running(&self) -> usize {
        self.script.running()
    }

    /// The most that ever were.
    pub(crate) fn peak(&self) -> usize {
        self.script.peak()
    }

    /// Bodies that were let go.
    pub(crate) fn let_go(&self) -> usize {
        self.script.starts()
    }
}
