mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead};

#[breaker("payrail")]
#[bulkhead]
async fn charge(n: u32) -> Res<u32> { tick().await; Ok(n) }
fn main() { let _ = charge(1); }
