//! Three processes and a real Redis, which is frozen, killed and started again while calls go on.

mod told;

use std::io::{self, BufRead, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use resilience_admin::Admin;
use resilience_runtime::{Guard, Policy, Runtime};
use resilience_test_servers::Redis;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::sleep;

const INTERVAL: Duration = Duration::from_millis(500);
/// Whoever waited for a Redis that does not answer would wait at least this long.
const STORE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(30);
/// Set for a child: the Redis.
const CHILD: &str = "FLEET_TEST_CHILD";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_see_where_they_differ_and_lose_nothing_with_the_redis() {
    if let Ok(redis) = std::env::var(CHILD) {
        return instance(&redis).await;
    }
    let Some(mut redis) = Redis::start() else { return };
    let mut fleet = Vec::new();
    for name in ["api-01", "api-02", "api-03"] {
        fleet.push(Process::start(name, &redis.url()).await);
    }
    for process in &fleet {
        process
            .until("all agree", |view| {
                view["instances"] == 3 && view["peers"] == Value::Array(Vec::new())
            })
            .await;
    }

    quiet_ones_open_together(&mut fleet).await;
    one_meets_elsewhere(&mut fleet).await;

    // One instance's breaker opens: everybody knows which, and it knows that it is alone.
    fleet[1].tell("fail").await;
    let view = fleet[0]
        .until("api-02 differs", |view| view["peers"][0]["instance"] == "api-02")
        .await;
    let differs = &view["peers"][0]["differs"][0];
    assert_eq!(
        (&differs["dependency"], &differs["there"], &differs["here"]),
        (&"payrail".into(), &"open".into(), &"closed".into())
    );
    assert!(differs["for"].as_f64().is_some_and(|since| since < 30.0), "{view}");
    fleet[1]
        .until("both others differ", |view| {
            view["peers"].as_array().is_some_and(|peers| peers.len() == 2)
        })
        .await;

    // A policy of its own is told by its hash.
    fleet[2].tell("reload").await;
    fleet[0]
        .until("api-03 has another policy", |view| {
            view["peers"][1]["policy"].is_string()
        })
        .await;

    let before = fleet[0].slowest().await;
    redis.freeze();
    fleet[0]
        .until("the frozen Redis is lost", |view| view["lost_for"].is_number())
        .await;
    // Nobody hears of anybody: five failures of others stay unknown, and the sixth opens nothing.
    for (process, times) in fleet.iter_mut().zip([1, 5, 0]) {
        for _ in 0..times {
            process.tell("fail another").await;
        }
    }
    sleep(3 * INTERVAL).await;
    let frozen = fleet[0].slowest().await;
    let another = fleet[0].dependency("another").await;
    assert_eq!((&another["state"], &another["calls"]), (&"closed".into(), &1.into()));
    assert_eq!(another.get("others"), None, "{another}");
    let view = fleet[0].view().await;
    assert_eq!(
        (&view["instances"], &view["peers"]),
        (&1.into(), &Value::Array(Vec::new())),
        "nobody knows of the others"
    );
    redis.thaw();
    fleet[0]
        .until("the others are back", |view| view["instances"] == 3)
        .await;

    // What was counted meanwhile is told now.
    let another = fleet[0].until_open("another", "the five are heard of").await;
    assert_eq!(another["opened"]["pooled"]["fleet"]["failed"], 6, "{another}");
    assert_eq!(
        fleet[2].dependency("another").await["state"],
        "closed",
        "it has seen none itself"
    );

    redis.kill();
    fleet[0]
        .until("the killed Redis is lost", |view| view["lost_for"].is_number())
        .await;
    sleep(3 * INTERVAL).await;
    let gone = fleet[0].slowest().await;
    redis.start_again(&[]);
    for process in &fleet {
        process.until("all are back", |view| view["instances"] == 3).await;
    }
    // The other may not have heard of `another` before the Redis was killed: then that differs too.
    let view = fleet[0].view().await;
    let differs = view["peers"][0]["differs"].as_array().into_iter().flatten();
    let payrail: Vec<_> = differs.filter(|one| one["dependency"] == "payrail").collect();
    assert!(payrail.iter().any(|one| one["there"] == "open"), "{view}");

    eprintln!("p99 of a guarded call: {before:?} with the Redis, {frozen:?} frozen, {gone:?} gone");
    for p99 in [before, frozen, gone] {
        assert!(p99 < STORE / 2, "a guarded call waited for the Redis: {p99:?}");
    }

    // Who ends is no longer counted.
    drop(fleet.pop());
    fleet[0].until("api-03 is gone", |view| view["instances"] == 2).await;
}

/// Two failures in each are too few for any of them, and enough for all together.
async fn quiet_ones_open_together(fleet: &mut [Process]) {
    for process in &mut *fleet {
        process.tell("fail once").await;
        process.tell("fail once").await;
    }
    for process in &*fleet {
        let open = process.until_open("quiet", "all have seen six of six").await;
        let pooled = &open["opened"]["pooled"];
        assert_eq!(
            (
                &pooled["own"]["failed"],
                &pooled["fleet"]["failed"],
                &pooled["instances"]
            ),
            (&2.into(), &6.into(), &3.into()),
            "{open}"
        );
        assert_eq!(
            (&open["opened"]["calls"], &open["cause"]),
            (&6.into(), &"failure_rate".into())
        );
    }
}

/// Whoever is told to meet elsewhere does, and comes back when it is told so.
async fn one_meets_elsewhere(fleet: &mut [Process]) {
    fleet[2].tell("elsewhere").await;
    fleet[0].until("api-03 went", |view| view["instances"] == 2).await;
    fleet[2].tell("back").await;
    fleet[0].until("api-03 came back", |view| view["instances"] == 3).await;
}

/// One instance of the service: the admin router, a load, and what it is told on its standard input.
async fn instance(redis: &str) {
    let policy = |timeout: &str, fleet: &str| {
        let breaker = "{ window = \"20 calls\", cooldown = \"1h\", cooldown_max = \"1h\" }";
        let payrail =
            format!("[dependency.payrail]\nfail = \"closed\"\ntimeout = \"{timeout}\"\nbreaker = {breaker}\n");
        let quiet = "fail = \"closed\"\ntimeout = \"1s\"\nbreaker = { window = \"1h\", minimum_calls = 6, cooldown = \"1h\", cooldown_max = \"1h\" }";
        let quiet = format!("[dependency.quiet]\n{quiet}\n[dependency.another]\n{quiet}\n");
        let free = "[dependency.redis]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n";
        let fleet = format!(
            "[fleet]\nredis = \"{redis}\"\nname = \"{fleet}\"\nevidence = \"pooled\"\ninterval = \"{}ms\"\n",
            INTERVAL.as_millis()
        );
        Policy::from_toml(&format!("version = 1\n{fleet}{payrail}{quiet}{free}")).expect("a good policy")
    };
    let runtime = Runtime::new(policy("1s", "test"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("\nat http://{}", listener.local_addr().expect("it is bound"));
    let app: Router = Admin::new(runtime.clone()).router();
    tokio::spawn(async move { axum::serve(listener, app).await });

    let took = Arc::new(Mutex::new(Vec::new()));
    tokio::spawn(load(runtime.guard("redis").expect("known"), Arc::clone(&took)));
    let guard = |name| runtime.guard(name).expect("known");
    let (payrail, quiet, another) = (guard("payrail"), guard("quiet"), guard("another"));
    let late = || async { Err::<(), _>(io::Error::from(io::ErrorKind::TimedOut)) };
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    while let Some(line) = told.recv().await {
        match line.as_str() {
            "fail" => {
                for _ in 0..20 {
                    let _ = payrail.call(late).await;
                }
            }
            "fail once" => drop(quiet.call(late).await),
            "fail another" => drop(another.call(late).await),
            "reload" => drop(runtime.reload(policy("2s", "test")).expect("a good policy")),
            "elsewhere" => drop(runtime.reload(policy("1s", "elsewhere")).expect("a good policy")),
            "back" => drop(runtime.reload(policy("1s", "test")).expect("a good policy")),
            "p99" => {
                let mut took: Vec<Duration> = std::mem::take(&mut *took.lock().expect("no panic under it"));
                took.sort();
                let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
                println!("\np99 {}", p99.as_micros());
            }
            other => panic!("told `{other}`"),
        }
        io::stdout().flush().expect("a reader");
    }
}

async fn load(guard: Guard, took: Arc<Mutex<Vec<Duration>>>) {
    loop {
        let begun = Instant::now();
        guard
            .call(|| async { Ok::<_, io::Error>(()) })
            .await
            .expect("nothing fails here");
        took.lock().expect("no panic under it").push(begun.elapsed());
        sleep(Duration::from_millis(1)).await;
    }
}

/// A child process that runs one instance.
struct Process {
    address: String,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    // Killed on drop.
    _child: Child,
}

impl Process {
    async fn start(name: &str, redis: &str) -> Self {
        let test = "three_instances_see_where_they_differ_and_lose_nothing_with_the_redis";
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", test, "--nocapture", "--quiet"])
            .env(CHILD, redis)
            .env("RESILIENCE_INSTANCE", name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut process = Self {
            address: String::new(),
            stdin: child.stdin.take().expect("it is piped"),
            lines: BufReader::new(child.stdout.take().expect("it is piped")).lines(),
            _child: child,
        };
        process.address = process.hear("at ").await;
        process
    }

    async fn tell(&mut self, line: &str) {
        self.stdin
            .write_all(format!("{line}\n").as_bytes())
            .await
            .expect("it listens");
    }

    async fn hear(&mut self, prefix: &str) -> String {
        loop {
            let line = self
                .lines
                .next_line()
                .await
                .expect("a pipe")
                .expect("a line before the end");
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.to_owned();
            }
        }
    }

    /// The p99 of its guarded calls since it was last asked.
    async fn slowest(&mut self) -> Duration {
        self.tell("p99").await;
        Duration::from_micros(self.hear("p99 ").await.parse().expect("a number"))
    }

    async fn view(&self) -> Value {
        let answer = reqwest::get(format!("{}/fleet", self.address))
            .await
            .expect("an answer");
        answer.json().await.expect("JSON")
    }

    async fn dependency(&self, name: &str) -> Value {
        let answer = reqwest::get(format!("{}/dependency/{name}", self.address))
            .await
            .expect("an answer");
        answer.json::<Value>().await.expect("JSON")["snapshot"].take()
    }

    async fn until_open(&self, name: &str, what: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.dependency(name).await;
            if found["state"] == "open" {
                return found;
            }
            assert!(Instant::now() < end, "never so: {what}: {found}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn until(&self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let view = self.view().await;
            if so(&view) {
                return view;
            }
            assert!(Instant::now() < end, "never so: {what}: {view}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}
