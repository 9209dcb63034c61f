//! Why it opened: what a snapshot and an event say of it, and what they say of one that never did.

use resilience_runtime::testing::record;
use resilience_runtime::{Policy, Runtime};

use crate::kit::{self, Script, secs};
use crate::stand::Stand;

const FLAKY: &str = r#"
timeout = "1s"
breaker.window = "4 calls"
breaker.failure_rate = 0.5
breaker.cooldown = "10s"
breaker.cooldown_jitter = 0.0
breaker.cooldown_factor = 1.0
"#;

#[tokio::test(start_paused = true)]
async fn an_opening_is_kept_with_counts_rates_threshold_kinds_and_policy() {
    let far = Stand::new(FLAKY);
    let (_, events) = record(far.each("S N F F")).await;
    let read = far.read();
    let opened = read.opened.clone().expect("it opened");
    assert_eq!(
        (opened.from, opened.to, opened.cause, opened.calls),
        ("closed", "open", "failure_rate", 4)
    );
    assert_eq!((opened.failure_rate, opened.slow_rate), (Some(0.5), Some(0.0)));
    let counts: Vec<_> = opened.counts.iter().filter(|(_, count)| **count > 0).collect();
    assert_eq!(counts, [(&"business", &1), (&"failure", &2), (&"success", &1)]);
    let threshold = opened.threshold.expect("a number decided");
    assert_eq!(
        (threshold.key, threshold.value.to_string(), threshold.line),
        ("breaker.failure_rate", "0.5".to_owned(), Some(7))
    );
    assert_eq!(opened.kinds.len(), 2);
    assert_eq!(
        (opened.cooldown, opened.policy_hash),
        (Some(10.0), far.runtime.snapshot().policy.hash)
    );
    assert_eq!((read.open_for, read.next_probe_in), (Some(0.0), Some(10.0)));
    let told = |name| events[0].field(name).unwrap_or_default();
    assert!(
        told("threshold").starts_with("breaker.failure_rate = 0.5 at "),
        "{events:?}"
    );
    assert!(told("threshold").ends_with(":7"), "{events:?}");
    assert_eq!(
        (told("kinds"), told("policy_hash")),
        (&*opened.kinds.join(", "), &*read_hash(&far.runtime))
    );
    assert!(told("counts").starts_with("1 success, 1 business, 2 "), "{events:?}");
}

fn read_hash(runtime: &Runtime) -> String {
    runtime.snapshot().policy.hash
}

