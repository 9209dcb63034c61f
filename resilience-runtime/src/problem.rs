//! What a client gets when there is no answer: status, `Retry-After` and a problem in the form of RFC 9457. No name of a
//! dependency, a host or a file is in it: the text is the safe `Display` of the rejection.

use ::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderValue, Response, StatusCode};

use crate::failure::Failure;
use crate::outcome::{Classify, FailureKind, Outcome};
use crate::rejection::{Reason, Rejection, seconds};

/// The media type of a problem.
const MEDIA_TYPE: &str = "application/problem+json";

impl Rejection {
    /// 504 where the dependency was asked and had no answer in time, else 503.
    #[cfg_attr(docsrs, doc(cfg(feature = "http")))]
    pub fn status(&self) -> StatusCode {
        match self.reason() {
            Reason::TimedOut | Reason::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A whole response: [`status`](Self::status), `Retry-After` where one is known, and an
    /// `application/problem+json` body.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # use std::time::Duration;
    /// use resilience_runtime::{Reason, testing};
    ///
    /// let refused = testing::rejection("payrail", Reason::Open, Some(Duration::from_millis(28_400)));
    /// let response = refused.problem();
    /// assert_eq!(response.status(), 503);
    /// assert_eq!(response.headers()["retry-after"], "29");
    /// assert_eq!(
    ///     response.body(),
    ///     r#"{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"not available at the moment, try again in 29 s"}"#
    /// );
    /// # }
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "http")))]
    pub fn problem(&self) -> Response<String> {
        problem(self.status(), &self.to_string(), self.retry_after_secs())
    }
}

impl<E: Classify> Failure<E> {
    /// A whole response: a rejection as [`Rejection::problem`] has it; an error by its class alone, because its own text
    /// may name hosts: 504 for a time-out, 503 where the far side was busy or a nested guard refused, else 502.
    ///
    /// A business answer (a declined card, a 404) means something to your client that only you know: turn it into your
    /// own response before. Here it is a 502.
    #[cfg_attr(docsrs, doc(cfg(feature = "http")))]
    pub fn problem(&self) -> Response<String> {
        let error = match self {
            Self::Rejected(rejection) => return rejection.problem(),
            Self::Error(error) => error,
        };
        match error.classify() {
            Outcome::Failure(FailureKind::Timeout) => problem(StatusCode::GATEWAY_TIMEOUT, "no answer in time", None),
            Outcome::Throttled { retry_after } => {
                let wait = retry_after.map(seconds);
                problem(StatusCode::SERVICE_UNAVAILABLE, "too busy at the moment", wait)
            }
            Outcome::Ignored => problem(StatusCode::SERVICE_UNAVAILABLE, "not available at the moment", None),
            _ => problem(StatusCode::BAD_GATEWAY, "no usable answer", None),
        }
    }
}

/// `detail` is a text of ours: nothing in it needs escaping.
fn problem(status: StatusCode, detail: &str, retry_after: Option<u64>) -> Response<String> {
    let title = status.canonical_reason().unwrap_or_default();
    let body = format!(
        r#"{{"type":"about:blank","title":"{title}","status":{},"detail":"{detail}"}}"#,
        status.as_u16()
    );
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if let Some(wait) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::identity::Identity;

    fn rejection(reason: Reason, retry_after: Option<Duration>) -> Rejection {
        let identity = Identity::intern("zz-dependency", Some("zz-label"), Some("zz-answer"));
        Rejection::new(identity, reason, retry_after)
    }

    #[test]
    fn what_was_tried_and_too_slow_is_504_and_what_was_refused_503() {
        for reason in Reason::ALL {
            let slow = matches!(reason, Reason::TimedOut | Reason::DeadlineExceeded);
            let status = if slow { 504 } else { 503 };
            assert_eq!(rejection(*reason, None).problem().status(), status, "{reason}");
        }
    }

    #[test]
    fn retry_after_is_rounded_up_at_least_a_second_and_absent_where_nobody_knows() {
        let header = |wait: Option<Duration>| {
            let response = rejection(Reason::Open, wait).problem();
            let header = response.headers().get(RETRY_AFTER);
            header.map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(header(None), None);
        assert_eq!(header(Some(Duration::ZERO)).as_deref(), Some("1"));
        assert_eq!(header(Some(Duration::from_nanos(1))).as_deref(), Some("1"));
        assert_eq!(header(Some(Duration::from_secs(30))).as_deref(), Some("30"));
        assert_eq!(header(Some(Duration::from_millis(30_001))).as_deref(), Some("31"));
    }

    #[test]
    fn the_text_and_the_header_name_the_same_second() {
        for nanos in [0, 1, 999_999_999, 1_000_000_000, 29_000_000_001] {
            let rejection = rejection(Reason::Held, Some(Duration::from_nanos(nanos)));
            let response = rejection.problem();
            let header = response.headers()[RETRY_AFTER].to_str().unwrap();
            assert!(
                response.body().contains(&format!("try again in {header} s")),
                "{response:?}"
            );
        }
    }

    #[test]
    fn no_name_is_in_a_response_and_it_says_that_it_is_a_problem() {
        for reason in Reason::ALL {
            for wait in [None, Some(Duration::from_secs(7))] {
                let response = rejection(*reason, wait).problem();
                assert!(!format!("{response:?}").contains("zz-"), "{response:?}");
                assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
            }
        }
    }
}
