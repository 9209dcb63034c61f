//! A service in trouble: `payments` open with cooldown left, `search` isolated by hand, five calls of `ledger` in
//! their slots, and two hundred calls a second. Whatever happens to the file, none of that may move.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use resilience_runtime::{Failure, Guard, Mode, Override, Policy, Reason, Resilience, Runtime};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::events::{Events, WITHIN, save};

/// What an edit may take until it is in force.
const PROMISED: Duration = Duration::from_secs(2);
/// How long the five calls hold their slots.
const HELD: Duration = Duration::from_secs(3);
/// Two readings of the clock may lie so far apart on a busy machine.
const NEAR: Duration = Duration::from_millis(200);
/// A call that waited for a lock would wait for as long as a look at the file takes, which is a tenth of a second and
/// more; so long a pause of the machine is told from it by the ticks of the load.
const DELAYED: Duration = Duration::from_millis(100);

/// The policy whose only moving number is `edition`: the timeout of `ledger` is so many milliseconds above ten seconds.
pub(crate) fn edition(edition: u64) -> String {
    format!(
        "\
# Who is on call may change any number here.
version = 1

[dependency.payments]
fail    = \"closed\"
timeout = \"1s\"
breaker = {{ window = \"4 calls\", minimum_calls = 4, cooldown = \"4s\", cooldown_jitter = 0.0 }}

[dependency.search]
fail    = \"open\"
timeout = \"1s\"

[dependency.ledger]
fail    = \"closed\"
timeout = \"{}ms\"

[dependency.ledger.bulkhead]
max_concurrent = 50
",
        10_000 + edition
    )
}

/// The hash of an edition.
pub(crate) fn hash(of: u64) -> String {
    Policy::from_toml(&edition(of)).unwrap().hash().to_owned()
}

/// A watched file in a folder of its own.
pub(crate) struct Watched {
    pub(crate) folder: TempDir,
    pub(crate) file: PathBuf,
    pub(crate) events: Events,
    pub(crate) runtime: Runtime,
    _resilience: Resilience,
}

impl Watched {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resilience.toml");
        save(&file, &edition(0));
        Self::at(folder, file)
    }

    /// With a file that stands there already.
    pub(crate) fn at(folder: TempDir, file: PathBuf) -> Self {
        let events = Events::listen();
        let resilience = resilience_runtime::init_from(&file).unwrap();
        let runtime = resilience.runtime().clone();
        // A name that code asked for is in use: a file without it is refused.
        for name in ["payments", "search", "ledger"] {
            runtime.guard(name).unwrap();
        }
        Self {
            folder,
            file,
            events,
            runtime,
            _resilience: resilience,
        }
    }

    pub(crate) fn hash(&self) -> String {
        self.runtime.snapshot().policy.hash
    }

    /// Waits until this edition is in force.
    #[track_caller]
    pub(crate) fn wait_for(&self, edition: u64) {
        let wanted = hash(edition);
        wait(&format!("edition {edition}"), || self.hash() == wanted);
    }
}

/// Waits for a condition, as long as a busy machine may need.
#[track_caller]
pub(crate) fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WITHIN, "{what}: not within {WITHIN:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) struct Rig {
    pub(crate) watched: Watched,
    tokio: tokio::runtime::Runtime,
    payments_due: Instant,
    held: Vec<JoinHandle<bool>>,
    load: Arc<Load>,
    ticking: JoinHandle<()>,
}

