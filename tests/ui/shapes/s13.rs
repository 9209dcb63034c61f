//! S13: stacked with `#[tracing::instrument]`, above and below.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "none")]
#[tracing::instrument(skip(s), err(Debug))]
async fn below(s: String, n: u32) -> Res<u32> {
    tick().await;
    Ok(s.len() as u32 + n)
}

#[tracing::instrument(skip_all)]
#[breaker("payrail")]
#[fallback(none = "none")]
async fn above(s: String, n: u32) -> Res<u32> {
    tick().await;
    Ok(s.len() as u32 + n)
}

#[breaker("payrail")]
#[tracing::instrument(skip_all)]
#[fallback(none = "none")]
async fn between(s: String, n: u32) -> Res<u32> {
    tick().await;
    Ok(s.len() as u32 + n)
}

#[test]
fn s13_stacked_with_tracing_instrument_above_and_below() {
    assert_eq!(block_on(below("ab".into(), 1)), Ok(3));
    assert_eq!(block_on(above("ab".into(), 1)), Ok(3));
    assert_eq!(block_on(between("ab".into(), 1)), Ok(3));
    block_on(async {
        resilience_runtime::testing::trip("payrail");
        assert!(matches!(below("ab".into(), 1).await, Err(AppError::Shed(_))));
        assert!(matches!(above("ab".into(), 1).await, Err(AppError::Shed(_))));
        assert!(matches!(between("ab".into(), 1).await, Err(AppError::Shed(_))));
    });
}
