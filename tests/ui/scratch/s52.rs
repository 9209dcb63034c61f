mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry};
pub struct Once;
async fn spare(_: Once, n: u32) -> Res<u32> { Ok(n) }

#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn again(it: Once) -> Res<u32> { drop(it); tick().await; Ok(1) } //~ E0277 `Once`
#[breaker("payrail")]
#[fallback(spare)]
async fn kept(it: Once, n: u32) -> Res<u32> { drop(it); tick().await; Ok(n) } //~ E0277 `Once`
#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn opaque(it: impl Fn() -> u32) -> Res<u32> { tick().await; Ok(it()) } //~ E0277 `impl Fn() -> u32`
#[breaker("payrail")]
#[retry]
#[fallback(none = "none")]
async fn generic<T: Into<u32>>(it: T) -> Res<u32> { tick().await; Ok(it.into()) } //~ E0277 `T`

// The body does not speak of it, or nothing needs it again.
#[breaker("payrail")]
#[fallback(spare)]
async fn not_used(it: Once, n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "none")]
async fn once(it: Once) -> Res<u32> { drop(it); tick().await; Ok(1) }

fn main() { let _ = (again(Once), kept(Once, 1), opaque(|| 1), generic(1u8), not_used(Once, 1), once(Once)); }
