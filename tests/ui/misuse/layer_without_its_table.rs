mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

#[breaker("vault")] #[bulkhead] #[retry] #[timeout] #[fallback(none = "none")]
async fn three() -> Res<u32> { tick().await; Ok(1) }
#[bulkhead("vault.open")] #[fallback(none = "none")]
async fn of_an_operation() -> Res<u32> { tick().await; Ok(1) }
#[bulkhead("payrail", key = n)] #[fallback(none = "none")]
async fn key_without_slots_per_key(n: u32) -> Res<u32> { tick().await; Ok(n) }

fn main() {}
