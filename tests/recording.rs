//! `resilience record` against a service under load, on real sockets: what is written is what the service counted, and
//! `suggest` and `simulate` read it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use axum::Router;
use resilience_admin::Admin;
use resilience_runtime::{Classify, Failure, FailureKind, Outcome, Policy, Runtime, bulkhead, fallback};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

/// A busy machine is slow; whoever waits longer waits in vain.
const WITHIN: Duration = Duration::from_secs(60);

const POLICY: &str = "
version = 1
# A long name makes long lines: the sockets are full sooner.
runtime.instance = \"an-instance-with-a-very-long-name-01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
[dependency.farms]
fail = \"closed\"
timeout = \"200ms\"
breaker = { window = \"100 calls\", failure_rate = 0.9 }
bulkhead = { max_concurrent = 6, per_key = 4 }
[dependency.search]
fail = \"open\"
timeout = \"20ms\"
retry = { max_attempts = 2, backoff = \"1ms\", budget = 1.0 }
";

#[derive(Debug)]
struct Answer(Outcome);

impl Classify for Answer {
    fn classify(&self) -> Outcome {
        self.0
    }
}

/// As it goes: mostly good, now and then a no, and sometimes nothing at all.
async fn answer(call: usize, bounded: bool) -> Result<usize, Answer> {
    sleep(Duration::from_millis(1 + call as u64 % 3)).await;
    match call % 20 {
        7 => Err(Answer(Outcome::Business)),
        13 => Err(Answer(Outcome::Failure(FailureKind::Connect))),
        17 => Err(Answer(Outcome::Throttled { retry_after: None })),
        19 if bounded => std::future::pending().await,
        19 => Err(Answer(Outcome::Failure(FailureKind::Timeout))),
        _ => Ok(call),
    }
}

#[bulkhead("farms", key = farm)]
#[fallback(none = "the writer tries again later")]
async fn write(farm: usize, call: usize) -> Result<usize, Failure<Answer>> {
    answer(call, false).await.map_err(Failure::Error)
}

/// A service with its admin page; it goes down when `stop` is sent.
struct Service {
    runtime: Runtime,
    address: SocketAddr,
    stop: watch::Sender<bool>,
}

impl Service {
    async fn start() -> Self {
        let runtime = Runtime::new(Policy::from_toml(POLICY).unwrap());
        let (stop, until) = watch::channel(false);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let admin = Admin::new(runtime.clone()).until(until.clone()).record();
        let app = Router::new().nest("/admin", admin.router());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { runtime, address, stop }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/admin/{path}", self.address)
    }

    /// Eight tasks that write and search.
    async fn load(&self, calls: usize) {
        let mut tasks = JoinSet::new();
        for task in 0..8 {
            let search = self.runtime.guard("search").unwrap();
            let all = async move {
                for call in 0..calls {
                    let _ = write(task % 2, call).await;
                    let _ = search.call(|| answer(call, true)).await;
                }
            };
            tasks.spawn(self.runtime.scope(all));
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
    }
}

fn resilience(words: Vec<OsString>) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once(OsString::from("resilience")).chain(words);
    let code = resilience_cli::run(args, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// As [`resilience`], of a line in which `@` is the next path.
fn run(line: &str, paths: &[&Path]) -> (u8, String, String) {
    let mut paths = paths.iter();
    let word = |word: &str| match word {
        "@" => OsString::from(paths.next().unwrap()),
        word => OsString::from(word),
    };
    resilience(line.split(' ').map(word).collect())
}

async fn begun(trace: PathBuf) {
    let since = Instant::now();
    while std::fs::read(&trace).unwrap_or_default().is_empty() {
        assert!(since.elapsed() < WITHIN, "nobody began to record");
        sleep(Duration::from_millis(5)).await;
    }
}

/// What is more than nothing.
fn counted(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    some.map(|(word, count)| ((*word).to_owned(), *count)).collect()
}

/// Attempts by the snapshot's words and rejections by their reasons, in the rows of one dependency.
fn rows(text: &str, dependency: &str) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let (mut attempts, mut rejections) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[5] != dependency {
            continue;
        }
        let (counts, word) = match (fields[2], fields[3]) {
            ("rejected", reason) => (&mut rejections, reason),
            ("failure", kind) => (&mut attempts, kind),
            ("timed_out", _) => (&mut attempts, "timeout"),
            (outcome, _) => (&mut attempts, outcome),
        };
        *counts.entry(word.to_owned()).or_insert(0) += 1;
    }
    (attempts, rejections)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_recorded_is_what_the_service_counted_and_suggest_and_simulate_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, policy) = (folder.path().join("trace.csv"), folder.path().join("resilience.toml"));
    std::fs::write(&policy, POLICY).unwrap();
    let service = Service::start().await;
    let (url, to) = (service.url("page"), trace.clone());
    let recording = spawn_blocking(move || run(&format!("record {url} -o @"), &[&to]));
    begun(trace.clone()).await;
    service.load(120).await;
    service.stop.send(true).unwrap();
    let (code, _, err) = recording.await.unwrap();
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("ended the recording: the service went down"), "{err}");
    assert!(!err.contains("lost"), "{err}");

    let text = std::fs::read_to_string(&trace).unwrap();
    let snapshot = service.runtime.snapshot();
    let mut reached = BTreeMap::new();
    for name in ["farms", "search"] {
        let (attempts, rejections) = rows(&text, name);
        let seen = snapshot.dependency(name).unwrap();
        assert_eq!(attempts, counted(&seen.attempts), "{name}");
        assert!(attempts.len() >= 5, "{attempts:?}");
        let mut refused = counted(&seen.rejections);
        refused.remove("timed_out");
        assert_eq!(rejections, refused, "{name}");
        let known = ["success", "business", "connect", "timeout", "throttled"];
        reached.insert(name, known.iter().map(|word| attempts[*word]).sum::<u64>());
    }
    assert!(
        rows(&text, "farms").1["bulkhead_full"] > 0,
        "the load was to be more than there is room for"
    );
    assert!(text.contains(",recording::write\n"));
    let keys: HashSet<_> = text
        .lines()
        .filter(|line| line.contains("recording::write"))
        .map(|line| line.split(',').nth(4))
        .collect();
    assert_eq!(keys.len(), 2, "two farms, and nobody knows which");

    let (code, out, err) = run("suggest @ --policy @ --format json", &[&trace, &policy]);
    assert_eq!(code, 0, "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    let evidence = &told["dependencies"]["farms"]["evidence"];
    assert_eq!(
        evidence["calls"],
        text.lines().filter(|line| line.contains(",farms,")).count(),
        "{out}"
    );
    assert_eq!(evidence["rejected"], rows(&text, "farms").1.values().sum::<u64>());

    let (code, out, err) = run(
        "simulate @ --policy @ --dependency farms --format json",
        &[&trace, &policy],
    );
    assert_eq!(code, 0, "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["summary"]["farms"]["arrived"], reached["farms"], "{err}");
    let (code, _, err) = run(
        "simulate @ --policy @ --dependency search --format json",
        &[&trace, &policy],
    );
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("attempts repeated another of the same call"), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_reads_slowly_loses_calls_hears_how_many_and_holds_no_call_up() {
    const CALLS: usize = 120_000;
    let folder = tempfile::tempdir().unwrap();
    let (saved, trace) = (folder.path().join("saved.jsonl"), folder.path().join("trace.csv"));
    let service = Service::start().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut stream = client.get(service.url("calls?dependency=farms")).send().await.unwrap();
    let first = stream.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"# {"));
    // Nothing is read while they run: the sockets are full soon, and then the queue.
    let guard = service.runtime.guard("farms").unwrap();
    for call in 0..CALLS {
        guard.call_once(async { Ok::<_, Answer>(call) }).await.unwrap();
    }
    service.stop.send(true).unwrap();
    let mut text = first.to_vec();
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.extend_from_slice(&chunk);
    }
    std::fs::write(&saved, &text).unwrap();
    let said = String::from_utf8(text).unwrap();
    let end: Value = serde_json::from_str(said.lines().last().unwrap().strip_prefix('#').unwrap()).unwrap();
    let (calls, lost) = (end["calls"].as_u64().unwrap(), end["lost"].as_u64().unwrap());
    assert_eq!((calls + lost, &end["end"]), (CALLS as u64, &Value::Bool(true)));
    assert!(lost > 0, "{end}");
    let (code, _, err) = run("record @ -o @", &[&saved, &trace]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains(&format!("{calls} lines written")), "{err}");
    assert!(err.contains(&format!("{lost} more were lost")), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_after_the_time_that_was_asked_for_and_a_service_that_dies_leaves_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (timed, cut) = (folder.path().join("timed.csv"), folder.path().join("cut.csv"));
    let service = Service::start().await;
    let (url, to) = (service.url(""), timed.clone());
    let recording = spawn_blocking(move || run(&format!("record {url} --for 600ms -o @"), &[&to]));
    begun(timed).await;
    service.load(2).await;
    let (code, _, err) = recording.await.unwrap();
    assert_eq!(code, 0, "{err}");

    // A service on a runtime of its own, which dies without a word.
    let own = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let dying = own.spawn(Service::start()).await.unwrap();
    let (url, to) = (dying.url("calls"), cut.clone());
    let recording = spawn_blocking(move || run(&format!("record {url} -o @"), &[&to]));
    begun(cut.clone()).await;
    dying.load(2).await;
    let since = Instant::now();
    while std::fs::read_to_string(&cut).unwrap().lines().count() < 3 {
        assert!(since.elapsed() < WITHIN, "nothing was written");
        sleep(Duration::from_millis(5)).await;
    }
    own.shutdown_background();
    let (code, _, err) = recording.await.unwrap();
    assert!(
        code == 1 && err.contains("was lost") && err.contains("what came before is kept"),
        "{err}"
    );
    let text = std::fs::read_to_string(&cut).unwrap();
    assert!(
        text.ends_with('\n') && text.lines().all(|line| line.split(',').count() == 9),
        "{text}"
    );
}
