mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry};


#[breaker("payrial")]
#[bulkhead(64)]
#[retry(times = 3)]
#[fallback(none = "")]
async fn charge(n: u32) -> Res<u32> { tick().await; Ok(n) }

// Known all the same.
async fn user() -> Res<u32> { charge(1).await }

fn main() { let _ = user(); }
