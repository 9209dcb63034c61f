//! Numbers that change while calls run. What a call took it gives back to where it took it.

use std::fmt::Write as _;

use resilience_runtime::testing::record;
use resilience_runtime::{FailureKind, Guard, Runtime};

use crate::kit::{FarError, Gate, Script, call, calls, parse, policy, poll_once, secs, seen, settle, state_of};
use crate::stand::{Stand, transitions, words};

const SLOT: &str = "bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"1h\" }";

#[tokio::test(start_paused = true)]
async fn a_slot_comes_back_though_the_table_went_away_and_came_again() {
    let far = Stand::new(SLOT);
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 2).await;
    assert_eq!(far.slots(), (1, 1));
    far.runtime.reload(policy("timeout = \"1h\"")).unwrap();
    // Nobody is bounded now, and who waited goes on in its turn.
    tasks.extend(far.begin(&gate, 3).await);
    assert_eq!(gate.running(), 4);
    gate.open(4);
    settle().await;
    gate.open(1);
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
    far.runtime.reload(policy(SLOT)).unwrap();
    assert_eq!((far.slots(), far.one("S").await), ((0, 0), "ok"));
}

const SHARED: &str = r#"
version = 1
[dependency.far]
fail = "closed"
timeout = "1h"
bulkhead.max_concurrent = 1
breaker = { window = "2 calls", cooldown = "1s", cooldown_jitter = 0.0 }
[dependency.far.operation.part]
timeout = "2h"
"#;

const OWN: &str = r#"
version = 1
[dependency.far]
fail = "closed"
timeout = "1h"
bulkhead.max_concurrent = 1
breaker = { window = "2 calls", cooldown = "1s", cooldown_jitter = 0.0 }
[dependency.far.operation.part]
timeout = "2h"
bulkhead.max_concurrent = 1
breaker.window = "2 calls"
"#;

