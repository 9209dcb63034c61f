//! Reports and accounts: two compartments, and what a full one does.

use resilience_runtime::{Failure, Guard, Reason, Runtime};

use crate::kit::{Clock, FarError, Gate, Script, call, ms, parse, seen, settle, spawn_all, tally};

fn compartments(lines: [&str; 2]) -> (Runtime, Guard, Guard) {
    let [reports, accounts] = lines;
    let runtime = Runtime::new(parse(&format!(
        "version = 1\n[dependency.reports]\nfail = \"open\"\n{reports}\n[dependency.accounts]\nfail = \"closed\"\n{accounts}\n"
    )));
    let (reports, accounts) = (runtime.guard("reports").unwrap(), runtime.guard("accounts").unwrap());
    (runtime, reports, accounts)
}

/// Begins one call and says whether it was admitted; it ends when the gate opens.
async fn start(guard: &Guard, gate: &Gate) -> &'static str {
    let (guard, gate) = (guard.clone(), gate.clone());
    let task = tokio::spawn(async move { seen(&guard.call(|| gate.run()).await) });
    settle().await;
    if task.is_finished() {
        task.await.unwrap()
    } else {
        "admitted"
    }
}

#[tokio::test(start_paused = true)]
async fn rb_r01_the_third_report_is_refused_and_a_password_reset_is_not() {
    let (_, reports, accounts) = compartments(["bulkhead.max_concurrent = 2"; 2]);
    let gate = Gate::new("S");
    assert_eq!(start(&reports, &gate).await, "admitted");
    assert_eq!(start(&reports, &gate).await, "admitted");
    assert_eq!(start(&reports, &gate).await, "bulkhead_full");
    assert_eq!(start(&accounts, &gate).await, "admitted");
}

#[tokio::test(start_paused = true)]
async fn rb_r06_work_that_ended_gives_its_slot_back() {
    let (_, reports, accounts) = compartments(["bulkhead.max_concurrent = 2"; 2]);
    let (a, b) = (Gate::new("S"), Gate::new("S"));
    let mut rows = Vec::new();
    for (guard, gate, before) in [
        (&reports, &a, 0),
        (&reports, &a, 0),
        (&reports, &a, 0),
        (&reports, &a, 1),
        (&reports, &a, 0),
        (&accounts, &b, 0),
        (&accounts, &b, 0),
        (&accounts, &b, 0),
        (&accounts, &b, 1),
    ] {
        gate.open(before);
        settle().await;
        rows.push(start(guard, gate).await == "admitted");
    }
    assert_eq!(rows, [true, true, false, true, false, true, true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn rb_r02_rb_r04_two_hundred_reports_neither_take_more_than_theirs_nor_slow_an_account() {
    let reports_lines = "bulkhead.max_concurrent = 20\nbulkhead.max_waiting = 30\nbulkhead.max_wait = \"1m\"";
    let (runtime, reports, accounts) = compartments([reports_lines, "bulkhead.max_concurrent = 30"]);
    let gate = Gate::new("S");
    let tasks = spawn_all((0..200).map(|_| {
        let (reports, gate) = (reports.clone(), gate.clone());
        async move { seen(&reports.call(|| gate.run()).await) }
    }))
    .await;
    let refused = tasks.iter().filter(|task| task.is_finished()).count();
    let taken = runtime.snapshot().dependencies["reports"].clone();
    assert_eq!(
        (gate.running(), taken.in_flight, taken.waiting, refused),
        (20, 20, 30, 150)
    );
    // Thirty resets at once, each as quick as without any report.
    let reset = Script::new("S/40ms");
    let clock = Clock::start();
    let resets = spawn_all((0..30).map(|_| {
        let (accounts, reset) = (accounts.clone(), reset.clone());
        async move { (call(&accounts, &reset).await, clock.now()) }
    }))
    .await;
    for reset in resets {
        assert_eq!(reset.await.unwrap(), ("ok", ms(40)));
    }
    gate.open(50);
    let mut words = Vec::new();
    for task in tasks {
        words.push(task.await.unwrap());
    }
    assert_eq!(
        tally(&words).into_iter().collect::<Vec<_>>(),
        [("bulkhead_full", 150), ("ok", 50)]
    );
    assert_eq!(gate.peak(), 20);
}

#[tokio::test(start_paused = true)]
async fn rb_r05_the_refusal_names_the_compartment_that_refused() {
    let (_, reports, accounts) = compartments(["bulkhead.max_concurrent = 1"; 2]);
    for (guard, name) in [(&reports, "reports"), (&accounts, "accounts")] {
        let gate = Gate::new("S");
        assert_eq!(start(guard, &gate).await, "admitted");
        let Err(Failure::Rejected(rejection)) = guard.call(|| async { Ok::<(), FarError>(()) }).await else {
            panic!("one slot is one slot")
        };
        assert_eq!(
            (rejection.dependency(), rejection.reason()),
            (name, Reason::BulkheadFull)
        );
    }
}
