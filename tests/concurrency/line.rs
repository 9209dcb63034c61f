//! The line before the bulkhead, with its waiters on several threads.

use std::sync::Arc;

use crate::crowd::{End, Room, line_up};
use crate::kit::{guard, poll_once, slots};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_thousand_waiters_are_served_in_order_of_arrival_though_every_third_gives_up() {
    const WAITERS: usize = 3_000;
    let (runtime, guard) =
        guard("timeout = \"60s\"\nbulkhead = { max_concurrent = 1, max_waiting = 3000, max_wait = \"1h\" }");
    let room = Arc::new(Room::of(1));
    let mut first = Box::pin(guard.call_once(room.visit(1, End::Hang)));
    assert!(poll_once(first.as_mut()).is_pending());

    let (waiters, served) = line_up(WAITERS, &guard, &room);
    assert_eq!(slots(&runtime), (1, 3_000));
    drop(first);
    for waiter in waiters.iter().skip(2).step_by(3) {
        waiter.abort();
    }
    let mut cancelled = 0;
    for waiter in waiters {
        match waiter.await {
            Ok(()) => {}
            Err(error) if error.is_cancelled() => cancelled += 1,
            Err(error) => panic!("{error}"),
        }
    }
    let served = served.lock().unwrap();
    assert!(served.is_sorted(), "somebody was overtaken");
    // Who was dropped in its body has been served too.
    assert!(cancelled <= WAITERS / 3 && served.len() >= WAITERS - cancelled);
    assert_eq!((room.inside(), slots(&runtime)), (0, (0, 0)));
}
