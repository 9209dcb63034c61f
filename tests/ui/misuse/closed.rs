mod kit;
use kit::*;
use resilience_runtime::{fallback, timeout};

async fn spare() -> Res<u32> { Ok(1) }
fn refusal(_: resilience_runtime::Rejection) -> AppError { AppError::Down }

#[timeout("vault")] #[fallback(value = 1)]
async fn value() -> Res<u32> { tick().await; Ok(1) }
#[timeout("vault")] #[fallback(spare)] #[fallback(refuse = refusal)]
async fn path() -> Res<u32> { tick().await; Ok(1) }
#[timeout("vault.open")] #[fallback(with = spare)] #[fallback(stale)]
async fn with_and_stale() -> Res<u32> { tick().await; Ok(1) }
#[timeout("vault")] #[fallback(refuse = refusal)]
async fn may_refuse() -> Res<u32> { tick().await; Ok(1) }

fn main() {}
