mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};
async fn few() -> Res<u32> { Ok(1) }
async fn other_type(s: String) -> Res<u32> { Ok(s.len() as u32) }
async fn other_ret(n: u32) -> Res<String> { Ok(n.to_string()) }
fn not_async(n: u32) -> Res<u32> { Ok(n) }

#[breaker("payrail")] #[fallback(few)] //~ E0061 `few`
async fn a(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(other_type)] //~ E0308 `other_type`
async fn b(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(other_ret)] //~ E0308 `other_ret`
async fn c(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(not_async)] //~ E0277 `not_async`
async fn d(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(mising::path)] //~ E0433 `mising`
async fn e(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback("few")] //~ - `"few"`
async fn f(n: u32) -> Res<u32> { tick().await; Ok(n) }

fn main() { let _ = (few(), other_type("".into()), other_ret(1), not_async(1), a(1), b(1), c(1), d(1), e(1), f(1)); }
