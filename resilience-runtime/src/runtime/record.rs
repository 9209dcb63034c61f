//! Recording single calls.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use super::{Runtime, UnknownDependency};
use crate::clock;
use crate::recorder::{RecordedCall, Tape};

/// Calls that ended and were not taken yet; some four megabytes.
const ROOM: usize = 65_536;

impl Runtime {
    /// Records single calls from now on: of the dependencies named, with their operations, or of all where none is
    /// named. A call is recorded when it ends, if it began while the recording ran.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use resilience_runtime::{Policy, Runtime};
    /// # let policy = Policy::from_toml("version = 1\n[dependency.disk]\nfail = \"closed\"\ntimeout = \"1s\"\n")?;
    /// # let runtime = Runtime::new(policy);
    /// let recording = runtime.record(&["disk"])?;
    /// let _ = runtime.guard("disk")?.call(|| async { std::fs::read("no such file") }).await;
    /// for call in recording.take() {
    ///     // It implements `serde::Serialize`: one line of JSON each is what `resilience suggest` reads.
    ///     println!("{} took {:?}: {}", call.dependency(), call.latency(), call.outcome());
    /// }
    /// assert_eq!(recording.lost(), 0);
    /// # Ok(()) }
    /// ```
    ///
    /// While it runs, a recorded call takes the way of a call with something unusual about it, some hundreds of
    /// nanoseconds longer. It waits for nobody: what is not [taken](Recording::take) in time is lost, and counted.
    ///
    /// # Errors
    ///
    /// When the policy lacks one of the names.
    #[cfg_attr(docsrs, doc(cfg(feature = "record")))]
    pub fn record(&self, only: &[&str]) -> Result<Recording, UnknownDependency> {
        for name in only {
            self.entry(name)?;
        }
        let tape = Arc::new(Tape::new(only.iter().map(|&name| name.to_owned()).collect(), ROOM));
        self.lock_tapes().push(Arc::clone(&tape));
        self.rewind();
        Ok(Recording {
            runtime: self.clone(),
            wall: clock::wall(),
            tape,
        })
    }

    /// Tells every name who records it.
    pub(super) fn rewind(&self) {
        let tapes = self.lock_tapes();
        for (name, entry) in self.entries().iter() {
            entry.record_on(tapes.iter().filter(|tape| tape.wants(name)).cloned().collect());
        }
    }

    fn lock_tapes(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Tape>>> {
        self.inner.tapes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recording that runs; dropping it ends it.
#[must_use = "dropping it ends the recording"]
#[cfg_attr(docsrs, doc(cfg(feature = "record")))]
pub struct Recording {
    runtime: Runtime,
    tape: Arc<Tape>,
    /// Wall time when the tape began.
    wall: SystemTime,
}

impl Recording {
    /// What ended and was not taken yet, in the order in which it ended. More may come while this is read, and is given
    /// too. There is room for 65 536 attempts.
    pub fn take(&self) -> impl Iterator<Item = RecordedCall> + '_ {
        std::iter::from_fn(|| self.tape.take()).map(|ended| {
            let after = Duration::from_nanos(ended.began.saturating_sub(self.tape.since()));
            RecordedCall::new(ended, self.wall + after, Arc::clone(&self.runtime.inner.instance))
        })
    }

    /// How many did not fit so far, because nobody took those before them.
    pub fn lost(&self) -> u64 {
        self.tape.lost()
    }

    /// Ends the recording; what was recorded can still be taken.
    pub fn stop(&self) {
        self.tape.stop();
        self.runtime.lock_tapes().retain(|tape| !Arc::ptr_eq(tape, &self.tape));
        self.runtime.rewind();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
