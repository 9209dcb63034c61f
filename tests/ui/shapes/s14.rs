//! S14: other attributes and docs are kept.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

/// First line.
#[breaker("payrail")]
/// Second line.
#[must_use = "charging without looking at the answer"]
#[fallback(none = "none")]
#[inline]
#[allow(clippy::too_many_arguments)]
pub async fn charge(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8) -> Res<u32> {
    tick().await;
    Ok([a, b, c, d, e, f, g, h].iter().map(|x| u32::from(*x)).sum())
}

/// Old.
#[deprecated(note = "use charge")]
#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn old() -> Res<u32> {
    Ok(1)
}

#[expect(dead_code, deprecated, unused_must_use)]
fn both_are_still_warned_about() {
    let _ = old();
    let _ = async {
        charge(1, 1, 1, 1, 1, 1, 1, 1);
    };
}

#[test]
fn s14_other_attributes_and_docs_are_kept() {
    #[allow(deprecated)]
    let n = block_on(old());
    assert_eq!(n, Ok(1));
    assert_eq!(block_on(charge(1, 1, 1, 1, 1, 1, 1, 1)), Ok(8));
}
