mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};
#[breaker("payrail")]
#[fallback(none = "none")]
async fn typing(s: String) -> Res<usize> { tick().await; let n = s.; Ok(n) } //~ - `;` E0308 `n`

async fn user() -> Res<usize> { typing("a".into()).await }
fn main() { let _ = user(); }
