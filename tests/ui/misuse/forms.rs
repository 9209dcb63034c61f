mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};

async fn spare(n: u32) -> Res<u32> { Ok(n) }

#[breaker("payrail")] #[fallback(value = 1)] #[fallback(spare)]
async fn after_an_answer(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(stale)]
async fn stale_without_key(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(stale(n))]
async fn stale_with_a_bare_key(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(value = 1, one_per = n)]
async fn one_per_value(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(one_per = n)]
async fn one_per_alone(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(spare, none = "none")]
async fn two_in_one(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(spare(n))]
async fn with_arguments(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(7)]
async fn bare_value(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback("nothing to serve")]
async fn bare_reason(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(default = 1)]
async fn unknown_form(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(none = REASON)]
async fn reason_by_name(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(value)]
async fn bare_word(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[breaker("payrail")] #[fallback(spare, crate = resilience_runtime)]
async fn option_of_a_layer(n: u32) -> Res<u32> { tick().await; Ok(n) }
#[fallback(spare)]
async fn nothing_to_fall_back_from(n: u32) -> Res<u32> { tick().await; Ok(n) }

fn main() {}