/// What the two hundred calls a second met.
#[derive(Default)]
struct Load {
    calls: AtomicU64,
    failed: AtomicU64,
    /// Nanoseconds: the longest call, and by how much a tick came late, which is the machine's own doing.
    longest: AtomicU64,
    latest: AtomicU64,
    over: AtomicBool,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::of(Watched::new())
    }

    pub(crate) fn of(watched: Watched) -> Self {
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let guard = |name| watched.runtime.guard(name).unwrap();
        let hand = Override::new(Mode::Isolate, "ops", "drill", Duration::from_secs(3_600));
        watched.runtime.set_mode("search", hand).unwrap();
        let ledger = guard("ledger");
        let held = (0..5).map(|_| tokio.spawn(hold(ledger.clone()))).collect();
        let load = Arc::new(Load::default());
        let ticking = tokio.spawn(tick(ledger, Arc::clone(&load)));
        let payments = guard("payments");
        for _ in 0..4 {
            assert!(!tokio.block_on(is_admitted(&payments, false)));
        }
        let read = || watched.runtime.snapshot().dependency("payments").unwrap().clone();
        let open = read();
        assert_eq!(open.state, Some("open"));
        let left = Duration::from_secs_f64(open.retry_after.unwrap());
        let rig = Self {
            payments_due: Instant::now() + left,
            watched,
            tokio,
            held,
            load,
            ticking,
        };
        rig.assert_kept(&hash(0));
        rig
    }

    /// Nothing moved: the policy in force, the open breaker, the hand, and every call of the load.
    #[track_caller]
    pub(crate) fn assert_kept(&self, hash: &str) {
        assert_eq!(self.watched.hash(), hash);
        let before = Instant::now();
        let snapshot = self.watched.runtime.snapshot();
        let state = snapshot.dependency("payments").unwrap().state;
        if Instant::now() + NEAR < self.payments_due {
            assert_eq!(state, Some("open"));
        } else if before > self.payments_due + NEAR {
            assert_eq!(state, Some("half_open"));
        }
        assert_eq!(snapshot.dependency("search").unwrap().mode, "isolate");
        let search = self.watched.runtime.guard("search").unwrap();
        let answer = self
            .tokio
            .block_on(search.call(|| async { Ok::<_, std::io::Error>(()) }));
        let Err(Failure::Rejected(rejection)) = answer else {
            panic!("`search` is not isolated any more: {answer:?}")
        };
        assert_eq!(rejection.reason(), Reason::Isolated);
        self.load.assert_untouched();
    }

    /// Calls of the load that have ended.
    pub(crate) fn calls(&self) -> u64 {
        self.load.calls.load(Ordering::Relaxed)
    }

    /// The text of the one refusal, which is shown as long as it is so.
    #[track_caller]
    pub(crate) fn refused(&self) -> String {
        let event = self.watched.events.next("policy.refused");
        let snapshot = self.watched.runtime.snapshot().policy;
        assert!(snapshot.stale, "{event}");
        let shown = snapshot.refusal.expect("a stale policy says why");
        assert!(event.contains(&shown), "{event}\n{shown}");
        assert!(
            event.contains(&format!(
                "(hash {}) stays in force for all 3 dependencies",
                snapshot.hash
            )),
            "{event}"
        );
        event
    }

    /// Saves another edition, which is in force within what is promised, and sees everything out: the slots come back,
    /// and `payments` is due at the instant at which it was.
    #[track_caller]
    pub(crate) fn finish(mut self, next: u64) {
        let (saved, before) = (Instant::now(), kept_waiting());
        save(&self.watched.file, &edition(next));
        self.watched.wait_for(next);
        let late = Duration::from_nanos(self.load.latest.load(Ordering::Relaxed)) + longest(&before, &kept_waiting());
        assert!(
            saved.elapsed() < PROMISED + late,
            "{:?} on a machine that was {late:?} late",
            saved.elapsed()
        );
        assert!(!self.watched.runtime.snapshot().policy.stale);
        self.assert_kept(&hash(next));
        for held in std::mem::take(&mut self.held) {
            assert!(self.tokio.block_on(held).unwrap(), "a held call was cut");
        }
        self.load.over.store(true, Ordering::Relaxed);
        let ticking = std::mem::replace(&mut self.ticking, self.tokio.spawn(async {}));
        self.tokio.block_on(ticking).unwrap();
        self.assert_kept(&hash(next));
        let snapshot = self.watched.runtime.snapshot();
        assert_eq!(snapshot.dependency("ledger").unwrap().in_flight, 0);
        assert!(self.load.calls.load(Ordering::Relaxed) > 200);
        let payments = self.watched.runtime.guard("payments").unwrap();
        wait("the probe of `payments`", || {
            self.tokio.block_on(is_admitted(&payments, true))
        });
        assert!(Instant::now() + NEAR > self.payments_due, "due too early");
    }
}

impl Load {
    #[track_caller]
    fn assert_untouched(&self) {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        assert_eq!(read(&self.failed), 0, "failed of {} calls", read(&self.calls));
        let (longest, latest) = (
            Duration::from_nanos(read(&self.longest)),
            Duration::from_nanos(read(&self.latest)),
        );
        assert!(
            longest < DELAYED + latest,
            "a call took {longest:?} on a machine that was {latest:?} late"
        );
    }
}

async fn is_admitted(guard: &Guard, good: bool) -> bool {
    let answer = guard
        .call(|| async {
            if good {
                Ok(())
            } else {
                Err(std::io::Error::other("down"))
            }
        })
        .await;
    answer.is_ok()
}

async fn hold(guard: Guard) -> bool {
    guard
        .call(|| async {
            tokio::time::sleep(HELD).await;
            Ok::<_, std::io::Error>(())
        })
        .await
        .is_ok()
}

async fn tick(guard: Guard, load: Arc<Load>) {
    const EVERY: Duration = Duration::from_millis(5);
    let mut due = tokio::time::Instant::now();
    while !load.over.load(Ordering::Relaxed) {
        due += EVERY;
        tokio::time::sleep_until(due).await;
        let begun = tokio::time::Instant::now();
        let ended = guard.call(|| async { Ok::<_, std::io::Error>(()) }).await;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        load.calls.fetch_add(1, Ordering::Relaxed);
        load.failed.fetch_add(u64::from(ended.is_err()), Ordering::Relaxed);
        load.latest.fetch_max(nanos(begun - due), Ordering::Relaxed);
        load.longest.fetch_max(nanos(begun.elapsed()), Ordering::Relaxed);
    }
}

/// By thread, how long it was ready to run and did not get to, which is the machine's own doing. Empty where no kernel
/// counts it.
fn kept_waiting() -> BTreeMap<PathBuf, Duration> {
    let waited = |thread: &Path| {
        let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        let nanos = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter_map(|thread| Some((thread.path(), waited(&thread.path())?)))
        .collect()
}

/// The longest that one thread was kept waiting in between.
fn longest(before: &BTreeMap<PathBuf, Duration>, after: &BTreeMap<PathBuf, Duration>) -> Duration {
    let kept =
        |(thread, now): (&PathBuf, &Duration)| now.saturating_sub(before.get(thread).copied().unwrap_or_default());
    after.iter().map(kept).max().unwrap_or_default()
}

/// A file beside the policy's, in the same folder.
pub(crate) fn beside(file: &Path, name: &str) -> PathBuf {
    file.with_file_name(name)
}
