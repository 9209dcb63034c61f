//! A snapshot as JSON: each field in its place, and what other instances told survives the way there and back.

use std::collections::HashSet;

use resilience_runtime::{Counted, Mode, Override, Snapshot};
use serde::Serialize;

use crate::kit::{Script, calls, runtime, secs};

/// A runtime whose breaker opened on what it and another instance counted, under an operator's hand.
async fn with_everything() -> Snapshot {
    let lines = r#"
        timeout = "1s"
        breaker.window = "10m"
        breaker.minimum_calls = 4
    "#;
    let (here, there) = (runtime(lines), runtime(lines));
    for runtime in [&here, &there] {
        calls(&runtime.guard("far").unwrap(), &Script::new("C C C"), 3).await;
    }
    let told = there.counted();
    let text = serde_json::to_string(&told).unwrap();
    let heard: Counted = serde_json::from_str(&text).unwrap();
    assert_eq!(heard, told, "{text}");
    here.pool(&[heard]);
    let mut hand = Override::new(Mode::Observe, "ops", "a look", secs(60));
    hand.answer = Some("later".to_owned());
    here.set_mode("far", hand).unwrap();
    here.snapshot()
}

/// The keys of the JSON in their order, each once.
fn keys(of: &impl Serialize) -> String {
    let json = serde_json::to_string(of).unwrap();
    let mut seen = HashSet::new();
    let texts: Vec<&str> = json.split('"').collect();
    let keys = texts
        .windows(2)
        .filter(|pair| pair[1].starts_with(':'))
        .map(|pair| pair[0]);
    keys.filter(|key| seen.insert(*key)).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_written_field_by_field_in_the_order_of_its_types() {
    let snapshot = with_everything().await;
    let far = snapshot.dependency("far").unwrap();
    assert_eq!(
        keys(&snapshot.policy),
        "hash file loaded_at stale refusal reloads accepted refused reloaded_at"
    );
    assert_eq!(keys(&snapshot.requests), "total degraded degraded_ratio");
    assert_eq!(
        keys(&far.opened),
        "at from to cause calls failure_rate slow_rate bad_rate counts business cancelled failure ignored panicked slow \
         success throttled uncounted threshold key value file line kinds policy_hash cooldown pooled own failed bad fleet \
         instances"
    );
    assert_eq!(keys(&far.overridden), "mode by reason until answer");
    assert_eq!(keys(&far.numbers[0]), "key value file line from");
    assert_eq!(keys(&far.others), "calls failed slow bad count instances");
    let json = serde_json::to_string(&snapshot).unwrap();
    assert!(json.starts_with("{\"instance\":\""), "{json}");
    let places = [
        "\"policy\":",
        "\"requests\":",
        "\"dependencies\":",
        "\"state\":",
        "\"mode\":",
        "\"cause\":",
        "\"since\":",
        "\"in_flight\":",
        "\"limit\":",
        "\"waiting\":",
        "\"max_waiting\":",
        "\"retry_budget\":",
        "\"fallbacks\":",
        "\"override\":",
        "\"functions\":",
        "\"about\":",
        "\"fail\":",
        "\"agreed\":",
        "\"window\":",
        "\"minimum_calls\":",
        "\"open_for\":",
        "\"next_probe_in\":",
        "\"opened\":",
        "\"transitions\":",
        "\"openings\":",
        "\"flapping\":",
        "\"outcomes\":",
        "\"served\":",
        "\"attempts\":",
        "\"rejections\":",
        "\"retries\":",
        "\"probes\":",
        "\"never_ran\":",
        "\"untried\":",
        "\"numbers\":",
        "\"others\":",
    ]
    .map(|key| json.find(key).unwrap_or_else(|| panic!("{key} in {json}")));
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_left_out_or_null_as_it_always_was() {
    let snapshot = runtime("timeout = \"1s\"\nbreaker = {}").snapshot();
    let json = serde_json::to_string(&snapshot).unwrap();
    assert!(!json.contains("\"others\"") && !json.contains("\"pooled\""), "{json}");
    assert!(
        json.contains("\"opened\":null") && json.contains("\"override\":null"),
        "{json}"
    );
}
