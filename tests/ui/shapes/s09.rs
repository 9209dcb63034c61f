//! S09: fallback as a free function, a path in another module, an associated function, a method.

use crate::kit::*;
use resilience_runtime::{breaker, fallback, testing::trip};

mod spare {
    pub mod deep {
        pub async fn quote(id: u32) -> crate::kit::Res<u32> {
            Ok(id + 2000)
        }
    }
}
async fn free(id: u32) -> Res<u32> {
    Ok(id + 1000)
}

#[breaker("payrail")]
#[fallback(free)]
async fn a(id: u32) -> Res<u32> {
    Ok(id)
}

#[breaker("payrail")]
#[fallback(crate::s09::spare::deep::quote)]
async fn b(id: u32) -> Res<u32> {
    Ok(id)
}

struct Desk {
    base: u32,
}
impl Desk {
    #[breaker("payrail")]
    #[fallback(Self::cached)]
    async fn ask(&self, id: u32) -> Res<u32> {
        Ok(self.base + id)
    }
    async fn cached(&self, id: u32) -> Res<u32> {
        Ok(self.base + id + 3000)
    }

    #[breaker("payrail")]
    #[fallback(free)]
    async fn outside(&self, id: u32) -> Res<u32> {
        Ok(self.base + id)
    }

    #[breaker("payrail")]
    #[fallback(Self::fresh)]
    async fn make(id: u32) -> Res<u32> {
        Ok(id)
    }
    async fn fresh(id: u32) -> Res<u32> {
        Ok(id + 4000)
    }
}

#[test]
fn s09_fallback_as_a_free_function_a_path_in_another_module_an_associated_function_a_method() {
    block_on(async {
        trip("payrail");
        let d = Desk { base: 10 };
        assert_eq!(a(1).await, Ok(1001));
        assert_eq!(b(1).await, Ok(2001));
        assert_eq!(d.ask(1).await, Ok(3011));
        assert_eq!(d.outside(1).await, Ok(1001));
        assert_eq!(Desk::make(1).await, Ok(4001));
    });
}
