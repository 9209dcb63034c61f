mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback, retry, Outcome};
fn class(_: &u32) -> Outcome { Outcome::Success }
async fn spare(n: u32) -> u32 { n }
fn refusal(_: resilience_runtime::Rejection) -> u32 { 1 }

// Without a `Result` there is no error to end with.
#[breaker("payrail", classify = class)]
#[fallback(none = "none")] //~ E0277 `none`
async fn no_answer(n: u32) -> u32 { tick().await; n }
#[breaker("payrail", classify = class)]
#[fallback(refuse = refusal)] //~ E0277 `refusal`
async fn refuses(n: u32) -> u32 { tick().await; n }
#[breaker("payrail", classify = class)]
#[fallback(spare)] //~ E0277 `spare`
async fn may_be_dry(n: u32) -> u32 { tick().await; n }
#[breaker("payrail", classify = class)]
#[fallback(value = "one")] //~ E0308 `"one"`
async fn other_value(n: u32) -> u32 { tick().await; n }
#[breaker("payrail")]
#[retry]
#[fallback(value = String::new())] //~ E0308 `String::new()`
async fn other_success(n: u32) -> Res<u32> { tick().await; Ok(n) }

fn main() { let _ = (no_answer(1), refuses(1), may_be_dry(1), other_value(1), other_success(1)); }
