mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(self::again)]
async fn again(n: u32) -> Res<u32> { tick().await; Ok(n) }
fn main() { let _ = again(1); }
