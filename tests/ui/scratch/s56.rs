mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};
#[breaker("payrail")] #[fallback(none = "none")]
async fn tail() -> Res<u32> { tick().await; Ok("no") } //~ E0308 `"no"`
#[breaker("payrail")] #[fallback(none = "none")]
async fn early(c: bool) -> Res<u32> { tick().await; if c { return "no"; } Ok(1) } //~ E0308 `"no"`
#[breaker("payrail")] #[fallback(none = "none")]
async fn semi() -> Res<u32> { tick().await; Ok(1); } //~ E0308 `{ tick().await; Ok(1); }`
#[breaker("payrail")] #[fallback(none = "none")]
async fn question() -> Res<u32> { tick().await; let f: f32 = "1".parse::<f32>()?; Ok(f as u32) } //~ E0277 `?`
#[breaker("payrail")] #[fallback(none = "none")]
async fn moved(v: Vec<u8>) -> Res<usize> { tick().await; drop(v); Ok(v.len()) } //~ E0382 `v`
#[breaker("payrail")] #[fallback(none = "none")]
async fn name() -> Res<u32> { tick().await; Ok(undefined) } //~ E0425 `undefined`

fn main() {}
