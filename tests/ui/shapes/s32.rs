//! S32: a future that is not `Send` stays legal.

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback};
use std::rc::Rc;

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "none")]
async fn local(r: Rc<u32>) -> Res<u32> {
    let r2 = r.clone();
    tick().await;
    Ok(*r + *r2)
}

#[test]
fn s32_a_future_that_is_not_send_stays_legal() {
    assert_eq!(block_on(local(Rc::new(2))), Ok(4));
}
