//! S02: elided lifetimes, `&mut` argument, borrow across await.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "nothing to serve instead")]
async fn append(to: &mut Vec<String>, what: &str) -> Res<usize> {
    let last = to.last_mut();
    tick().await;
    if let Some(s) = last {
        s.push_str(what);
    }
    to.push(what.to_owned());
    Ok(to.len())
}

#[test]
fn s02_elided_lifetimes_mut_argument_borrow_across_await() {
    let mut v = vec![String::from("a")];
    let what = String::from("b");
    assert_eq!(block_on(is_send(append(&mut v, &what))), Ok(2));
    assert_eq!(v, ["ab", "b"]);
}
