//! Every layer at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use resilience_runtime::testing::{self, Event};
use resilience_runtime::{bulkhead, fallback};

use crate::crowd::{DECLINED, End, FAILED, IGNORED, Room, THROTTLED, any, balanced, leave_after, tasks};
use crate::kit::{FarError, guard, parse, poll_once, seen, slots, state};

/// Slots in [`EVERYTHING`].
const SLOTS: usize = 8;

/// `in_flight` is one more than the slots allow: it trips only if an attempt that is gone still stands in its count.
const EVERYTHING: &str = r#"
timeout = "20ms"
deadline = "10s"
breaker = { window = "20 calls", minimum_calls = 20, cooldown = "100us", cooldown_max = "200us", probes = 2, probe_successes = 3, in_flight = 9 }
bulkhead = { max_concurrent = 8, max_waiting = 3000, max_wait = "10s" }
retry = { max_attempts = 3, backoff = "0s", budget = 10.0 }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_calls_that_end_in_every_way_pass_no_limit_and_leave_nothing_behind() {
    let (runtime, guard) = guard(EVERYTHING);
    let room = Arc::new(Room::of(SLOTS));
    let over = Arc::new(AtomicBool::new(false));

    // Readers make transitions too, and report those that they make.
    let (reader, ended) = (runtime.clone(), Arc::clone(&over));
    let reader = tokio::spawn(testing::record(async move {
        while !ended.load(Ordering::Relaxed) {
            let far = reader.snapshot().dependency("far").unwrap().clone();
            assert!(far.in_flight <= SLOTS as u64 && far.waiting <= 3_000, "{far:?}");
            tokio::task::yield_now().await;
        }
    }));

    let task = |mut chance: fastrand::Rng| {
        let (guard, room) = (guard.clone(), Arc::clone(&room));
        let calls = async move {
            let mut ends = Vec::new();
            for _ in 0..4 {
                let ways = [
                    End::Good,
                    End::Good,
                    End::Good,
                    End::Good,
                    FAILED,
                    IGNORED,
                    DECLINED,
                    THROTTLED,
                ];
                let end = match chance.u8(..) {
                    0..8 => End::Panic,
                    8..12 => End::Hang,
                    _ => any(&mut chance, &ways),
                };
                let (yields, repeats) = (chance.u8(..4), chance.bool());
                let polls = chance.bool().then(|| chance.u8(..6));
                let call = async {
                    if repeats {
                        seen(&guard.call(|| room.visit(yields, end)).await)
                    } else {
                        seen(&guard.call_once(room.visit(yields, end)).await)
                    }
                };
                ends.push(leave_after(polls, call).await);
            }
            ends
        };
        testing::record(calls)
    };
    let (ends, mut events) = unzip(tasks(2_000, task).await);
    over.store(true, Ordering::Relaxed);
    events.extend(reader.await.unwrap().1);
    let (last, made) = testing::record(async { state(&runtime) }).await;
    events.extend(made);

    assert!(
        ends.contains(&Some("ok")) && ends.contains(&None),
        "calls end and are dropped"
    );
    assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
    let causes = balanced(&events, last);
    assert!(
        causes.contains_key("failure_rate") && causes.contains_key("cooldown_over"),
        "{causes:?}"
    );
    assert!(
        !causes.contains_key("in_flight"),
        "an attempt that is gone stands in the count: {causes:?}"
    );

    // All slots are there, and the breaker works.
    runtime.scope(async { testing::reset("far") }).await;
    let mut running = Vec::new();
    for _ in 0..SLOTS {
        let mut call = Box::pin(guard.call_once(room.visit(9, End::Good)));
        assert!(poll_once(call.as_mut()).is_pending());
        running.push(call);
    }
    assert_eq!((room.inside(), slots(&runtime)), (SLOTS, (8, 0)));
    drop(running);
    assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
}

fn unzip<T>(records: Vec<(Vec<T>, Vec<Event>)>) -> (Vec<T>, Vec<Event>) {
    let (ends, events): (Vec<_>, Vec<_>) = records.into_iter().unzip();
    (
        ends.into_iter().flatten().collect(),
        events.into_iter().flatten().collect(),
    )
}

#[bulkhead("farms", key = farm)]
#[fallback(none = "the farmer sees the error")]
async fn write(farm: usize, rooms: &[Room], all: &Room, yields: u8, end: End) -> Result<(), FarError> {
    let inner = async {
        all.visit(yields, end).await?;
        Ok(())
    };
    let (one, other) = tokio::join!(rooms[farm].visit(yields, End::Good), inner);
    one.and(other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_more_of_one_key_than_its_slots_nor_of_all_than_there_are() {
    let runtime = resilience_runtime::Runtime::new(parse(
        "version = 1\n[dependency.farms]\nfail = \"closed\"\ntimeout = \"1h\"\n\
         bulkhead = { max_concurrent = 5, per_key = 2, max_waiting = 3000, max_wait = \"1h\" }",
    ));
    let rooms: Arc<Vec<_>> = Arc::new((0..4).map(|_| Room::of(2)).collect());
    let all = Arc::new(Room::of(5));
    let task = |mut chance: fastrand::Rng| {
        let (rooms, all) = (Arc::clone(&rooms), Arc::clone(&all));
        runtime.scope(async move {
            // The first farm is the greedy one.
            let farm = any(&mut chance, &[0, 0, 0, 0, 1, 2, 3]);
            let end = any(&mut chance, &[End::Good, End::Good, FAILED, End::Panic]);
            let polls = chance.bool().then(|| chance.u8(..6));
            leave_after(polls, write(farm, &rooms, &all, chance.u8(..4), end)).await;
        })
    };
    let ended = tasks(3_000, task);
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .expect("nobody is stuck");
    let read = runtime.snapshot().dependency("farms").unwrap().clone();
    assert_eq!((read.in_flight, read.waiting), (0, 0));
    assert!(all.runs() > 500 && rooms.iter().all(|room| room.inside() == 0));
}
