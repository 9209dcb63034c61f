//! S08: smart-pointer receivers.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};
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
