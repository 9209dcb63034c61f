//! What the shapes share.

use std::future::Future;
use std::task::Poll;

use resilience_runtime::{Classify, FailureKind, Outcome, Policy, Rejection, Runtime};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppError {
    Shed(String),
    Down,
    Bad(u32),
}

impl From<Rejection> for AppError {
    fn from(rejection: Rejection) -> Self {
        AppError::Shed(rejection.to_string())
    }
}

impl Classify for AppError {
    fn classify(&self) -> Outcome {
        match self {
            AppError::Bad(_) => Outcome::Business,
            AppError::Shed(_) => Outcome::Ignored,
            AppError::Down => Outcome::Failure(FailureKind::Server),
        }
    }
}

impl From<std::num::ParseIntError> for AppError {
    fn from(_: std::num::ParseIntError) -> Self {
        AppError::Bad(0)
    }
}

pub type Res<T, E = AppError> = Result<T, E>;

/// Pending once, then ready.
pub async fn tick() {
    let mut first = true;
    std::future::poll_fn(move |context| {
        if first {
            first = false;
            context.waker().wake_by_ref();
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}

/// Runs a future with a runtime of its own: what one test trips, no other sees.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let policy = Policy::from_toml(include_str!("../resilience.toml")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(Runtime::new(policy).scope(future))
}

pub fn is_send<T: Send>(value: T) -> T {
    value
}
