//! Statuses and responses of the `http` crate, and so of every client and server built on it.
//!
//! A status below 400 is a success, 4xx is business: the far side answered, and the answer is no. Of these, 408 is a
//! failure of kind `timeout` and 429 is throttled. 5xx is a failure of kind `server`; a 503 with a `Retry-After` is
//! throttled.

use std::time::{Duration, SystemTime};

use ::http::header::{DATE, RETRY_AFTER};
use ::http::{HeaderMap, Response, StatusCode};

use crate::clock;
use crate::outcome::{Classify, FailureKind, Outcome};

/// What a status and its headers say; `Retry-After` is read as seconds or as a date.
pub fn parts(status: StatusCode, headers: &HeaderMap) -> Outcome {
    match (status.classify(), status) {
        (Outcome::Throttled { .. }, _) => Outcome::Throttled {
            retry_after: retry_after(headers),
        },
        (outcome, StatusCode::SERVICE_UNAVAILABLE) => match retry_after(headers) {
            None => outcome,
            named => Outcome::Throttled { retry_after: named },
        },
        (outcome, _) => outcome,
    }
}

/// What a result with a response in it says: for `classify = resilience_runtime::classify::http::result`.
///
/// # Errors
/// None: an error is classified as its type says.
pub fn result<B, E: Classify>(answer: &Result<Response<B>, E>) -> Outcome {
    match answer {
        Ok(response) => response.classify(),
        Err(error) => error.classify(),
    }
}

impl Classify for StatusCode {
    fn classify(&self) -> Outcome {
        match *self {
            Self::REQUEST_TIMEOUT => Outcome::Failure(FailureKind::Timeout),
            Self::TOO_MANY_REQUESTS => Outcome::Throttled { retry_after: None },
            status if status.is_client_error() => Outcome::Business,
            status if status.as_u16() >= 500 => Outcome::Failure(FailureKind::Server),
            _ => Outcome::Success,
        }
    }
}

impl<B> Classify for Response<B> {
    fn classify(&self) -> Outcome {
        parts(self.status(), self.headers())
    }
}

/// A message that could not be built, or was not HTTP.
impl Classify for ::http::Error {
    fn classify(&self) -> Outcome {
        Outcome::Failure(FailureKind::Protocol)
    }
}

/// When the far side says to come back; what makes no sense is nothing.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit is longer than anybody obeys; `max_hold` cuts it.
        return Some(Duration::from_secs(said.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let then = httpdate::parse_http_date(said).ok()?;
    // Against the far side's own clock where it tells it: ours may be minutes off.
    let now = date(headers).unwrap_or_else(clock::wall);
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}

fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use ::http::HeaderName;

    use super::*;

    fn said(status: u16, headers: &[(HeaderName, &str)]) -> Outcome {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, *value);
        }
        response.body(()).unwrap().classify()
    }

    fn throttled(seconds: u64) -> Outcome {
        Outcome::Throttled {
            retry_after: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn statuses() {
        for status in [200, 204, 301, 304] {
            assert_eq!(said(status, &[]), Outcome::Success, "{status}");
        }
        for status in [400, 401, 402, 403, 404, 409, 422] {
            assert_eq!(said(status, &[]), Outcome::Business, "{status}");
        }
        for status in [500, 501, 502, 503, 504, 599] {
            assert_eq!(said(status, &[]), Outcome::Failure(FailureKind::Server), "{status}");
        }
        assert_eq!(said(408, &[]), Outcome::Failure(FailureKind::Timeout));
        assert_eq!(said(429, &[]), Outcome::Throttled { retry_after: None });
    }

    #[test]
    fn retry_after_in_seconds() {
        assert_eq!(said(429, &[(RETRY_AFTER, "30")]), throttled(30));
        assert_eq!(said(503, &[(RETRY_AFTER, " 7 ")]), throttled(7));
        assert_eq!(said(500, &[(RETRY_AFTER, "7")]), Outcome::Failure(FailureKind::Server));
        assert_eq!(
            said(503, &[(RETRY_AFTER, "99999999999999999999999")]),
            throttled(u64::from(u32::MAX))
        );
    }

    #[test]
    fn retry_after_as_a_date_is_measured_on_the_far_sides_clock() {
        let now = (DATE, "Tue, 15 Nov 1994 08:12:31 GMT");
        assert_eq!(
            said(503, &[now.clone(), (RETRY_AFTER, "Tue, 15 Nov 1994 08:14:31 GMT")]),
            throttled(120)
        );
        assert_eq!(
            said(429, &[now, (RETRY_AFTER, "Tue, 15 Nov 1994 08:00:00 GMT")]),
            throttled(0)
        );
        assert_eq!(
            said(429, &[(RETRY_AFTER, "Tue, 15 Nov 1994 08:00:00 GMT")]),
            throttled(0)
        );
    }

    #[test]
    fn retry_after_that_makes_no_sense_is_none() {
        for value in ["soon", "-1", "1.5", ""] {
            assert_eq!(
                said(429, &[(RETRY_AFTER, value)]),
                Outcome::Throttled { retry_after: None },
                "{value}"
            );
            assert_eq!(
                said(503, &[(RETRY_AFTER, value)]),
                Outcome::Failure(FailureKind::Server),
                "{value}"
            );
        }
    }

    #[test]
    fn a_result_is_judged_by_its_response_or_its_error() {
        let found: Result<_, std::io::Error> = Ok(Response::builder().status(404).body(()).unwrap());
        assert_eq!(result(&found), Outcome::Business);
        let lost: Result<Response<()>, _> = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert_eq!(result(&lost), Outcome::Failure(FailureKind::Connect));
    }
}
