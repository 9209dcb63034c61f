//! Over time nothing stays.

use std::time::Duration;

use allocation_counter::measure;
use resilience_runtime::FailureKind;

use crate::hand::Hand;
use crate::kit::{FarError, guard};

const TASKS: usize = 10_000;

const POLICY: &str = r#"
timeout = "100ms"
deadline = "5s"
breaker = { window = "100 calls", cooldown = "500ms", probes = 5 }
bulkhead = { max_concurrent = 1000, max_waiting = 10000, max_wait = "2s" }
retry = { max_attempts = 3, backoff = "5ms", backoff_max = "50ms" }
"#;

#[test]
fn ten_thousand_calls_at_once_leave_no_byte_behind_however_often_they_come() {
    let (_runtime, guard) = guard(POLICY);
    let hand = Hand::new();
    let mut chance = fastrand::Rng::with_seed(7);
    let mut wave = || {
        let calls: Vec<_> = (0..TASKS)
            .map(|_| {
                let (takes, fails) = (Duration::from_millis(chance.u64(1..200)), chance.u8(..3) == 0);
                guard.call(move || async move {
                    tokio::time::sleep(takes).await;
                    if fails {
                        Err(FarError::Failed(FailureKind::Server))
                    } else {
                        Ok(())
                    }
                })
            })
            .collect();
        let mut calls: Vec<_> = calls.into_iter().map(|call| Some(Box::pin(call))).collect();
        // A tenth leaves after the second look.
        for look in 0..12 {
            hand.inside(|| {
                for (number, call) in calls.iter_mut().enumerate() {
                    let over = match call {
                        Some(_) if look == 2 && number % 10 == 0 => true,
                        Some(call) => crate::kit::poll_once(call.as_mut()).is_ready(),
                        None => false,
                    };
                    if over {
                        *call = None;
                    }
                }
            });
            hand.pass(Duration::from_millis(600));
        }
        assert!(calls.iter().all(Option::is_none), "a call is stuck");
    };
    // The line is as long as it will ever be, and the minute's sums by the second are all there.
    for _ in 0..12 {
        wave();
    }
    let kept = measure(|| {
        for _ in 0..8 {
            wave();
        }
    });
    assert_eq!((kept.count_current, kept.bytes_current), (0, 0));
}
