//! S41: lints about the user's own code still fire.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

// An expectation that is not met is a warning, and so an error here: each lint fires, and at the function it is about.
#[expect(dead_code, unused_variables, unused_mut, unreachable_code)]
#[breaker("payrail")]
#[fallback(none = "none")]
async fn never_called(used: u32, not_used: u32, mut no_mut: u32) -> Res<u32> {
    let local = 1;
    tick().await;
    return Ok(used + no_mut);
    let after = 2;
}

struct S;
impl S {
    #[expect(dead_code)]
    #[breaker("payrail")]
    #[fallback(none = "none")]
    async fn dead(&self) -> Res<u32> {
        tick().await;
        Ok(1)
    }
}

#[test]
fn s41_lints_about_the_users_own_code_still_fire() {
    let _ = S;
}
