//! S18: every imported attribute counts as used.

#![deny(warnings, unused_imports)]

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

async fn spare(n: u32) -> Res<u32> {
    Ok(n)
}

#[timeout]
#[retry]
#[fallback(spare)]
#[bulkhead]
#[breaker("payrail")]
async fn all(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[test]
fn s18_every_imported_attribute_counts_as_used() {
    assert_eq!(block_on(all(1)), Ok(1));
}
