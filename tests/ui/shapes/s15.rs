//! S15: `#[cfg]` on parameters, `#[cfg_attr]` on the function.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "none")]
async fn pick(
    #[cfg(any())] gone: NoSuchType,
    #[cfg(panic = "unwind")] n: u32,
    #[cfg(any())] _: u8,
    #[allow(unused)] m: u32,
) -> Res<u32> {
    #[cfg(any())]
    return Ok(gone.len());
    tick().await;
    Ok(n)
}

#[cfg_attr(all(), breaker("payrail"), fallback(none = "none"))]
#[cfg_attr(any(), bulkhead)]
async fn maybe(n: u32) -> Res<u32> {
    tick().await;
    Ok(n)
}

#[test]
fn s15_cfg_on_parameters_cfg_attr_on_the_function() {
    assert_eq!(block_on(pick(1, 2)), Ok(1));
    assert_eq!(block_on(maybe(3)), Ok(3));
}
