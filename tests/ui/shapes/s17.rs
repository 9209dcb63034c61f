//! S17: imports renamed, attribute written as a path.

#![deny(warnings)]

use crate::kit::*;
use resilience_runtime as rr;
use resilience_runtime::{breaker as guard, fallback as otherwise};

async fn spare(n: u32) -> Res<u32> {
    Ok(n + 1000)
}

#[guard("payrail")]
#[otherwise(spare)]
async fn a(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[rr::breaker("payrail")]
#[resilience_runtime::bulkhead]
#[rr::fallback(spare)]
async fn b(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[test]
fn s17_imports_renamed_attribute_written_as_a_path() {
    assert_eq!(block_on(a(1)), Ok(1));
    assert_eq!(block_on(b(1)), Ok(1));
    block_on(async {
        rr::testing::trip("payrail");
        assert_eq!(a(1).await, Ok(1001));
        assert_eq!(b(1).await, Ok(1001));
    });
}
