//! The services that the page is made of, each of which can be switched off or made to hang.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use resilience_runtime::{Classify, Rejection};

/// How a service is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Health {
    /// It answers.
    #[default]
    Up,
    /// It answers that it cannot.
    Down,
    /// It takes the call and never answers.
    Hangs,
}

/// Why a call of a service has no answer.
#[derive(Debug, Clone, Classify)]
pub enum FarError {
    /// 503 of the far side.
    #[classify(server)]
    Down,
    /// It answered, and the answer is no: none of the breaker's business.
    #[classify(business)]
    NoSuchProduct,
    /// The guard refused the call or cut it short.
    #[classify(ignored)]
    Refused(Rejection),
}

impl From<Rejection> for FarError {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

/// All of them, and the outbox of what is to be done later.
#[derive(Debug, Clone, Default)]
pub struct Far {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    health: BTreeMap<&'static str, Health>,
    calls: BTreeMap<&'static str, usize>,
    outbox: Vec<String>,
}

impl Far {
    /// Sets how `service` is.
    pub fn set(&self, service: &'static str, health: Health) {
        self.with(|inner| inner.health.insert(service, health));
    }

    /// How often `service` was called.
    pub fn calls(&self, service: &str) -> usize {
        self.with(|inner| inner.calls.get(service).copied().unwrap_or_default())
    }

    /// What is to be done later.
    pub fn outbox(&self) -> Vec<String> {
        self.with(|inner| inner.outbox.clone())
    }

    /// Keeps something for later; under the same key once only.
    pub(crate) fn later(&self, key: String) {
        self.with(|inner| {
            if !inner.outbox.contains(&key) {
                inner.outbox.push(key);
            }
        });
    }

    /// One call of `service`.
    pub(crate) async fn call(&self, service: &'static str) -> Result<(), FarError> {
        let health = self.with(|inner| {
            *inner.calls.entry(service).or_default() += 1;
            inner.health.get(service).copied().unwrap_or_default()
        });
        tokio::task::yield_now().await;
        match health {
            Health::Up => Ok(()),
            Health::Down => Err(FarError::Down),
            Health::Hangs => pending().await,
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
