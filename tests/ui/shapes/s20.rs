//! S20: unsizing and `impl Trait` in the return type.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};
use std::fmt::{Debug, Display};
use std::{future::Future, pin::Pin};

#[breaker("payrail")]
#[fallback(none = "none")]
async fn dynamic(n: u32) -> Res<Box<dyn Debug + Send>> {
    tick().await;
    if n == 0 {
        return Ok(Box::new("zero"));
    }
    Ok(Box::new(n))
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn slice() -> Res<&'static [u8]> {
    Ok(&[1, 2])
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn opaque(s: &str) -> Res<impl Display + use<'_>> {
    tick().await;
    if s.is_empty() {
        return Ok("empty");
    }
    Ok(s)
}

#[breaker("payrail")]
#[fallback(none = "none")]
async fn later() -> Res<Pin<Box<dyn Future<Output = u8> + Send>>> {
    let f = async { 7 };
    Ok(Box::pin(f))
}

#[test]
fn s20_unsizing_and_impl_trait_in_the_return_type() {
    block_on(async {
        assert_eq!(
            format!("{:?} {:?}", dynamic(0).await.unwrap(), dynamic(1).await.unwrap()),
            "\"zero\" 1"
        );
        assert_eq!(slice().await, Ok(&[1u8, 2][..]));
        assert_eq!(opaque("x").await.unwrap().to_string(), "x");
        assert_eq!(later().await.unwrap().await, 7);
    })
}
