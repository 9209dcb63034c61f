//! What the layers share state through: the standard library's, and loom's while their models run.

#[cfg(not(all(test, resilience_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(all(test, resilience_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
