//! S11: inside `#[async_trait]`.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[async_trait::async_trait]
trait Gateway: Send + Sync {
    async fn send(&self, _: u8, n: u32) -> Res<u32>;
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn twice(&self, n: u32) -> Res<u32> {
        Ok(self.send(0, n).await? * 2)
    }
}
struct Net(u32);
#[async_trait::async_trait]
impl Gateway for Net {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn send(&self, _: u8, n: u32) -> Res<u32> {
        if n == 0 {
            return Err(AppError::Down);
        }
        tick().await;
        Ok(self.0 + n)
    }
}

#[test]
fn s11_inside_async_trait() {
    let g: Box<dyn Gateway> = Box::new(Net(1));
    assert_eq!(block_on(is_send(g.twice(4))), Ok(10));
    assert_eq!(block_on(g.send(0, 0)), Err(AppError::Down));
    // The second call counts as a failure: it is the boxed future that is measured, not the making of it.
    block_on(async {
        let ((), events) = resilience_runtime::testing::record(async {
            for _ in 0..20 {
                let _ = g.send(0, 0).await;
            }
        })
        .await;
        assert!(events.iter().any(|event| event.name() == "breaker.transition"));
    });
}
