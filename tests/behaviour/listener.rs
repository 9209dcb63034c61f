//! A listener of one thread, beside tests that listen to nothing.

use std::sync::Once;

use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::Registry;

/// Lets `listener` hear this thread until the answer is dropped.
///
/// While it is the only one in the process, `tracing` asks the *calling* thread whether anybody wants an event, keeps
/// the answer for every thread, and a test on a thread without a listener answers no. A listener of the whole process
/// that wants everything keeps that answer at yes.
pub(crate) fn listens<S: Subscriber + Send + Sync + 'static>(listener: S) -> DefaultGuard {
    static EVERYTHING: Once = Once::new();
    EVERYTHING.call_once(|| {
        tracing::subscriber::set_global_default(Registry::default()).expect("no other test sets one for the process");
    });
    tracing::dispatcher::set_default(&Dispatch::new(listener))
}
