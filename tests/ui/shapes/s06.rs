//! S06: patterns in the parameter list.

use crate::kit::*;
use resilience_runtime::{breaker, fallback};

struct Money {
    cents: u32,
    unit: char,
}

#[breaker("payrail")]
#[fallback(none = "nothing to serve instead")]
async fn pay(
    (a, mut b): (u32, u32),
    Money { cents, unit: _ }: Money,
    _: String,
    mut log: Vec<u32>,
    &c: &u32,
    [first, .., last]: [u32; 4],
    r#type: u32,
) -> Res<(u32, Vec<u32>)> {
    b += cents;
    tick().await;
    log.push(a + b + c + first + last + r#type);
    Ok((b, log))
}

#[test]
fn s06_patterns_in_the_parameter_list() {
    let m = Money { cents: 5, unit: '€' };
    assert_eq!(m.unit, '€');
    let out = block_on(pay((1, 2), m, "x".into(), vec![], &10, [100, 0, 0, 200], 1000));
    assert_eq!(out, Ok((7, vec![1318])));
}
