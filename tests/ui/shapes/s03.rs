//! S03: named lifetimes, a bound between them, a reference returned.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "nothing to serve instead")]
async fn longer<'a, 'b: 'a>(x: &'a str, y: &'b str) -> Res<&'a str> {
    tick().await;
    Ok(if x.len() > y.len() { x } else { y })
}

#[test]
fn s03_named_lifetimes_a_bound_between_them_a_reference_returned() {
    let y = String::from("long");
    let x = String::from("x");
    assert_eq!(block_on(longer(&x, &y)), Ok("long"));
}