fn guards(runtime: &Runtime) -> (Guard, Guard) {
    (runtime.guard("far").unwrap(), runtime.guard("far.part").unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_gets_slots_of_its_own_gives_the_shared_one_back() {
    for (before, after) in [(SHARED, OWN), (OWN, SHARED)] {
        let runtime = Runtime::new(parse(before));
        let (whole, part) = guards(&runtime);
        let gate = Gate::new("S");
        let mut held = Box::pin(part.call(|| gate.run()));
        assert!(poll_once(held.as_mut()).is_pending());
        runtime.reload(parse(after)).unwrap();
        gate.open(1);
        held.await.unwrap();
        let body = Script::new("S");
        for guard in [&whole, &part] {
            assert_eq!(calls(guard, &body, 3).await, words("3*ok"));
        }
        for name in ["far", "far.part"] {
            assert_eq!(runtime.snapshot().dependency(name).unwrap().in_flight, 0, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_of_the_shared_breaker_is_settled_there() {
    let runtime = Runtime::new(parse(SHARED));
    let (whole, part) = guards(&runtime);
    assert_eq!(calls(&whole, &Script::new("F"), 3).await, words("2*server open"));
    tokio::time::sleep(crate::kit::secs(1)).await;
    let gate = Gate::new("S");
    let mut probe = Box::pin(part.call(|| gate.run()));
    assert!(poll_once(probe.as_mut()).is_pending());
    assert_eq!(state_of(&runtime, "far"), "half_open");
    runtime.reload(parse(OWN)).unwrap();
    gate.open(1);
    probe.await.unwrap();
    assert_eq!(
        (state_of(&runtime, "far"), state_of(&runtime, "far.part")),
        ("closed", "closed")
    );
    assert_eq!(call(&whole, &Script::new("S")).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_whose_table_goes_away_closes_and_comes_again_knowing_nothing() {
    let lines = "timeout = \"1s\"\nbreaker = { window = \"2 calls\", cooldown = \"30s\" }";
    let far = Stand::new(lines);
    far.each("F F").await;
    let ((), events) = record(async { drop(far.runtime.reload(policy("timeout = \"1s\"")).unwrap()) }).await;
    assert_eq!(transitions(&events), ["open>closed reload"]);
    assert_eq!((far.one("S").await, far.read().state), ("ok", None));
    far.runtime.reload(policy(lines)).unwrap();
    assert_eq!((far.state(), far.window()), ("closed", 0));
    assert_eq!(far.each("F S").await, words("server ok"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_repeats_goes_on_with_the_attempts_it_began_with() {
    let far = Stand::new("retry = { max_attempts = 3, backoff = \"1s\", jitter = \"none\" }");
    let body = Script::new("F");
    let task = far.begin_script(&body).await;
    far.at_ms(500).await;
    far.runtime.reload(policy("deadline = \"1s\"")).unwrap();
    assert_eq!(task.await.unwrap(), "server");
    assert_eq!((body.starts(), far.now_ms()), (3, 3_000));
    let body = Script::new("F");
    assert_eq!(far.calls(&body, 1).await, ["server"]);
    assert_eq!(body.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn half_open_takes_new_numbers_of_probes_at_once() {
    let lines = |probes| {
        format!(
            r#"
                timeout = "1h"
                breaker = {{ window = "9 calls", cooldown = "1s", cooldown_jitter = 0.0, probes = {probes} }}
                "#
        )
    };
    let far = Stand::new(&lines(1));
    far.trip().await;
    far.at_ms(1_000).await;
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 1).await;
    assert_eq!(far.one("S").await, "probes_busy");
    far.runtime.reload(policy(&lines(3))).unwrap();
    tasks.extend(far.begin(&gate, 2).await);
    assert_eq!((gate.running(), far.one("S").await), (3, "probes_busy"));
    gate.open(3);
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
    assert_eq!(far.state(), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_hold_and_a_budget_outlast_a_reload() {
    let lines =
        "throttle = \"dependency\"\nretry = { max_attempts = 2, backoff = \"0s\", budget = 0.0, budget_floor = 0.1 }";
    let far = Stand::new(lines);
    let body = Script::new("F");
    far.calls(&body, 1).await;
    assert_eq!(body.starts(), 2);
    far.runtime
        .reload(policy(&format!("{lines}\nmax_hold = \"30s\"")))
        .unwrap();
    far.calls(&body, 1).await;
    assert_eq!(body.starts(), 3, "the one retry of these ten seconds was taken");
    assert_eq!(far.one("Q20s").await, "throttled");
    far.runtime.reload(policy(lines)).unwrap();
    assert_eq!(far.one("S").await, "held");
    far.at_ms(20_000).await;
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_report_names_each_change_with_its_line_and_tells_what_is_the_same_for_many_once() {
    let text = |timeout: &str, wait: &str| {
        let mut text = format!("version = 1\n[template.http]\ntimeout = \"{timeout}\"\n");
        for number in 0..9 {
            let _ = write!(text, "[dependency.d{number}]\nfail = \"open\"\ninherits = \"http\"\n");
        }
        text + &format!("deadline = \"{wait}\"\n")
    };
    let runtime = Runtime::new(parse(&text("1s", "8s")));
    let report = runtime.reload(parse(&text("2s", "9s"))).unwrap();
    assert_eq!(report.changes().len(), 10);
    let lines: Vec<_> = report.changes().iter().map(resilience_policy::Change::line).collect();
    assert!(lines.iter().filter(|line| **line == Some(3)).count() == 9, "{lines:?}");
    let told = report.to_string();
    assert!(told.contains("9 dependencies: timeout: 1s → 2s ("), "{told}");
    assert!(told.contains("dependency.d8.deadline: 8s → 9s, line 31 ("), "{told}");
    let again = runtime.reload(parse(&text("2s", "9s"))).unwrap();
    assert_eq!(again.to_string(), "no effective change");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_began_when_nobody_looked_for_slow_ones_is_not_slow() {
    let lines = "timeout = \"1s\"\nbreaker = { window = \"4 calls\", minimum_calls = 1, failure_rate = false";
    let far = Stand::new(&format!("{lines} }}"));
    tokio::time::advance(secs(60)).await;
    let slow = policy(&format!("{lines}, slow_after = \"1ms\", slow_rate = 1.0 }}"));
    // It ends in the poll in which it began: the numbers of its end are those that came in between.
    let result = far.guard.call_once(async {
        far.runtime.reload(slow).unwrap();
        Err::<(), _>(FarError::Failed(FailureKind::Server))
    });
    assert_eq!(seen(&result.await), "server");
    assert_eq!((far.state(), far.window(), far.failed_and_slow().1), ("closed", 1, 0));
}
