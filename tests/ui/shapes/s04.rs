//! S04: generics, const generics, where clause.

use crate::kit::*;
use resilience_runtime::{breaker, bulkhead, fallback};

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "nothing to serve instead")]
pub async fn total<const N: usize, T>(xs: [T; N], scale: T) -> Res<u64>
where
    T: Copy + Into<u64> + Send,
{
    tick().await;
    Ok(xs.iter().map(|x| (*x).into() * scale.into()).sum())
}

#[test]
fn s04_generics_const_generics_where_clause() {
    assert_eq!(block_on(is_send(total([1u8, 2, 3], 2))), Ok(12));
    assert_eq!(block_on(total::<0, u32>([], 1)), Ok(0));
}
