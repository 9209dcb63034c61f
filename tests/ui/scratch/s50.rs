mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback};
#[derive(Debug)]
pub struct Mine;

#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn number(n: u32) -> u32 { tick().await; n } //~ E0277 `u32`
#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn option(n: u32) -> Option<u32> { tick().await; Some(n) } //~ E0277 `Option<u32>`
#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn own_error(n: u32) -> Result<u32, Mine> { tick().await; Ok(n) } //~ E0277 `Result<u32, Mine>`
#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn unit() { tick().await } //~ E0277 `unit`

// Made from a rejection, and says nothing about what it means.
pub struct Unclassed;
impl From<resilience_runtime::Rejection> for Unclassed {
    fn from(_: resilience_runtime::Rejection) -> Self { Unclassed }
}
#[breaker("payrail")]
#[fallback(none = "none")]
pub async fn unclassed(n: u32) -> Result<u32, Unclassed> { tick().await; Ok(n) } //~ E0277 `Result<u32, Unclassed>`

fn refusal(_: resilience_runtime::Rejection) -> Mine { Mine }
#[breaker("payrail")]
#[fallback(refuse = refusal)]
pub async fn refuses(n: u32) -> Result<u32, Mine> { tick().await; Ok(n) } //~ E0277 `Result<u32, Mine>`

fn main() { let _ = (number(1), option(1), own_error(1), unit(), unclassed(1), refuses(1)); }
