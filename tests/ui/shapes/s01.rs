//! S01: Result alias, `?` with conversion, early `return`.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

#[breaker("payrail")]
#[fallback(none = "the caller shows an error page")]
async fn port(s: String) -> Res<u16> {
    if s.is_empty() {
        return Err(AppError::Down);
    }
    tick().await;
    let p: u16 = s.parse()?;
    Ok(p + 1)
}

#[test]
fn s01_result_alias_with_conversion_early_return() {
    assert_eq!(block_on(port("41".into())), Ok(42));
    assert_eq!(block_on(port("x".into())), Err(AppError::Bad(0)));
    assert_eq!(block_on(port(String::new())), Err(AppError::Down));
}
