//! S28: macros in the body that mention `self` and `Self`.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

struct S {
    n: u32,
}
macro_rules! get {
    ($s:expr) => {
        $s.n
    };
}
impl S {
    const ADD: u32 = 5;
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn go(&self) -> Res<String> {
        macro_rules! both {
            () => {
                get!(self) + Self::ADD
            };
        }
        tick().await;
        let f = |x: u32| x + self.n;
        Ok(format!("{}{n}{}", both!(), f(1), n = self.n))
    }
}
#[test]
fn s28_macros_in_the_body_that_mention_self_and_self() {
    assert_eq!(block_on(S { n: 1 }.go()), Ok("612".into()));
}
