//! Whose state it is, and how long it lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::testing::record;
use resilience_runtime::{Mode, Override, Policy, Runtime};

use crate::kit::{Gate, Script, call, calls, parse, policy, secs, settle, state_of};
use crate::stand::{Stand, is_rate, words};

#[tokio::test(start_paused = true)]
async fn lif_01_one_breaker_for_all_who_name_it() {
    let far = Stand::new("timeout = \"1s\"\nbreaker = { window = \"8 calls\" }");
    let (again, body) = (far.runtime.guard("far").unwrap(), Script::new("F"));
    let clone = far.guard.clone();
    assert_eq!(calls(&clone, &body, 4).await, words("4*server"));
    assert_eq!(far.state(), "closed");
    let task = tokio::spawn(async move { calls(&again, &Script::new("F"), 5).await });
    assert_eq!(task.await.unwrap(), words("4*server open"));
    assert_eq!(far.state(), "open");
}

#[tokio::test(start_paused = true)]
async fn lif_02_dependencies_and_runtimes_share_nothing() {
    let text = r#"
        version = 1
        [defaults]
        timeout = "1s"
        breaker = { window = "2 calls" }
        [dependency.a]
        fail = "closed"
        [dependency.b]
        fail = "closed"
        "#;
    let (one, other) = (Runtime::new(parse(text)), Runtime::new(parse(text)));
    assert_eq!(
        calls(&one.guard("a").unwrap(), &Script::new("F"), 3).await,
        words("2*server open")
    );
    assert_eq!(
        (state_of(&one, "a"), state_of(&one, "b"), state_of(&other, "a")),
        ("open", "closed", "closed")
    );
}

#[tokio::test(start_paused = true)]
async fn lif_03_one_set_of_slots_for_all_who_name_it() {
    let far = Stand::new("bulkhead.max_concurrent = 8");
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 4).await;
    let other = Stand {
        runtime: far.runtime.clone(),
        guard: far.runtime.guard("far").unwrap(),
        clock: far.clock,
    };
    tasks.extend(other.begin(&gate, 4).await);
    assert_eq!((gate.running(), other.one("S").await), (8, "bulkhead_full"));
    gate.open(8);
    for task in tasks {
        assert_eq!(task.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn operations_share_what_they_have_no_table_for() {
    let runtime = Runtime::new(parse(
        r#"
        version = 1
        [dependency.far]
        fail = "closed"
        timeout = "1s"
        breaker = { window = "2 calls" }
        bulkhead.max_concurrent = 1
        [dependency.far.operation.shares]
        timeout = "2s"
        [dependency.far.operation.owns]
        breaker.failure_rate = 1.0
        bulkhead.max_concurrent = 1
        "#,
    ));
    let (shares, owns) = (runtime.guard("far.shares").unwrap(), runtime.guard("far.owns").unwrap());
    let gate = Gate::new("S");
    let far = runtime.guard("far").unwrap();
    let mut held = Box::pin(far.call(|| gate.run()));
    assert!(crate::kit::poll_once(held.as_mut()).is_pending());
    assert_eq!(
        (
            call(&shares, &Script::new("S")).await,
            call(&owns, &Script::new("S")).await
        ),
        ("bulkhead_full", "ok")
    );
    drop(held);
    assert_eq!(calls(&shares, &Script::new("F"), 2).await, words("2*server"));
    assert_eq!(call(&far, &Script::new("S")).await, "open");
    assert_eq!(call(&owns, &Script::new("S")).await, "ok");
    assert_eq!(
        (state_of(&runtime, "far.shares"), state_of(&runtime, "far.owns")),
        ("open", "closed")
    );
}

tokio::task_local! {
    static WHO: u32;
}

#[tokio::test(start_paused = true)]
async fn lif_06_bodies_run_in_their_callers_task() {
    let far = Stand::new("timeout = \"1s\"\nretry = { max_attempts = 2, backoff = \"1ms\" }");
    let seen = std::sync::Mutex::new(Vec::new());
    let caller = tokio::task::try_id();
    let body = Script::new("F S/5ms");
    let run = || {
        let run = body.run();
        async {
            seen.lock().unwrap().push((WHO.get(), tokio::task::try_id() == caller));
            run.await
        }
    };
    WHO.scope(7, far.guard.call(run)).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(7, true), (7, true)]);
}

