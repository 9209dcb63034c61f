//! Slots per key, inside the slots of all.

use resilience_runtime::{Runtime, bulkhead, fallback};
use tokio::task::JoinHandle;

use crate::kit::{FarError, Gate, Script, parse, settle};
use crate::stand::words;

fn farms(bulkhead: &str) -> Runtime {
    Runtime::new(parse(&policy(bulkhead)))
}

fn policy(bulkhead: &str) -> String {
    format!("version = 1\n[dependency.farms]\nfail = \"closed\"\ntimeout = \"1h\"\nbulkhead = {{ {bulkhead} }}\n")
}

#[bulkhead("farms", key = farm)]
#[fallback(none = "the farmer sees the error")]
async fn write(farm: u32, gate: &Gate) -> Result<usize, FarError> {
    gate.run().await
}

#[bulkhead("farms", key = farm)]
#[fallback(none = "the farmer sees the error")]
async fn scripted(farm: u32, body: &Script) -> Result<usize, FarError> {
    body.run().await
}

async fn begin(runtime: &Runtime, farm: u32, gate: &Gate) -> JoinHandle<&'static str> {
    let gate = gate.clone();
    let task =
        tokio::spawn(runtime.scope(async move { write(farm, &gate).await.map_or_else(FarError::word, |_| "ok") }));
    settle().await;
    task
}

fn slots(runtime: &Runtime) -> (u64, u32) {
    let read = runtime.snapshot().dependency("farms").unwrap().clone();
    (read.in_flight, read.waiting)
}

async fn all(tasks: Vec<JoinHandle<&'static str>>) -> Vec<&'static str> {
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_full_refuses_itself_and_nobody_else() {
    let runtime = farms("max_concurrent = 3, per_key = 1");
    let gate = Gate::new("S");
    let mut tasks = vec![begin(&runtime, 1, &gate).await, begin(&runtime, 1, &gate).await];
    assert_eq!((gate.running(), slots(&runtime)), (1, (1, 0)));
    for farm in [2, 3, 4] {
        tasks.push(begin(&runtime, farm, &gate).await);
    }
    assert_eq!(gate.running(), 3);
    gate.open(3);
    assert_eq!(all(tasks).await, words("ok bulkhead_full 2*ok bulkhead_full"));
    assert_eq!(slots(&runtime), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_of_a_full_key_holds_up_nobody_behind_it() {
    let runtime = farms("max_concurrent = 2, per_key = 1, max_waiting = 5, max_wait = \"1h\"");
    let (one, others) = (Gate::new("S"), Gate::new("S"));
    let mut tasks = vec![begin(&runtime, 1, &one).await, begin(&runtime, 2, &others).await];
    // The first in line waits for its own key, the one behind it for any slot.
    tasks.push(begin(&runtime, 1, &one).await);
    tasks.push(begin(&runtime, 3, &others).await);
    assert_eq!((one.running(), others.running(), slots(&runtime)), (1, 1, (2, 2)));
    others.open(1);
    settle().await;
    assert_eq!((others.let_go(), others.running(), slots(&runtime)), (1, 1, (2, 1)));
    // A free slot is of no use to who waits for its key.
    others.open(1);
    settle().await;
    assert_eq!(slots(&runtime), (1, 1));
    one.open(1);
    settle().await;
    assert_eq!((one.let_go(), one.running(), slots(&runtime)), (1, 1, (1, 0)));
    one.open(1);
    assert_eq!(all(tasks).await, words("4*ok"));
}

#[tokio::test(start_paused = true)]
async fn a_keyed_call_that_is_dropped_or_panics_gives_its_key_back() {
    let runtime = farms("max_concurrent = 9, per_key = 1, max_waiting = 9, max_wait = \"1h\"");
    let gate = Gate::new("S");
    let running = begin(&runtime, 1, &gate).await;
    let waiting = begin(&runtime, 1, &gate).await;
    let behind = begin(&runtime, 1, &gate).await;
    assert_eq!((gate.running(), slots(&runtime)), (1, (1, 2)));
    waiting.abort();
    settle().await;
    assert_eq!(slots(&runtime), (1, 1));
    running.abort();
    settle().await;
    assert_eq!((gate.running(), slots(&runtime)), (1, (1, 0)));
    gate.open(1);
    assert_eq!(behind.await.unwrap(), "ok");
    for step in ["P", "P/1ms"] {
        let body = Script::new(step);
        let task = tokio::spawn(runtime.scope(async move { scripted(1, &body).await }));
        assert!(task.await.unwrap_err().is_panic());
        assert_eq!(slots(&runtime), (0, 0));
    }
    assert_eq!(runtime.scope(scripted(1, &Script::new("S"))).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn slots_per_key_may_come_go_and_change_while_calls_run() {
    let text = |per_key: &str| format!("max_concurrent = 9{per_key}, max_waiting = 9, max_wait = \"1h\"");
    let steps = ["", ", per_key = 2", ", per_key = 1", "", ", per_key = 3"];
    for first in steps {
        let runtime = farms(&text(first));
        let gate = Gate::new("S");
        let mut tasks = Vec::new();
        for per_key in steps {
            runtime.reload(parse(&policy(&text(per_key)))).unwrap();
            tasks.push(begin(&runtime, 1, &gate).await);
            tasks.push(begin(&runtime, 2, &gate).await);
        }
        gate.open(10);
        assert_eq!(all(tasks).await, words("10*ok"), "{first}");
        assert_eq!(slots(&runtime), (0, 0), "{first}");
        // Nothing is left of any key.
        runtime.reload(parse(&policy(&text(", per_key = 1")))).unwrap();
        let gate = Gate::new("S");
        let mut tasks = Vec::new();
        for farm in [1, 2, 1] {
            tasks.push(begin(&runtime, farm, &gate).await);
        }
        assert_eq!((gate.running(), slots(&runtime)), (2, (2, 1)), "{first}");
        gate.open(3);
        assert_eq!(all(tasks).await, words("3*ok"));
    }
}
