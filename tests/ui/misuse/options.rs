mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry, timeout};

#[breaker("payrail", failure_rate = 0.5)] #[fallback(none = "none")]
async fn number() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", key = 1)] #[fallback(none = "none")]
async fn key_of_a_breaker() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", classify)] #[fallback(none = "none")]
async fn no_path() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", classify = "class")] #[fallback(none = "none")]
async fn text_for_a_path() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[bulkhead(key =)] #[fallback(none = "none")]
async fn no_key() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[timeout("2s")] #[fallback(none = "none")]
async fn duration() -> Res<u32> { tick().await; Ok(1) }
#[timeout("2s")] #[fallback(none = "none")]
async fn duration_for_a_name() -> Res<u32> { tick().await; Ok(1) }
#[breaker(payrail::refund)] #[retry(3)] #[fallback(none = "none")]
async fn path_and_number() -> Res<u32> { tick().await; Ok(1) }

fn main() {}
