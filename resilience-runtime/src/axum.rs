//! Rejections and failures as responses of an axum handler.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};

use crate::failure::Failure;
use crate::outcome::Classify;
use crate::rejection::Rejection;

/// [`Rejection::problem`]: 503 or 504, with a true `Retry-After`.
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.problem().map(Body::from)
    }
}

/// [`Failure::problem`]. The error's own text is not in it; log it where you have it.
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
impl<E: Classify> IntoResponse for Failure<E> {
    fn into_response(self) -> Response {
        self.problem().map(Body::from)
    }
}
