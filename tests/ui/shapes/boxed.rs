//! S12 and its neighbours: `#[async_trait]` with retries and with fallbacks of every form.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use resilience_runtime::{Failure, breaker, bulkhead, fallback, retry};

use crate::kit::*;

#[async_trait::async_trait]
trait Gateway: Send + Sync {
    async fn send(&self, to: String, n: u32) -> Res<String>;
    async fn cached(&self, to: String, n: u32) -> Res<String>;
    async fn shared(self: Arc<Self>, n: u32) -> Res<u32>;
    async fn apart(&self, n: Vec<u32>) -> Res<usize>;

    #[breaker("payrail")]
    #[fallback(value = n + 1)]
    async fn or_more(&self, n: u32) -> Res<u32> {
        tick().await;
        if n == 0 { Err(AppError::Down) } else { Ok(n) }
    }
}

struct Net {
    tries: AtomicU32,
}

async fn counted(n: Vec<u32>, failure: Failure<AppError>) -> Res<usize> {
    assert!(matches!(failure, Failure::Error(AppError::Down)));
    Ok(n.len() + 100)
}

#[async_trait::async_trait]
impl Gateway for Net {
    #[bulkhead(key = to)]
    #[breaker("ledger")]
    #[fallback(Self::cached)]
    async fn send(&self, to: String, n: u32) -> Res<String> {
        tick().await;
        self.tries.fetch_add(1, SeqCst);
        drop(to);
        if n == 0 {
            return Err(AppError::Down);
        }
        Ok("sent".to_owned())
    }

    async fn cached(&self, to: String, n: u32) -> Res<String> {
        Ok(format!("{to}{n} {}", self.tries.load(SeqCst)))
    }

    #[breaker("payrail")]
    #[retry]
    #[fallback(none = "none")]
    async fn shared(self: Arc<Self>, mut n: u32) -> Res<u32> {
        n += self.tries.fetch_add(1, SeqCst);
        tick().await;
        let all = self;
        if all.tries.load(SeqCst) < 3 {
            Err(AppError::Down)
        } else {
            Ok(n)
        }
    }

    #[breaker("payrail")]
    #[retry]
    #[fallback(with = counted)]
    async fn apart(&self, n: Vec<u32>) -> Res<usize> {
        self.tries.fetch_add(1, SeqCst);
        drop(n);
        Err(AppError::Down)
    }
}

fn net() -> Net {
    Net {
        tries: AtomicU32::new(0),
    }
}

#[test]
fn s12_a_fallback_method_under_async_trait_gets_the_receiver() {
    let gateway: Box<dyn Gateway> = Box::new(net());
    assert_eq!(block_on(is_send(gateway.send("a".into(), 1))), Ok("sent".to_owned()));
    assert_eq!(block_on(gateway.send("b".into(), 0)), Ok("b0 2".to_owned()));
    assert_eq!(block_on(gateway.or_more(0)), Ok(1));
    assert_eq!(block_on(gateway.or_more(5)), Ok(5));
}

#[test]
fn a_boxed_body_is_run_again_with_its_receiver_and_its_arguments() {
    let gateway = Arc::new(net());
    assert_eq!(block_on(is_send(gateway.clone().shared(10))), Ok(12));
    assert_eq!(gateway.tries.load(SeqCst), 3);
    gateway.tries.store(0, SeqCst);
    assert_eq!(block_on(gateway.apart(vec![1, 2])), Ok(102));
    assert_eq!(gateway.tries.load(SeqCst), 3);
}
