mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrial")]
#[fallback(none = "none")]
async fn charge(n: u32) -> Res<u32> { tick().await; Ok(n) }

async fn a() -> Res<u32> { charge(1).await }
async fn b() -> Res<u32> { crate::charge(2).await }
fn main() { let _ = (a, b, charge); }
