//! The parts of the page: what is called, and what stands in for it.

#![allow(clippy::unused_async)] // a fallback is async

use resilience_runtime::{Failure, Served, breaker, bulkhead, fallback};

use crate::far::{Far, FarError};

/// Cents.
pub(crate) type Price = u32;

/// Essential: fresh or missing. The policy says `fail = "closed"`, so nothing else would compile here.
#[breaker("prices")]
#[bulkhead]
#[fallback(none = "an old price is worse than none; the page sells nothing without it")]
pub(crate) async fn price(far: &Far, product: u32) -> Result<Price, FarError> {
    if product == 0 {
        return Err(FarError::NoSuchProduct);
    }
    far.call("prices").await?;
    Ok(product * 100 + 99)
}

/// Optional: the buyer's own, else the best-seller list.
#[breaker("recommendations")]
#[bulkhead]
#[fallback(with = best_sellers)]
pub(crate) async fn recommendations(far: &Far, buyer: u32) -> Result<Served<Vec<String>>, FarError> {
    far.call("recommendations").await?;
    Ok(Served::fresh(vec![
        format!("for buyer {buyer}: a tent"),
        format!("for buyer {buyer}: a lamp"),
    ]))
}

/// No call leaves the process. An operator's override may say `--answer nothing`.
async fn best_sellers(_: &Far, _: u32, why: Failure<FarError>) -> Result<Served<Vec<String>>, FarError> {
    let word = why.rejection().and_then(|rejection| rejection.answer());
    Ok(Served::fresh(match word {
        Some("nothing") => Vec::new(),
        _ => vec!["a rucksack".to_owned(), "a flask".to_owned()],
    }))
}

/// Optional: fresh, else the last ones of this product with their age, else none.
#[breaker("reviews")]
#[bulkhead]
#[fallback(stale(key = product))]
#[fallback(value = Served::fresh(Vec::new()))]
pub(crate) async fn reviews(far: &Far, product: u32) -> Result<Served<Vec<String>>, FarError> {
    far.call("reviews").await?;
    Ok(Served::fresh(vec![format!("product {product} keeps its promise")]))
}

/// How a visit was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Now.
    Now,
    /// It is in the outbox, under a key that makes counting it twice harmless.
    Later,
}

/// Deferrable: counted now or later.
#[breaker("visits")]
#[bulkhead]
#[fallback(later)]
pub(crate) async fn visit(far: &Far, product: u32, request: &str) -> Result<Counted, FarError> {
    far.call("visits").await?;
    let _ = (product, request);
    Ok(Counted::Now)
}

async fn later(far: &Far, product: u32, request: &str) -> Result<Counted, FarError> {
    far.later(format!("visit of {product}, request {request}"));
    Ok(Counted::Later)
}
