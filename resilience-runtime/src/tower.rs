//! Guards as tower layers, for what nobody can annotate: a whole client, a channel, a stack of middleware.
//!
//! A [`GuardLayer`] is made from a [`Guard`], so it goes through the very breaker, slots, budget and hold that annotated
//! functions of that dependency use, with the same numbers and the same reload.
//!
//! ```
//! use resilience_runtime::tower::GuardLayer;
//! use resilience_runtime::{Policy, Runtime};
//! use tower_layer::Layer;
//! # use std::{convert::Infallible, future::{Ready, ready}, task::{Context, Poll}};
//! # #[derive(Clone)] struct Client;
//! # impl tower_service::Service<u32> for Client {
//! #     type Response = u32; type Error = std::io::Error; type Future = Ready<Result<u32, std::io::Error>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> { Poll::Ready(Ok(())) }
//! #     fn call(&mut self, request: u32) -> Self::Future { ready(Ok(request)) }
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use tower_service::Service;
//! let policy = Policy::from_toml("version = 1\n[dependency.prices]\nfail = \"closed\"\ntimeout = \"1s\"\nbreaker = {}\n")?;
//! let runtime = Runtime::new(policy); // a service has `Runtime::current()`, after `init`
//!
//! let mut client = GuardLayer::new(runtime.guard("prices")?).layer(Client);
//! assert_eq!(client.call(7).await?, 7); // an error is a `Failure`: the client's own, or a `Rejection`
//! # Ok(()) }
//! ```
//!
//! # Readiness
//!
//! The guarded service is always ready, and asks the inner one as part of the attempt. Waiting for a connection or for a
//! place in a pool is the dependency's time: it is within the timeout, its failure counts, and who is to be refused is
//! refused at once instead of waiting for what is down. A service that is called through a guard needs no load shedding
//! of its own; how many may be inside, and wait, is the bulkhead's to say.
//!
//! # Order
//!
//! ```text
//! deadline ( bulkhead ( retry ( breaker ( timeout ( inner service )))))
//! ```
//!
//! as everywhere. There is no fallback in a layer: its caller gets the [`Failure`](crate::Failure) and decides.

#[cfg(feature = "http")]
mod degraded;
mod judge;
mod repeat;
mod service;

pub use crate::ops::{ByError, Judge};
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(all(feature = "tower", feature = "http"))))]
pub use degraded::{Degraded, DegradedFuture, DegradedLayer, DegradedService};
pub use judge::ByAnswer;
pub use repeat::{Once, Repeat, Repeated};
pub use service::{GuardFuture, GuardService};

use tower_layer::Layer;

use crate::guard::Guard;

/// Puts a [`Guard`] round a service.
///
/// `J` says what an answer counts as, `R` whether a request can be sent again.
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is put round a service"]
pub struct GuardLayer<J = ByError, R = Once> {
    guard: Guard,
    judge: J,
    repeat: R,
}

impl GuardLayer {
    /// Every layer of the dependency's policy but the retry. The service's error type says what counts; where an answer
    /// can be a failure too, as in HTTP, add [`classify`](Self::classify).
    ///
    /// The guard belongs to a runtime: make the layer after [`init`](crate::init).
    pub fn new(guard: Guard) -> Self {
        Self {
            guard,
            judge: ByError::default(),
            repeat: Once::default(),
        }
    }
}

impl<J, R> GuardLayer<J, R> {
    /// Judges the whole answer: `fn(&Result<Response, Error>) -> Outcome`, as the `classify` of an attribute does. For
    /// HTTP that is `resilience_runtime::classify::http::result`. An answer that counts as a failure is still what the
    /// caller gets.
    pub fn classify<F>(self, judge: F) -> GuardLayer<ByAnswer<F>, R> {
        GuardLayer {
            guard: self.guard,
            judge: ByAnswer::new(judge),
            repeat: self.repeat,
        }
    }

    /// Switches the policy's retry on: `copy` makes the request that the next attempt sends, or `None` for one that
    /// cannot be sent twice, which then has one attempt. Asked before the first attempt, where the policy has a retry.
    ///
    /// `|request: &Request| Some(request.clone())`, or `reqwest::Request::try_clone`.
    pub fn retry<F>(self, copy: F) -> GuardLayer<J, Repeated<F>> {
        GuardLayer {
            guard: self.guard,
            judge: self.judge,
            repeat: Repeated::new(copy),
        }
    }
}

impl<S, J: Clone, R: Clone> Layer<S> for GuardLayer<J, R> {
    type Service = GuardService<S, J, R>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardService::new(inner, self.guard.clone(), self.judge.clone(), self.repeat.clone())
    }
}
