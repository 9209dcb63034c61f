//! S34: cancelled, panicked and never-polled calls give their slot back.

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, testing::in_flight};
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Waker},
};

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "none")]
async fn f(explode: bool) -> Res<u32> {
    tick().await;
    if explode {
        panic!("in the body")
    }
    Ok(1)
}

#[test]
fn s34_cancelled_panicked_and_never_polled_calls_give_their_slot_back() {
    let mut cx = Context::from_waker(Waker::noop());
    drop(f(false));
    assert_eq!(in_flight("payrail"), 0);
    let mut p = Box::pin(f(false));
    let _ = p.as_mut().poll(&mut cx);
    assert_eq!(in_flight("payrail"), 1);
    drop(p);
    assert_eq!(in_flight("payrail"), 0);
    let mut p = Box::pin(f(true));
    let _ = p.as_mut().poll(&mut cx);
    assert!(
        catch_unwind(AssertUnwindSafe(|| {
            let _ = p.as_mut().poll(&mut cx);
        }))
        .is_err()
    );
    assert_eq!(in_flight("payrail"), 0);
}
