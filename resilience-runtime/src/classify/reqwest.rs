//! Errors and responses of `reqwest`.
//!
//! `reqwest` gives `Ok` for a 503: either turn a response into an error with `error_for_status`, which loses its
//! `Retry-After`, or classify the result with [`result`].

use ::reqwest::{Error, Response};

use super::io::{carries_rejection, sources};
use crate::outcome::{Classify, FailureKind, Outcome};

/// What a result with a response in it says: for `classify = resilience_runtime::classify::reqwest::result`.
///
/// # Errors
/// None: an error is classified as its type says.
pub fn result<E: Classify>(answer: &Result<Response, E>) -> Outcome {
    match answer {
        Ok(response) => response.classify(),
        Err(error) => error.classify(),
    }
}

impl Classify for Response {
    fn classify(&self) -> Outcome {
        super::http::parts(self.status(), self.headers())
    }
}

/// A status in it counts as the status does. Else: no answer in time is `timeout`, no connection or a lost one is
/// `connect`, an answer that could not be read is `protocol`, a request that could not be built is `other`.
impl Classify for Error {
    fn classify(&self) -> Outcome {
        if carries_rejection(self) {
            return Outcome::Ignored;
        }
        if let Some(status) = self.status() {
            return status.classify();
        }
        Outcome::Failure(kind(self))
    }
}

fn kind(error: &Error) -> FailureKind {
    if error.is_timeout() {
        FailureKind::Timeout
    } else if error.is_connect() {
        FailureKind::Connect
    } else if error.is_builder() {
        FailureKind::Other
    } else if let Some(Outcome::Failure(kind)) = io_class(error)
        && kind != FailureKind::Other
    {
        // The connection broke while the request or the answer was on its way.
        kind
    } else if error.is_decode() || error.is_body() || error.is_redirect() || error.is_request() {
        FailureKind::Protocol
    } else {
        FailureKind::Other
    }
}

fn io_class(error: &Error) -> Option<Outcome> {
    sources(error)
        .find_map(|error| error.downcast_ref::<std::io::Error>())
        .map(Classify::classify)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, retry_after: Option<&str>) -> Response {
        let mut response = ::http::Response::builder().status(status);
        if let Some(value) = retry_after {
            response = response.header("retry-after", value);
        }
        response.body("").unwrap().into()
    }

    #[test]
    fn a_response_counts_as_its_status_and_headers_do() {
        let slow_down = Outcome::Throttled {
            retry_after: Some(std::time::Duration::from_secs(9)),
        };
        assert_eq!(response(503, Some("9")).classify(), slow_down);
        assert_eq!(response(503, None).classify(), Outcome::Failure(FailureKind::Server));
        assert_eq!(result::<Error>(&Ok(response(404, None))), Outcome::Business);
    }

    #[test]
    fn a_status_turned_into_an_error_counts_as_the_status() {
        let error = response(402, None).error_for_status().unwrap_err();
        assert_eq!(error.classify(), Outcome::Business);
        let error = response(500, None).error_for_status().unwrap_err();
        assert_eq!(result(&Err(error)), Outcome::Failure(FailureKind::Server));
    }

    #[tokio::test]
    async fn nobody_listening_is_connect() {
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let client = ::reqwest::Client::builder().no_proxy().build().unwrap();
        let error = client
            .get(format!("http://127.0.0.1:{port}/"))
            .send()
            .await
            .unwrap_err();
        assert_eq!(error.classify(), Outcome::Failure(FailureKind::Connect));
    }

    #[tokio::test]
    async fn a_request_that_could_not_be_built_is_other() {
        let error = ::reqwest::Client::new().get("not a url").send().await.unwrap_err();
        assert_eq!(error.classify(), Outcome::Failure(FailureKind::Other));
    }

    #[tokio::test]
    async fn an_answer_that_is_not_http_is_protocol() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let far_side = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"this is not http\r\n\r\n");
        });
        let client = ::reqwest::Client::builder().no_proxy().build().unwrap();
        let error = client
            .get(format!("http://127.0.0.1:{port}/"))
            .send()
            .await
            .unwrap_err();
        far_side.join().unwrap();
        assert_eq!(error.classify(), Outcome::Failure(FailureKind::Protocol));
    }
}