#[tokio::test]
async fn lif_06_a_guarded_future_is_send_and_may_borrow() {
    fn send<T: Send>(future: T) -> T {
        future
    }
    let far = Stand::new("timeout = \"1s\"\nretry = { max_attempts = 2, backoff = \"0s\" }");
    let (text, runs) = (String::from("borrowed"), AtomicUsize::new(0));
    let call = send(far.guard.call(|| async {
        runs.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(text.len())
    }));
    assert_eq!((call.await.unwrap(), runs.into_inner()), (8, 1));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_not_send_runs_on_a_local_set() {
    let far = Stand::new("timeout = \"1s\"\nbulkhead = { max_concurrent = 1, max_waiting = 9, max_wait = \"1h\" }");
    let local = tokio::task::LocalSet::new();
    let guard = far.guard.clone();
    let sum = local
        .run_until(async move {
            let here = std::rc::Rc::new(std::cell::Cell::new(0));
            let mut tasks = Vec::new();
            for number in 1..=3 {
                let (guard, here) = (guard.clone(), here.clone());
                tasks.push(tokio::task::spawn_local(async move {
                    let run = || async {
                        tokio::time::sleep(crate::kit::ms(10)).await;
                        here.set(here.get() + number);
                        Ok::<_, std::io::Error>(())
                    };
                    guard.call(run).await.unwrap();
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
            here.get()
        })
        .await;
    assert_eq!((sum, far.now_ms()), (6, 30));
}

const RELOADED: &str = r#"
timeout = "1s"
bulkhead.max_concurrent = 5
breaker = { window = "4 calls", minimum_calls = 4, cooldown = "30s", cooldown_jitter = 0.0 }
"#;

#[tokio::test(start_paused = true)]
async fn lif_07_a_reload_keeps_open_open_and_moves_its_end() {
    let far = Stand::new(RELOADED);
    let gate = Gate::new("S");
    let held = far.begin(&gate, 3).await;
    far.trip().await;
    far.at_ms(100).await;
    assert!(Policy::from_toml("version = 1\n[dependency.far]\nfail = \"closed\"\ntimeuot = \"1s\"\n").is_err());
    let lost = far
        .runtime
        .reload(parse("version = 1\n[dependency.other]\nfail = \"closed\"\n"))
        .unwrap_err();
    assert_eq!(lost.missing().len(), 1);
    assert_eq!((far.state(), far.slots()), ("open", (3, 0)));
    assert!(far.runtime.snapshot().policy.stale);
    let (report, events) = record(async {
        let shorter = RELOADED
            .replace("30s", "10s")
            .replace("max_concurrent = 5", "max_concurrent = 4");
        far.runtime.reload(policy(&shorter)).unwrap()
    })
    .await;
    let mut keys: Vec<_> = report.changes().iter().map(resilience_policy_key).collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "dependency.far.breaker.cooldown",
            "dependency.far.bulkhead.max_concurrent"
        ]
    );
    assert_eq!(
        events.iter().filter(|event| event.name() == "policy.reloaded").count(),
        1
    );
    assert_eq!((far.state(), far.slots(), far.read().limit), ("open", (3, 0), Some(4)));
    assert!(!far.runtime.snapshot().policy.stale);
    gate.open(3);
    for task in held {
        assert_eq!(task.await.unwrap(), "ok");
    }
    far.at_ms(9_999).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(10_000).await;
    assert_eq!(far.one("S").await, "ok");
    assert_eq!(far.state(), "closed");
}

fn resilience_policy_key(change: &resilience_runtime::Change) -> String {
    change.key().to_owned()
}

#[tokio::test(start_paused = true)]
async fn lif_07_counts_stay_over_a_reload_and_a_changed_window_starts_empty() {
    let far = Stand::new(RELOADED);
    far.each("F F F").await;
    far.runtime.reload(policy(&RELOADED.replace("30s", "10s"))).unwrap();
    assert_eq!(far.window(), 3);
    let report = far
        .runtime
        .reload(policy(&RELOADED.replace("4 calls", "5 calls")))
        .unwrap();
    assert_eq!(far.window(), 0);
    assert!(
        report
            .changes()
            .iter()
            .any(|change| change.key().ends_with("breaker.window"))
    );
    assert_eq!(far.each("4*F S").await, words("4*server open"));
    assert!(is_rate(far.read().failure_rate, 1.0));
}

#[tokio::test(start_paused = true)]
async fn lif_07_a_running_call_ends_on_the_numbers_it_began_with() {
    let far = Stand::new("timeout = \"1s\"\nretry = { max_attempts = 3, backoff = \"0s\" }");
    let body = Script::new("H");
    let call = far.begin_script(&body).await;
    far.at_ms(500).await;
    far.runtime
        .reload(policy("timeout = \"100ms\"\nretry = { max_attempts = 1 }"))
        .unwrap();
    assert_eq!(call.await.unwrap(), "timed_out");
    assert_eq!((far.now_ms(), body.starts()), (3_000, 3));
    assert_eq!(far.one("H").await, "timed_out");
    assert_eq!(far.now_ms(), 3_100);
}

#[tokio::test(start_paused = true)]
async fn lif_07_a_reload_never_lifts_a_hand() {
    let far = Stand::new(RELOADED);
    far.runtime
        .set_mode("far", Override::new(Mode::Isolate, "ops", "maintenance", secs(60)))
        .unwrap();
    far.runtime
        .reload(policy(&format!("mode = \"off\"\n{RELOADED}")))
        .unwrap();
    assert_eq!(far.one("S").await, "isolated");
    far.runtime.clear_mode("far").unwrap();
    assert_eq!((far.one("S").await, far.read().mode), ("ok", "off"));
}

#[tokio::test(start_paused = true)]
async fn a_nested_rejection_says_nothing_about_the_outer_dependency() {
    let runtime = Runtime::new(parse(
        r#"
            version = 1
            [defaults]
            timeout = "9s"
            breaker = { window = "2 calls", cooldown = "1s" }
            retry = { max_attempts = 3, backoff = "0s" }
            [dependency.outer]
            fail = "closed"
            [dependency.inner]
            fail = "closed"
            "#,
    ));
    let (outer, inner) = (runtime.guard("outer").unwrap(), runtime.guard("inner").unwrap());
    runtime
        .scope(async { resilience_runtime::testing::trip("inner") })
        .await;
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let result = outer
            .call(|| {
                runs.fetch_add(1, Ordering::Relaxed);
                inner.call(|| async { Ok::<_, std::io::Error>(()) })
            })
            .await;
        let failure = result.unwrap_err().into_error().unwrap();
        assert_eq!(failure.rejection().unwrap().dependency(), "inner");
    }
    // Neither counted nor repeated.
    assert_eq!(
        (runs.load(Ordering::Relaxed), state_of(&runtime, "outer")),
        (5, "closed")
    );
    assert_eq!(runtime.snapshot().dependency("outer").unwrap().calls, 0);
    settle().await;
}
