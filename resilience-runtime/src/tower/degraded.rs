//! What a request was served lesser, for its response and for the operator.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::{HeaderName, HeaderValue, Response};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::clock;
use crate::degraded::{self, Collect, Degradation};
use crate::event::{self, Served};
use crate::runtime::Runtime;
use crate::tally::CallOutcome;

/// The response header, unless another is chosen.
const HEADER: HeaderName = HeaderName::from_static("degraded");

/// Collects what fallbacks served inside a request, as [`degraded::collect`] does, and tells
///
/// - the client: the header `degraded` names the parts by the policy's `label`, each once, separated by commas. What has
///   no label stays unnamed, and no other name is ever in it;
/// - middleware outside of it: the response's extension [`Degraded`] has all of it;
/// - the operator: `requests` in the snapshot counts requests and those with anything lesser in them.
///
/// Round an axum router: `Router::new().route(…).layer(DegradedLayer::new())`. What a body does while it is streamed
/// comes too late for the header; tasks spawned inside are not followed.
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is put round a service"]
pub struct DegradedLayer {
    header: HeaderName,
}

impl DegradedLayer {
    /// With the response header `degraded`.
    pub const fn new() -> Self {
        Self { header: HEADER }
    }

    /// With a header of this name.
    pub fn header(mut self, header: HeaderName) -> Self {
        self.header = header;
        self
    }
}

impl Default for DegradedLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for DegradedLayer {
    type Service = DegradedService<S>;

    fn layer(&self, inner: S) -> DegradedService<S> {
        DegradedService {
            inner,
            header: self.header.clone(),
        }
    }
}

/// What a request was served lesser; an extension of its response, for middleware. It names dependencies: not for
/// clients.
#[derive(Debug, Clone, Default)]
pub struct Degraded(Vec<Degradation>);

impl Degraded {
    /// Each of them, in the order in which it was served.
    pub fn parts(&self) -> &[Degradation] {
        &self.0
    }

    /// The labels, each once, in the order of their first service: what a client may know.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().enumerate().filter_map(|(at, part)| {
            let label = part.label()?;
            let before = &self.0[..at];
            (!before.iter().any(|other| other.label() == Some(label))).then_some(label)
        })
    }

    /// The labels as a header; `None` where there is none to give.
    fn value(&self) -> Option<HeaderValue> {
        let labels: Vec<String> = self.labels().map(encoded).collect();
        if labels.is_empty() {
            return None;
        }
        HeaderValue::try_from(labels.join(", ")).ok()
    }
}

/// As a log has them: `recs:path:open reviews:stale:timeout`.
struct Parts<'a>(&'a Degraded);

impl fmt::Display for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.parts().iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{}:{}:{}", part.dependency(), part.kind(), part.reason())?;
        }
        Ok(())
    }
}

/// A label may be any text; what is not a letter, a digit or one of a few signs is percent-encoded, as in a path.
fn encoded(label: &str) -> String {
    use fmt::Write as _;
    label.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// A service whose responses say what is lesser in them; made by [`DegradedLayer`].
#[derive(Debug, Clone)]
pub struct DegradedService<S> {
    inner: S,
    header: HeaderName,
}

impl<S, Request, B> Service<Request> for DegradedService<S>
where
    S: Service<Request, Response = Response<B>>,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = DegradedFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    /// # Errors
    ///
    /// Those of the inner service.
    ///
    /// # Cancel safety
    ///
    /// As cancel safe as the inner service; a request whose future is dropped is not counted.
    fn call(&mut self, request: Request) -> Self::Future {
        DegradedFuture {
            inner: degraded::collect(self.inner.call(request)),
            header: self.header.clone(),
        }
    }
}

pin_project! {
    /// The future of one request.
    #[must_use = "futures do nothing unless polled"]
    pub struct DegradedFuture<F>
    where
        F: Future,
    {
        #[pin]
        inner: Collect<F>,
        header: HeaderName,
    }
}

impl<F, B, E> Future for DegradedFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (output, parts) = ready!(this.inner.poll(cx));
        count(!parts.is_empty());
        Poll::Ready(output.map(|mut response| {
            let degraded = Degraded(parts);
            if !degraded.parts().is_empty() {
                ::tracing::debug!(target: event::TARGET, degraded = %Parts(&degraded), "request.degraded");
            }
            if let Some(value) = degraded.value() {
                response.headers_mut().insert(this.header.clone(), value);
            }
            response.extensions_mut().insert(degraded);
            response
        }))
    }
}

/// A request ended, with anything lesser in it or without.
fn count(degraded: bool) {
    let served = if degraded { Served::Fallback } else { Served::Primary };
    let runtime = Runtime::current();
    runtime.requests().end(CallOutcome::Success, served, Some(clock::now()));
}

impl<F: Future> fmt::Debug for DegradedFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DegradedFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn degraded(labels: &[Option<&str>]) -> Degraded {
        let parts = labels.iter().enumerate().map(|(at, label)| {
            let identity = Identity::intern(&format!("zz-{at}"), *label, None);
            Degradation::new(identity, "value", "open")
        });
        Degraded(parts.collect())
    }

    fn header(labels: &[Option<&str>]) -> Option<String> {
        let value = degraded(labels).value()?;
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_client_is_told_each_label_once_and_no_other_name() {
        let (recs, reviews) = (Some("recommendations"), Some("reviews"));
        assert_eq!(
            header(&[recs, None, reviews, recs]).as_deref(),
            Some("recommendations, reviews")
        );
        assert_eq!(header(&[None, None]), None);
        assert_eq!(header(&[]), None);
    }

    #[test]
    fn any_text_fits_into_a_header() {
        assert_eq!(
            header(&[Some("für dich, heute\r\n")]).as_deref(),
            Some("f%C3%BCr%20dich%2C%20heute%0D%0A")
        );
    }

    #[test]
    fn middleware_sees_them_all() {
        let all = degraded(&[Some("reviews"), None, Some("reviews")]);
        assert_eq!(all.parts().len(), 3);
        assert_eq!(all.labels().collect::<Vec<_>>(), ["reviews"]);
    }
}
