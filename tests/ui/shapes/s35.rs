//! S35: owned argument, consumed by the body, called again by a retry.

use crate::kit::*;
use resilience_runtime::{breaker, fallback, retry};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

static TRIES: AtomicU32 = AtomicU32::new(0);

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn send(body: String, seen: &mut Vec<String>) -> Res<usize> {
    let owned: String = body;
    seen.push(owned);
    tick().await;
    if TRIES.fetch_add(1, SeqCst) < 2 {
        return Err(AppError::Down);
    }
    Ok(seen.len())
}

#[test]
fn s35_owned_argument_consumed_by_the_body_called_again_by_a_retry() {
    let mut seen = vec![];
    assert_eq!(block_on(is_send(send("b".into(), &mut seen))), Ok(3));
    assert_eq!(seen, ["b", "b", "b"]);
}
