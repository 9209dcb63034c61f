//! Ten thousand tasks through one guard for a minute, on virtual time.

use std::sync::Arc;
use std::time::Duration;

use resilience_runtime::testing;

use crate::crowd::{End, FAILED, IGNORED, Room, any, balanced, tasks};
use crate::kit::{guard, ms, secs, seen, slots, state, tally};

const TASKS: u64 = 10_000;

/// All tasks find a place in the line, and the longest that anybody waits is far below the deadline.
const POLICY: &str = r#"
timeout = "100ms"
deadline = "5s"
breaker = { window = "100 calls", cooldown = "500ms", cooldown_max = "1s", probes = 5, probe_successes = 5 }
bulkhead = { max_concurrent = 1000, max_waiting = 10000, max_wait = "2s" }
retry = { max_attempts = 3, backoff = "5ms", backoff_max = "50ms" }
"#;

/// From second 20 to 40 nearly everything fails; the rest of the time one in a hundred does.
fn end(chance: &mut fastrand::Rng, at: Duration) -> End {
    let ill = (secs(20)..secs(40)).contains(&at);
    match chance.u8(..100) {
        0 => FAILED,
        1 => End::Hang,
        2 => IGNORED,
        _ if ill => any(chance, &[FAILED, End::Hang, FAILED]),
        _ => End::Good,
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_tasks_for_a_minute_are_never_stuck_and_end_where_they_began() {
    let (runtime, guard) = guard(POLICY);
    let room = Arc::new(Room::of(1_000));
    let zero = tokio::time::Instant::now();
    let task = |mut chance: fastrand::Rng| {
        let (guard, room) = (guard.clone(), Arc::clone(&room));
        testing::record(async move {
            let (mut words, mut accepted) = (Vec::new(), Vec::new());
            while zero.elapsed() < secs(60) {
                let begun = tokio::time::Instant::now();
                let body = || {
                    let (room, mut chance) = (Arc::clone(&room), chance.fork());
                    async move {
                        tokio::time::sleep(ms(chance.u64(1..40))).await;
                        room.visit(0, end(&mut chance, zero.elapsed())).await
                    }
                };
                let ended = seen(&guard.call(body).await);
                let took = begun.elapsed();
                // Nobody is held beyond the deadline, to the millisecond of the timers.
                assert!(took <= ms(5_001));
                words.push(ended);
                if ended == "ok" {
                    accepted.push(took);
                }
                tokio::time::sleep(ms(chance.u64(4_000..8_000))).await;
            }
            // The pauses alone are eight seconds at most, and a call is a fraction of one.
            assert!(words.len() >= 7, "it was stuck: {words:?}");
            (words, accepted)
        })
    };
    let (ends, events): (Vec<_>, Vec<_>) = tasks(TASKS, task).await.into_iter().unzip();
    assert!(zero.elapsed() < secs(70));

    let (words, accepted): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    let (words, mut accepted, mut events) = (words.concat(), accepted.concat(), events.concat());
    let counts = tally(&words);
    let (last, made) = testing::record(async { state(&runtime) }).await;
    events.extend(made);
    // The bare call takes 20 ms in the middle; who was accepted waited for no more than as much again.
    accepted.sort_unstable();
    assert!(
        accepted[accepted.len() / 2] <= ms(40),
        "{:?}",
        accepted[accepted.len() / 2]
    );
    let causes = balanced(&events, last);
    assert!(counts["ok"] > 30_000 && counts["open"] > 1_000, "{counts:?}");
    assert!(
        causes["failure_rate"] >= 1 && causes.contains_key("probes_succeeded"),
        "{causes:?}"
    );
    assert_eq!((last, room.inside(), slots(&runtime)), ("closed", 0, (0, 0)));
}
