//! Slots, and the line for them.

use resilience_runtime::testing::record;
use tokio::task::JoinHandle;

use crate::kit::{Gate, Script, settle};
use crate::stand::{Stand, rejections, words};

async fn all(tasks: Vec<JoinHandle<&'static str>>) -> Vec<&'static str> {
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

fn slots_and_line(slots: usize, line: usize) -> Stand {
    Stand::new(&format!(
        "bulkhead = {{ max_concurrent = {slots}, max_waiting = {line}, max_wait = \"1h\" }}"
    ))
}

#[tokio::test(start_paused = true)]
async fn blk_01_as_many_as_there_are_slots_and_one_more_for_each_that_ends() {
    for slots in [3_usize, 10] {
        let far = Stand::new(&format!("bulkhead.max_concurrent = {slots}"));
        let gate = Gate::new("S");
        let mut tasks = far.begin(&gate, slots).await;
        assert_eq!(gate.running(), slots);
        assert_eq!(far.one("S").await, "bulkhead_full");
        gate.open(1);
        settle().await;
        tasks.extend(far.begin(&gate, 1).await);
        assert_eq!(gate.running(), slots);
        assert_eq!(far.one("S").await, "bulkhead_full");
        gate.open(slots);
        assert_eq!(all(tasks).await, vec!["ok"; slots + 1]);
        assert_eq!((far.slots(), gate.peak(), far.now_ms()), ((0, 0), slots, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn blk_03_and_04_the_line_is_bounded_and_served_in_order() {
    for (slots, line) in [(10, 10), (5, 5), (2, 3), (2, 2)] {
        let far = slots_and_line(slots, line);
        let gate = Gate::new("S");
        let mut tasks = far.begin(&gate, slots + line).await;
        assert_eq!(
            (gate.running(), far.slots()),
            (slots, (slots as u64, u32::try_from(line).unwrap()))
        );
        assert_eq!(far.one("S").await, "bulkhead_full");
        gate.open(1);
        settle().await;
        assert_eq!((gate.running(), gate.let_go()), (slots, 1));
        tasks.extend(far.begin(&gate, 1).await);
        assert_eq!(far.one("S").await, "bulkhead_full");
        gate.open(slots + line);
        assert_eq!(all(tasks).await, vec!["ok"; slots + line + 1]);
        assert_eq!((far.slots(), gate.peak()), ((0, 0), slots));
    }
}

#[tokio::test(start_paused = true)]
async fn blk_05_short_calls_pass_and_long_ones_fill_the_slots() {
    for (line, step, ok) in [(0, "S/50ms", 100), (5, "S/50ms", 100), (0, "S/490ms", 25)] {
        let far = slots_and_line(5, line);
        let body = Script::new(step);
        let mut tasks = Vec::new();
        for call in 0..100 {
            far.at_ms(call * 25).await;
            tasks.push(far.begin_script(&body).await);
        }
        let results = all(tasks).await;
        let count = results.iter().filter(|result| **result == "ok").count();
        assert_eq!((count, body.starts()), (ok, ok), "{step}");
        assert_eq!(
            results.iter().filter(|result| **result == "bulkhead_full").count(),
            100 - ok
        );
        assert!(body.peak() <= 5);
    }
}

fn with_retry(line: usize, pause: &str) -> Stand {
    Stand::new(&format!(
        r#"
        bulkhead = {{ max_concurrent = 1, max_waiting = {line}, max_wait = "1h" }}
        retry = {{ max_attempts = 2, backoff = "{pause}", jitter = "none" }}
        "#
    ))
}

#[tokio::test(start_paused = true)]
async fn blk_06_a_call_keeps_its_slot_through_its_pause() {
    let far = with_retry(1, "1000ms");
    let (a, b) = (Script::new("F"), Script::new("S"));
    let first = far.begin_script(&a).await;
    let second = far.begin_script(&b).await;
    assert_eq!((a.starts(), b.starts(), far.slots()), (1, 0, (1, 1)));
    assert_eq!(far.one("S").await, "bulkhead_full");
    assert_eq!(first.await.unwrap(), "server");
    assert_eq!((a.starts(), far.now_ms()), (2, 1_000));
    assert_eq!(second.await.unwrap(), "ok");
    assert_eq!((b.starts(), far.now_ms(), far.slots()), (1, 1_000, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn blk_07_a_repeat_does_not_go_to_the_end_of_the_line() {
    let far = with_retry(5, "0s");
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for (name, script) in [("a", "F/10ms"), ("b", "S"), ("c", "S")] {
        let (guard, order, body) = (far.guard.clone(), order.clone(), Script::new(script));
        tasks.push(tokio::spawn(async move {
            let run = || {
                order.lock().unwrap().push(name);
                body.run()
            };
            crate::kit::seen(&guard.call(run).await)
        }));
        settle().await;
    }
    assert_eq!(all(tasks).await, ["server", "ok", "ok"]);
    assert_eq!(*order.lock().unwrap(), ["a", "a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn blk_08_and_09_a_call_without_a_slot_is_not_repeated() {
    let far = Stand::new(
        r#"
        bulkhead = { max_concurrent = 3, max_waiting = 3, max_wait = "1h" }
        retry = { max_attempts = 100, backoff = "100ms", jitter = "none" }
        "#,
    );
    let gate = Gate::new("S");
    let six = far.begin(&gate, 6).await;
    assert_eq!(far.one("S").await, "bulkhead_full");
    assert_eq!(far.now_ms(), 0);
    far.at_ms(250).await;
    gate.open(6);
    assert_eq!(all(six).await, vec!["ok"; 6]);
}

#[tokio::test(start_paused = true)]
async fn blk_10_and_14_a_call_that_is_cut_or_dropped_ends_its_body_before_its_slot_is_free() {
    let far = Stand::new("timeout = \"500ms\"\nbulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"1h\" }");
    let (a, b) = (Script::new("H"), Script::new("H"));
    let first = far.begin_script(&a).await;
    let second = far.begin_script(&b).await;
    far.at_ms(499).await;
    assert_eq!((a.running(), b.starts()), (1, 0));
    far.at_ms(500).await;
    assert_eq!(first.await.unwrap(), "timed_out");
    assert_eq!((a.running(), b.running(), b.starts()), (0, 1, 1));
    second.abort();
    settle().await;
    assert_eq!((b.running(), far.slots()), (0, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn blk_11_the_timeout_is_of_the_attempt_and_the_deadline_of_the_call() {
    for (deadline, result, at) in [("1h", "timed_out", 900), ("500ms", "deadline_exceeded", 600)] {
        let far = Stand::new(&format!(
            r#"
                timeout = "500ms"
                deadline = "{deadline}"
                bulkhead = {{ max_concurrent = 1, max_waiting = 1, max_wait = "500ms" }}
                "#
        ));
        let first = far.begin_script(&Script::new("S/400ms")).await;
        far.at_ms(100).await;
        let body = Script::new("H");
        assert_eq!(far.calls(&body, 1).await, [result]);
        assert_eq!((far.now_ms(), body.starts()), (at, 1));
        assert_eq!(first.await.unwrap(), "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn blk_13_and_15_a_waiter_that_leaves_makes_room_in_the_line() {
    let far = slots_and_line(2, 3);
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 5).await;
    assert_eq!(far.one("S").await, "bulkhead_full");
    tasks.remove(3).abort();
    settle().await;
    assert_eq!(far.slots(), (2, 2));
    tasks.extend(far.begin(&gate, 1).await);
    assert_eq!(far.slots(), (2, 3));
    gate.open(9);
    assert_eq!(all(tasks).await, vec!["ok"; 5]);
    assert_eq!((gate.let_go(), far.slots()), (5, (0, 0)));
}

#[test]
fn blk_17_a_long_line_that_ends_at_once_fits_on_a_small_stack() {
    let run = || {
        let alone = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        alone.block_on(async {
            let far = slots_and_line(1, 10_000);
            let gate = Gate::new("S");
            let first = far.begin(&gate, 1).await.pop().unwrap();
            let body = Script::new("S");
            let mut tasks = Vec::new();
            for _ in 0..10_000 {
                let (guard, body) = (far.guard.clone(), body.clone());
                tasks.push(tokio::spawn(async move { crate::kit::call(&guard, &body).await }));
            }
            while far.slots().1 < 10_000 {
                settle().await;
            }
            gate.open(1);
            assert_eq!(first.await.unwrap(), "ok");
            assert_eq!(all(tasks).await, vec!["ok"; 10_000]);
            assert_eq!((body.starts(), body.peak(), far.slots()), (10_000, 1, (0, 0)));
        });
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn blk_18_nobody_is_forgotten_when_many_come_at_once() {
    let far = std::sync::Arc::new(slots_and_line(5, 1_000));
    let body = Script::new("S");
    for _ in 0..10 {
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let (far, body) = (far.clone(), body.clone());
                tokio::spawn(async move {
                    let calls = (0..20).map(|_| crate::kit::call(&far.guard, &body));
                    crate::kit::together(calls).await
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), vec!["ok"; 20]);
        }
    }
    assert!(body.peak() <= 5);
    assert_eq!((body.starts(), far.slots()), (10_000, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn blk_20_a_larger_bulkhead_serves_its_line_at_once_and_a_smaller_one_drains() {
    let lines = |slots| format!("bulkhead = {{ max_concurrent = {slots}, max_waiting = 1, max_wait = \"1h\" }}");
    let far = Stand::new(&lines(1));
    let gate = Gate::new("S");
    let mut tasks = far.begin(&gate, 2).await;
    assert_eq!(gate.running(), 1);
    far.runtime.reload(crate::kit::policy(&lines(2))).unwrap();
    settle().await;
    assert_eq!((gate.running(), far.slots()), (2, (2, 0)));
    far.runtime.reload(crate::kit::policy(&lines(1))).unwrap();
    tasks.extend(far.begin(&gate, 1).await);
    assert_eq!(far.slots(), (2, 1));
    gate.open(1);
    settle().await;
    assert_eq!(
        (gate.running(), far.slots()),
        (1, (1, 1)),
        "one has to end before the line moves"
    );
    gate.open(2);
    assert_eq!(all(tasks).await, vec!["ok"; 3]);
}

#[tokio::test(start_paused = true)]
async fn blk_21_and_27_slots_come_back_after_success_and_failure_and_a_rejected_body_is_never_made() {
    for step in ["S", "F"] {
        let far = Stand::new("bulkhead.max_concurrent = 1");
        let gate = Gate::new(step);
        let first = far.begin(&gate, 1).await.pop().unwrap();
        let mut made = 0;
        let (result, events) = record(far.guard.call(|| {
            made += 1;
            Script::new("S").run()
        }))
        .await;
        assert_eq!(
            (crate::kit::seen(&result), rejections(&events)),
            ("bulkhead_full", words("bulkhead_full"))
        );
        assert_eq!((made, far.slots()), (0, (1, 0)));
        gate.open(1);
        first.await.unwrap();
        assert_eq!((far.slots(), far.one("S").await), ((0, 0), "ok"));
    }
}

#[tokio::test(start_paused = true)]
async fn blk_22_a_waiter_is_rejected_exactly_when_its_wait_is_over() {
    let far =
        Stand::new("bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"50ms\", retry_after = \"7s\" }");
    let gate = Gate::new("S");
    let first = far.begin(&gate, 1).await.pop().unwrap();
    let failure = far
        .guard
        .call_once(async { Ok::<_, std::io::Error>(()) })
        .await
        .unwrap_err();
    let rejection = failure.rejection().unwrap();
    assert_eq!((rejection.reason().as_str(), far.now_ms()), ("wait_timed_out", 50));
    assert_eq!(rejection.retry_after(), Some(std::time::Duration::from_secs(7)));
    assert_eq!(far.slots(), (1, 0));
    gate.open(1);
    assert_eq!(first.await.unwrap(), "ok");
}

#[test]
fn blk_23_and_25_no_slots_and_too_many_are_refused_at_load() {
    for (line, key) in [
        ("bulkhead.max_concurrent = 0", "max_concurrent"),
        ("bulkhead.max_concurrent = -1", "max_concurrent"),
        ("bulkhead.max_concurrent = 1000001", "max_concurrent"),
        (
            "bulkhead = { max_concurrent = 1, max_waiting = 9223372036854775807, max_wait = \"1s\" }",
            "max_waiting",
        ),
    ] {
        let text = format!("version = 1\n[dependency.far]\nfail = \"closed\"\n{line}\n");
        let refused = resilience_runtime::Policy::from_toml(&text).unwrap_err();
        assert!(refused.faults()[0].key().ends_with(key), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn blk_26_however_a_call_ends_the_next_one_is_accepted() {
    for step in ["S", "F", "P"] {
        let far = slots_and_line(2, 3);
        let gate = Gate::new("S");
        let body = Script::new(&format!("{step}/10ms"));
        let first = far.begin_script(&body).await;
        let mut tasks = far.begin(&gate, 4).await;
        assert_eq!(far.slots(), (2, 3));
        far.at_ms(10).await;
        assert_eq!(first.await.is_err(), step == "P");
        tasks.extend(far.begin(&gate, 1).await);
        assert_eq!((far.slots(), gate.running()), ((2, 3), 2));
        gate.open(5);
        assert_eq!(all(tasks).await, vec!["ok"; 5]);
        assert_eq!(far.slots(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_while_a_smaller_bulkhead_still_drains_waits_for_its_turn() {
    let lines = |slots: u32| format!("bulkhead = {{ max_concurrent = {slots}, max_waiting = 2, max_wait = \"9s\" }}");
    let far = Stand::new(&lines(3));
    let gate = Gate::new("S");
    let mut running = far.begin(&gate, 3).await;
    far.runtime.reload(crate::kit::policy(&lines(1))).unwrap();
    running.extend(far.begin(&gate, 1).await);
    assert_eq!(far.slots(), (3, 1));
    gate.open(2);
    settle().await;
    assert_eq!(far.slots(), (1, 1), "two left, and one of one is still inside");
    gate.open(2);
    for call in running {
        assert_eq!(call.await.unwrap(), "ok");
    }
    assert_eq!(far.slots(), (0, 0));
}
