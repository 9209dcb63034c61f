//! S07: the receivers of everyday code.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[derive(Debug, PartialEq)]
struct Till {
    sum: u32,
}

impl Till {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn peek(&self, plus: u32) -> Res<u32> {
        tick().await;
        Ok(self.sum + plus)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn add(&mut self, n: u32) -> Res<u32> {
        self.sum += n;
        tick().await;
        self.sum += 1;
        Ok(self.sum)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn close(self) -> Res<u32> {
        tick().await;
        Ok(self.sum)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn bump(mut self) -> Res<Self> {
        self.sum += 1;
        tick().await;
        Ok(self)
    }

    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn open(sum: u32) -> Res<Self> {
        tick().await;
        Ok(Self { sum })
    }
}

#[test]
fn s07_the_receivers_of_everyday_code() {
    block_on(async {
        let mut t = Till::open(1).await.unwrap();
        assert_eq!(is_send(t.peek(2)).await, Ok(3));
        assert_eq!(t.add(4).await, Ok(6));
        let t = t.bump().await.unwrap();
        assert_eq!(t, Till { sum: 7 });
        assert_eq!(t.close().await, Ok(7));
    })
}
