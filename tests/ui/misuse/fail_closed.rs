//! What must never be made up: each form that could answer is refused, with the line of the policy that says so.
mod kit;
use kit::*;
use resilience_runtime::{breaker, fallback, Failure};

async fn spare(_: &str) -> Res<bool> { Ok(true) }
async fn told(_: &str, _: Failure<AppError>) -> Res<bool> { Ok(true) }

#[breaker("authentication")]
#[fallback(stale(key = token))]
#[fallback(spare)]
#[fallback(with = told)]
#[fallback(spare, one_per = token)]
#[fallback(value = true)]
async fn is_who_he_says(token: &str) -> Res<bool> { tick().await; Ok(token.is_empty()) }

#[breaker("authorisation")] #[fallback(value = true)]
async fn may(token: &str) -> Res<bool> { tick().await; Ok(token.is_empty()) }

#[breaker("payment")] #[fallback(value = 0)]
async fn charge(cents: u32) -> Res<u32> { tick().await; Ok(cents) }

#[breaker("fraud-limits")] #[fallback(stale(key = card))]
async fn is_suspicious(card: &str) -> Res<bool> { tick().await; Ok(card.is_empty()) }

#[breaker("quota")] #[fallback(spare)] #[fallback(none = "no quota, no service")]
async fn has_quota(tenant: &str) -> Res<bool> { tick().await; Ok(tenant.is_empty()) }

#[breaker("primary-database")] #[fallback(with = told)]
async fn write(row: &str) -> Res<bool> { tick().await; Ok(row.is_empty()) }

// The table itself: one that refuses is right.
#[breaker("payment")] #[fallback(none = "an order is never paid by guessing")]
async fn refund(cents: u32) -> Res<u32> { tick().await; Ok(cents) }

fn main() {}
