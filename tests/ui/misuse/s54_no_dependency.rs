mod kit;
use kit::*;
use resilience_runtime::{bulkhead, fallback, retry, timeout};

#[bulkhead] #[retry] #[timeout]
#[fallback(none = "none")]
async fn f(n: u32) -> Res<u32> { tick().await; Ok(n) }
fn main() { let _ = f(1); }
