//! S26: made by `macro_rules!`, fragments of every kind.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

async fn spare(n: u32, _: u8) -> Res<u32> {
    Ok(n)
}

macro_rules! client {
    ($(#[$m:meta])* $vis:vis $name:ident, $dep:literal, $ty:ty, $fb:path, $p:pat, $body:block) => {
        $(#[$m])*
        #[breaker($dep)]
        #[fallback($fb)]
        $vis async fn $name(n: $ty, $p: u8) -> Res<$ty> $body
    };
}
client!(
    /// Docs.
    #[allow(unused)]
    pub quote, "payrail", u32, self::spare, _k, { Ok(7) }
);

#[test]
fn s26_made_by_macro_rules_fragments_of_every_kind() {
    assert_eq!(block_on(quote(3, 0)), Ok(7));
}
