mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback};

#[breaker] #[fallback(none = "x")]
async fn a() -> Res<u32> { tick().await; Ok(1) }
#[breaker(payrail)] #[fallback(none = "x")]
async fn b() -> Res<u32> { tick().await; Ok(1) }
#[breaker("")] #[fallback(none = "x")]
async fn c() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", "ledger")] #[fallback(none = "x")]
async fn d() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[fallback(none)]
async fn e() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[fallback(none = "  ")]
async fn f() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[fallback]
async fn g() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[bulkhead(64)] #[fallback(none = "x")]
async fn h() -> Res<u32> { tick().await; Ok(1) }

fn main() { let _ = (a(), b(), c(), d(), e(), f(), g(), h()); }
