mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback};

#[derive(PartialEq)]
pub struct Opaque;
async fn spare(_: u32) -> Res<Opaque> { Ok(Opaque) }

// What an option asks of a type is asked where the option stands.
#[bulkhead("ledger", key = &Opaque)] //~ E0277 `&Opaque`
#[fallback(none = "none")]
async fn key() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")]
#[fallback(stale(key = Opaque))] //~ E0277 `Opaque`
#[fallback(none = "none")]
async fn stale_key() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")]
#[fallback(stale(shared))] //~ E0277 `stale`
async fn stale_answer() -> Res<Opaque> { tick().await; Ok(Opaque) }
#[breaker("payrail")]
#[fallback(spare, one_per = n)] //~ E0277 `spare`
async fn one_per(n: u32) -> Res<Opaque> { tick().await; if n > 0 { Err(AppError::Down) } else { Ok(Opaque) } }

fn main() { let _ = (key(), stale_key(), stale_answer(), one_per(1)); }
