//! S39: statement position, nested functions, visibilities.

use resilience_runtime::{breaker, fallback};

pub mod api {
    use crate::kit::*;
    use resilience_runtime::{breaker, fallback};
    pub mod v1 {
        use crate::kit::*;
        #[super::breaker("payrail")]
        #[super::fallback(none = "none")]
        pub(in crate::s39::api) async fn hidden(n: u32) -> Res<u32> {
            tick().await;
            Ok(n)
        }
    }
    #[breaker("payrail")]
    #[fallback(none = "none")]
    pub(crate) async fn shown(n: u32) -> Res<u32> {
        v1::hidden(n).await
    }
}

#[test]
fn s39_statement_position_nested_functions_visibilities() {
    use crate::kit::*;
    async fn spare(n: u32) -> Res<u32> {
        Ok(n + 1000)
    }
    #[breaker("payrail")]
    #[fallback(spare)]
    async fn local(n: u32) -> Res<u32> {
        api::shown(n).await
    }
    assert_eq!(block_on(local(4)), Ok(4));
}
