//! The slow phase of the example `stagedoor`, on real HTTP and simulated, under one policy: throughput and refusals agree.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use resilience_runtime::{Policy, Reason, Runtime};
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// What Payrail takes in the slow phase, and how many buyers come.
const LATENCY: Duration = Duration::from_millis(800);
const A_SECOND: u64 = 50;
const SECONDS: u64 = 6;
/// A busy machine makes everything later; then it is looked at again.
const TRIES: u32 = 3;

fn policy() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("resilience.toml")
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    ok: u64,
    full: u64,
    rest: u64,
}

/// Buyers in their rhythm, whatever the answers do.
async fn real() -> Seen {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let payrail = get(|| async {
        sleep(LATENCY).await;
        "paid"
    });
    let server = tokio::spawn(async move { axum::serve(listener, Router::new().route("/", payrail)).await });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let guard = Runtime::new(Policy::read(policy()).unwrap()).guard("payrail").unwrap();
    let counts = Arc::new([const { AtomicU64::new(0) }; 3]);
    let mut beat = interval(Duration::from_secs(1) / u32::try_from(A_SECOND).unwrap());
    beat.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut buyers = tokio::task::JoinSet::new();
    for _ in 0..A_SECOND * SECONDS {
        beat.tick().await;
        let (guard, http, counts) = (guard.clone(), http.clone(), Arc::clone(&counts));
        buyers.spawn(async move {
            let paid = guard
                .call(|| async { http.get(format!("http://{address}/")).send().await?.text().await })
                .await;
            let which = match paid {
                Ok(_) => 0,
                Err(failure)
                    if failure
                        .rejection()
                        .is_some_and(|refused| refused.reason() == Reason::BulkheadFull) =>
                {
                    1
                }
                Err(_) => 2,
            };
            counts[which].fetch_add(1, Ordering::Relaxed);
        });
    }
    while buyers.join_next().await.is_some() {}
    server.abort();
    let [ok, full, rest] = [0, 1, 2].map(|which| counts[which].load(Ordering::Relaxed));
    Seen { ok, full, rest }
}

fn simulated() -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("slow.toml");
    let text = format!(
        "duration = \"{}s\"\n[[caller]]\nname = \"buyers\"\ndependency = \"payrail\"\nrate = {A_SECOND}\nto = \"{SECONDS}s\"\n[[far.payrail]]\nlatency = \"{}ms\"\n",
        SECONDS + 2,
        LATENCY.as_millis()
    );
    std::fs::write(&scenario, text).unwrap();
    let words = ["resilience", "simulate", "--format", "json", "--policy"].map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = words.into_iter().chain([policy().into(), scenario.into()]);
    assert_eq!(resilience_cli::run(args, &mut out, &mut err), 0);
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let buyers = &report["summary"]["buyers"];
    let count = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let (ok, full) = (count(&buyers["ok"]), count(&buyers["rejected"]["bulkhead_full"]));
    Seen {
        ok,
        full,
        rest: count(&buyers["arrived"]) - ok - full,
    }
}

/// Within a tenth.
fn agree(real: u64, simulated: u64) -> bool {
    real.abs_diff(simulated) * 10 <= simulated
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slow_phase_on_loopback_and_simulated_agree_within_a_tenth() {
    let foreseen = simulated();
    assert!(
        foreseen.ok > 50 && foreseen.full > 150 && foreseen.rest == 0,
        "{foreseen:?}"
    );
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let real = real().await;
        if agree(real.ok, foreseen.ok) && agree(real.full, foreseen.full) {
            println!("foreseen {foreseen:?}, seen {real:?}");
            return;
        }
        seen.push(real);
    }
    panic!("foreseen {foreseen:?}, seen {seen:?}");
}
