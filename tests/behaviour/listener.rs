//! A listener of one thread, beside tests that listen to nothing.

use std::sync::{Arc, Mutex, Once};

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

/// What is logged, as lines of text.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn listen(&self) -> DefaultGuard {
        let log = self.clone();
        let lines = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || log.clone());
        listens(lines.finish())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
