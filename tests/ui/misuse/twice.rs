mod kit;
use kit::*;
use resilience_runtime::{breaker, bulkhead, fallback, retry};

fn class(_: &Res<u32>) -> resilience_runtime::Outcome { resilience_runtime::Outcome::Success }

#[breaker("payrail")] #[fallback(none = "none")] #[breaker]
async fn attribute() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[bulkhead("ledger")] #[fallback(none = "none")]
async fn name() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", classify = class)] #[retry(classify = class)] #[fallback(none = "none")]
async fn option() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail", classify = class, classify = class)] #[fallback(none = "none")]
async fn option_in_one() -> Res<u32> { tick().await; Ok(1) }

fn main() {}
