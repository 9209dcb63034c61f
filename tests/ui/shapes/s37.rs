//! S37: `&mut self` with a retry and a fallback method.

use crate::kit::*;
use resilience_runtime::{breaker, fallback, retry};

struct Conn {
    n: u32,
}
impl Conn {
    #[breaker("payrail")]
    #[retry]
    #[fallback(Self::local)]
    async fn call(&mut self, id: String) -> Res<u32> {
        self.n += 1;
        tick().await;
        drop(id);
        Err(AppError::Down)
    }
    async fn local(&mut self, id: String) -> Res<u32> {
        self.n += 100;
        Ok(self.n + id.len() as u32)
    }
}

#[test]
fn s37_mut_self_with_a_retry_and_a_fallback_method() {
    let mut c = Conn { n: 0 };
    assert_eq!(block_on(is_send(c.call("abc".into()))), Ok(106));
    assert_eq!(c.n, 103);
}
