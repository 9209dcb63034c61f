mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback, retry};


#[async_trait::async_trait]
trait Gateway {
    async fn again(&mut self) -> Res<u32>;
    async fn spare(&mut self) -> Res<u32>;
    async fn other(&mut self) -> Res<u32>;
}

struct Net(u32);

#[async_trait::async_trait]
impl Gateway for Net {
    #[breaker("payrail")]
    #[retry]
    #[fallback(none = "none")]
    async fn again(&mut self) -> Res<u32> { self.0 += 1; Ok(self.0) }

    #[breaker("payrail")]
    #[fallback(Self::other)]
    async fn spare(&mut self) -> Res<u32> { self.0 += 1; Ok(self.0) }

    async fn other(&mut self) -> Res<u32> { Ok(self.0) }
}

fn main() {}
