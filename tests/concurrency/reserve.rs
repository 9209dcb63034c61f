//! Threads that meet at a bulkhead keep free slots, each for itself. What a bulkhead promises holds all the same.

use std::sync::Arc;

use resilience_runtime::Guard;

use crate::crowd::{End, FAILED, Room, leave_after, line_up, tasks};
use crate::kit::{guard, poll_once, seen, slots};

/// So many tasks that call without a pause; how their calls ended. `None` for one that was dropped or panicked.
async fn rush(count: u64, guard: &Guard, room: &Arc<Room>) -> Vec<Option<&'static str>> {
    let task = |mut chance: fastrand::Rng| {
        let (guard, room) = (guard.clone(), Arc::clone(room));
        async move {
            let mut ends = Vec::new();
            for _ in 0..500 {
                // Most are over in their first poll, so that threads meet at nothing but the slots. Who hangs is dropped
                // before anybody would have to wake it.
                let (end, yields, polls) = match chance.u8(..) {
                    0..8 => (End::Panic, chance.u8(..2), None),
                    8..16 => (End::Hang, 3, Some(chance.u8(..4))),
                    16..32 => (End::Good, 2, Some(chance.u8(..4))),
                    32..64 => (FAILED, 1, None),
                    _ => (End::Good, 0, None),
                };
                ends.push(leave_after(polls, async { seen(&guard.call_once(room.visit(yields, end)).await) }).await);
            }
            ends
        }
    };
    tasks(count, task).await.concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn as_many_tasks_as_slots_are_never_refused_wherever_the_free_ones_lie() {
    for limit in [4_u32, 8] {
        let (runtime, guard) = guard(&format!("timeout = \"60s\"\nbulkhead = {{ max_concurrent = {limit} }}"));
        let room = Arc::new(Room::of(limit as usize));
        let ends = rush(u64::from(limit), &guard, &room).await;
        assert!(ends.contains(&Some("ok")) && ends.contains(&None));
        assert!(!ends.contains(&Some("bulkhead_full")), "a free slot was refused");
        assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
        // One thread gets them all, whoever kept them.
        let mut running: Vec<_> = (0..=limit)
            .map(|_| Box::pin(guard.call_once(room.visit(1, End::Hang))))
            .collect();
        let ready = running.iter_mut().map(|call| poll_once(call.as_mut()).is_ready());
        assert_eq!(
            ready.collect::<Vec<_>>().iter().position(|ready| *ready),
            Some(limit as usize)
        );
        assert_eq!(
            (room.inside(), slots(&runtime)),
            (limit as usize, (u64::from(limit), 0))
        );
        drop(running);
        assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_times_as_many_tasks_as_slots_pass_no_limit_and_all_are_served() {
    let (runtime, guard) =
        guard("timeout = \"60s\"\nbulkhead = { max_concurrent = 8, max_waiting = 100, max_wait = \"1h\" }");
    let room = Arc::new(Room::of(8));
    let ends = tokio::time::timeout(std::time::Duration::from_secs(60), rush(24, &guard, &room));
    let ends = ends.await.expect("nobody is stuck");
    assert!(!ends.contains(&Some("bulkhead_full")) && !ends.contains(&Some("wait_timed_out")));
    assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_after_a_rush_is_served_in_order_of_arrival() {
    const WAITERS: usize = 300;
    let (runtime, guard) =
        guard("timeout = \"60s\"\nbulkhead = { max_concurrent = 4, max_waiting = 300, max_wait = \"1h\" }");
    let room = Arc::new(Room::of(4));
    rush(4, &guard, &room).await;

    let mut running: Vec<_> = (0..4)
        .map(|_| Box::pin(guard.call_once(room.visit(1, End::Hang))))
        .collect();
    for call in &mut running {
        assert!(poll_once(call.as_mut()).is_pending());
    }
    assert_eq!((room.inside(), slots(&runtime)), (4, (4, 0)));
    let (waiters, served) = line_up(WAITERS, &guard, &room);
    assert_eq!(slots(&runtime), (4, 300));
    // One slot goes through the whole line.
    drop(running.pop());
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert!(served.lock().unwrap().is_sorted(), "somebody was overtaken");
    drop(running);
    assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
}
