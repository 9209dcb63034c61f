//! S10: trait with a default body, an impl, an associated error type.

use crate::kit::*;
use resilience_runtime::{Classify, Rejection, breaker, fallback};

#[allow(async_fn_in_trait)]
trait Gateway {
    type Error: From<Rejection> + Classify;
    async fn send(&self, n: u32) -> Result<u32, Self::Error>;

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn twice(&self, n: u32) -> Result<u32, Self::Error> {
        let a = self.send(n).await?;
        self.send(a).await
    }
}

struct Net<T>(T);
impl<T: Clone + Into<u32>> Gateway for Net<T> {
    type Error = AppError;
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn send(&self, n: u32) -> Result<u32, Self::Error> {
        tick().await;
        let k: u32 = self.0.clone().into();
        Ok(n + k)
    }
}

#[test]
fn s10_trait_with_a_default_body_an_impl_an_associated_error_type() {
    assert_eq!(block_on(Net(1u8).twice(5)), Ok(7));
}
