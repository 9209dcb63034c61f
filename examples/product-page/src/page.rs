//! The page as its readers get it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use resilience_runtime::tower::DegradedLayer;
use resilience_runtime::{Failure, Freshness, Served, degraded};
use serde::Serialize;

use crate::far::{Far, FarError};
use crate::parts::{self, Counted, Price};

/// The product page.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Which product.
    product: u32,
    /// Cents; none where it is not known now.
    price: Option<Price>,
    /// `fresh` or `missing`: never old.
    price_status: &'static str,
    /// Whether the button is there.
    can_checkout: bool,
    /// When looking again is worth it, where the price is missing and that is known.
    look_again_in_s: Option<u64>,
    recommendations: Part,
    reviews: Part,
    /// `counted` or `deferred`.
    visit: &'static str,
    /// What was replaced, by the words that the policy has for clients.
    degraded_components: Vec<String>,
}

/// A part that may be lesser, and says so.
#[derive(Debug, Serialize)]
struct Part {
    items: Vec<String>,
    /// `fresh`, `stale`, `replaced` or `omitted`.
    status: &'static str,
    /// How old it is, if it is old.
    age_s: Option<u64>,
}

impl From<Served<Vec<String>>> for Part {
    fn from(served: Served<Vec<String>>) -> Self {
        let (status, age_s) = match served.freshness {
            Freshness::Fresh => ("fresh", None),
            Freshness::Stale { age } => ("stale", Some(age.as_secs())),
            Freshness::Fallback if served.value.is_empty() => ("omitted", None),
            Freshness::Fallback => ("replaced", None),
        };
        Self {
            items: served.value,
            status,
            age_s,
        }
    }
}

/// The service: the page, and the checkout.
pub fn app(far: Far) -> Router {
    Router::new()
        .route("/products/{product}", get(show))
        .route("/products/{product}/checkout", post(checkout))
        .layer(DegradedLayer::new())
        .with_state(far)
}

async fn show(State(far): State<Far>, Path(product): Path<u32>) -> Result<Json<Page>, Answer> {
    let (parts, replaced) = degraded::collect(async {
        tokio::join!(
            parts::price(&far, product),
            parts::recommendations(&far, 7),
            parts::reviews(&far, product),
            parts::visit(&far, product, "r-1"),
        )
    })
    .await;
    let (price, recommendations, reviews, visit) = parts;
    let (price, look_again_in_s) = match price {
        Ok(price) => (Some(price), None),
        Err(FarError::NoSuchProduct) => return Err(Answer(FarError::NoSuchProduct)),
        Err(FarError::Refused(refused)) => (None, refused.retry_after_secs()),
        Err(FarError::Down) => (None, None),
    };
    let mut degraded_components: Vec<String> = Vec::new();
    for label in replaced.iter().filter_map(|part| part.label()) {
        if !degraded_components.iter().any(|known| known == label) {
            degraded_components.push(label.to_owned());
        }
    }
    Ok(Json(Page {
        product,
        price,
        price_status: if price.is_some() { "fresh" } else { "missing" },
        can_checkout: price.is_some(),
        look_again_in_s,
        recommendations: recommendations?.into(),
        reviews: reviews?.into(),
        visit: match visit? {
            Counted::Now => "counted",
            Counted::Later => "deferred",
        },
        degraded_components,
    }))
}

/// Sells at the price of this moment, or not at all.
async fn checkout(State(far): State<Far>, Path(product): Path<u32>) -> Result<Json<Price>, Answer> {
    Ok(Json(parts::price(&far, product).await?))
}

/// An error as a response.
struct Answer(FarError);

impl From<FarError> for Answer {
    fn from(error: FarError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        match self.0 {
            FarError::NoSuchProduct => StatusCode::NOT_FOUND.into_response(),
            // 503 or 504, with a true `Retry-After` where there is one.
            FarError::Refused(refused) => refused.into_response(),
            FarError::Down => Failure::Error(FarError::Down).into_response(),
        }
    }
}
