//! S30: recursion through the guarded function.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "none")]
async fn depth(n: u32) -> Res<u32> {
    if n == 0 {
        return Ok(0);
    }
    tick().await;
    Ok(Box::pin(depth(n - 1)).await? + 1)
}

#[test]
fn s30_recursion_through_the_guarded_function() {
    assert_eq!(block_on(is_send(depth(5))), Ok(5));
}