#[tokio::test(start_paused = true)]
async fn an_opening_by_time_outs_names_them_and_one_by_slow_answers_the_slow_mark() {
    let far = Stand::new(&format!(
        "{FLAKY}breaker.slow_after = \"100ms\"\nbreaker.slow_rate = 0.25\n"
    ));
    far.each("S S S S/300ms").await;
    let opened = far.read().opened.expect("it opened");
    assert_eq!((opened.cause, opened.kinds), ("slow_rate", vec!["slow"]));
    assert_eq!(
        opened.threshold.map(|threshold| threshold.key),
        Some("breaker.slow_rate")
    );
    assert_eq!((opened.counts["success"], opened.counts["slow"]), (4, 1));
    let far = Stand::new(FLAKY);
    far.each("S S H H").await;
    assert_eq!(far.read().opened.expect("it opened").kinds, ["timeout", "timeout"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_does_not_hide_why_it_opened_or_since_when() {
    let far = Stand::new(FLAKY);
    far.each("F F F F").await;
    for _ in 0..40 {
        tokio::time::advance(secs(10)).await;
        far.one("F").await;
    }
    let read = far.read();
    assert_eq!((read.state, read.open_for), (Some("open"), Some(400.0)));
    assert_eq!(read.transitions.len(), 32, "the last ones are kept");
    assert!(read.transitions.iter().all(|change| change.cause != "failure_rate"));
    assert_eq!(read.opened.map(|opened| opened.cause), Some("failure_rate"));
    assert_eq!((read.probes["failure"], read.probes["success"]), (40, 0));
    assert_eq!(
        (read.openings, read.flapping),
        (1, false),
        "it fell once and stays down"
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_heals_for_a_moment_and_falls_again_is_flapping() {
    let far = Stand::new(FLAKY);
    for round in 1..=4 {
        far.each("F F F F").await;
        let read = far.read();
        assert_eq!((read.openings, read.flapping), (round, round >= 3));
        tokio::time::advance(secs(10)).await;
        far.one("S").await;
    }
    tokio::time::advance(secs(600)).await;
    assert_eq!((far.read().openings, far.read().flapping), (0, false));
    assert_eq!(far.read().open_for, None);
}

#[tokio::test(start_paused = true)]
async fn sd_r41_one_that_never_opened_shows_what_it_saw_and_did_not_count() {
    let far = Stand::new(&format!("{FLAKY}failures = [\"timeout\"]\n"));
    far.each("F F F F Q I S").await;
    let read = far.read();
    assert_eq!((read.state, read.calls), (Some("closed"), 1));
    let uncounted: Vec<_> = read.uncounted.iter().map(|(word, count)| (*word, *count)).collect();
    assert_eq!(
        uncounted.iter().map(|(_, count)| count).sum::<u64>(),
        6,
        "{uncounted:?}"
    );
    assert_eq!((read.uncounted["throttled"], read.uncounted["ignored"]), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_shares_the_breaker_counts_for_its_opening() {
    let text = format!(
        "version = 1\n[dependency.far]\nfail = \"closed\"\n{FLAKY}\n[dependency.far.operation.near]\ntimeout = \"2s\"\n"
    );
    let runtime = Runtime::new(kit::parse(&text));
    let (far, near) = (runtime.guard("far").unwrap(), runtime.guard("far.near").unwrap());
    let script = Script::new("S S F F");
    for guard in [&near, &far, &near, &far] {
        kit::call(guard, &script).await;
    }
    let snapshot = runtime.snapshot();
    for name in ["far", "far.near"] {
        let opened = snapshot.dependency(name).unwrap().opened.clone().expect("it opened");
        assert_eq!((opened.counts["success"], opened.counts["failure"]), (2, 2), "{name}");
    }
    let outcomes = |name| snapshot.dependency(name).unwrap().outcomes.clone();
    assert_eq!((outcomes("far")["success"], outcomes("far.near")["success"]), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_numbers_in_force_stand_with_their_places_and_reloads_are_counted() {
    let far = Stand::new(FLAKY);
    let number = |key: &str| {
        let numbers = far.read().numbers;
        let number = numbers
            .into_iter()
            .find(|number| number.key == key)
            .expect("it is in force");
        (number.value.to_string(), number.line, number.from)
    };
    assert_eq!(
        number("breaker.window"),
        ("4 calls".to_owned(), Some(6), "own".to_owned())
    );
    assert_eq!(number("breaker.probes"), ("1".to_owned(), None, "built in".to_owned()));
    assert_eq!(
        (far.read().window.as_deref(), far.read().minimum_calls),
        (Some("4 calls"), Some(4))
    );
    far.runtime
        .reload(kit::policy(&FLAKY.replace("4 calls", "5 calls")))
        .unwrap();
    let lost = Policy::from_toml("version = 1\n[dependency.other]\nfail = \"open\"\n").unwrap();
    far.runtime.reload(lost).unwrap_err();
    let policy = far.runtime.snapshot().policy;
    assert_eq!(
        (
            policy.reloads.accepted,
            policy.reloads.refused,
            policy.reloaded_at.len()
        ),
        (1, 1, 1)
    );
    assert!(policy.stale);
}

#[tokio::test(start_paused = true)]
async fn calls_attempts_and_rejections_are_told_by_outcome() {
    let far = Stand::new(&format!("{FLAKY}retry = {{ max_attempts = 2, backoff = \"1ms\" }}\n"));
    far.each("S N F S F F Q").await;
    let read = far.read();
    assert_eq!(read.outcomes.values().sum::<u64>(), read.served.values().sum::<u64>());
    assert_eq!((read.outcomes["success"], read.outcomes["business"]), (2, 1));
    assert!(read.retries > 0);
    assert_eq!(read.attempts["success"] + read.attempts["business"], 3);
    assert!(read.rejections["open"] > 0, "it opened in between");
    assert_eq!(read.rejections.values().sum::<u64>(), read.outcomes["rejected"]);
}
