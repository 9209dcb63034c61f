mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};

struct Desk;
impl Desk {
    #[breaker("payrail")] #[fallback(Self::ask)]
    async fn ask(&self) -> Res<u32> { tick().await; Ok(1) }
    // The function of the module, which is another.
    #[breaker("payrail")] #[fallback(other)]
    async fn other(&self) -> Res<u32> { tick().await; Ok(1) }
}

#[breaker("payrail")] #[fallback(none = "none")]
async fn other() -> Res<u32> { tick().await; Ok(1) }
#[breaker("payrail")] #[fallback(bare)]
async fn bare() -> Res<u32> { tick().await; Ok(1) }

fn main() {}
