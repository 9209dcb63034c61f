//! S08: smart-pointer receivers.

use crate::kit::*;
use resilience_runtime::{breaker, fallback, retry};
use std::{pin::Pin, rc::Rc, sync::Arc};

struct Svc(u32);

impl Svc {
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn arc(self: Arc<Self>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn rc_ref(self: &Rc<Self>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn pinned(self: Pin<&mut Self>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
    #[breaker("payrail")]
    #[retry]
    #[fallback(Self::spare)]
    async fn pinned_again(self: Pin<&mut Self>, failures: &mut u32) -> Res<u32> {
        tick().await;
        if *failures > 0 {
            *failures -= 1;
            return Err(AppError::Down);
        }
        Ok(self.0)
    }
    async fn spare(self: Pin<&mut Self>, _: &mut u32) -> Res<u32> {
        Ok(self.0 + 1000)
    }
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn boxed(self: Box<Self>) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn spelled(self: &Self) -> Res<u32> {
        tick().await;
        Ok(self.0)
    }
}

#[test]
fn s08_smart_pointer_receivers() {
    block_on(async {
        assert_eq!(is_send(Arc::new(Svc(1)).arc()).await, Ok(1));
        assert_eq!(Rc::new(Svc(2)).rc_ref().await, Ok(2));
        assert_eq!(Pin::new(&mut Svc(3)).pinned().await, Ok(3));
        assert_eq!(Box::new(Svc(4)).boxed().await, Ok(4));
        assert_eq!(Svc(5).spelled().await, Ok(5));
    })
}

#[test]
fn s08_a_pinned_receiver_is_lent_to_each_attempt_and_to_the_fallback() {
    block_on(async {
        assert_eq!(is_send(Pin::new(&mut Svc(3)).pinned_again(&mut 2)).await, Ok(3));
        assert_eq!(Pin::new(&mut Svc(3)).pinned_again(&mut 9).await, Ok(1003));
    })
}
