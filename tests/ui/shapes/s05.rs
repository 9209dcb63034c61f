//! S05: `impl Trait` argument and `&dyn Fn`.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "nothing to serve instead")]
async fn map_sum(it: impl Iterator<Item = u32> + Send, f: &(dyn Fn(u32) -> u32 + Sync)) -> Res<u32> {
    tick().await;
    Ok(it.map(f).sum())
}

#[test]
fn s05_impl_trait_argument_and_dyn_fn() {
    let k = 3;
    assert_eq!(
        block_on(is_send(map_sum(IntoIterator::into_iter([1, 2]), &|x| x * k))),
        Ok(9)
    );
}
