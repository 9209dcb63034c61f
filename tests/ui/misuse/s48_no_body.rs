mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};
trait Gateway {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn send(&self, n: u32) -> Res<u32>;
}
struct N;
impl Gateway for N { async fn send(&self, n: u32) -> Res<u32> { tick().await; Ok(n) } }
fn main() { let _ = N.send(1); }
