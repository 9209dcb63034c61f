//! What another attempt is made from: copies of the arguments, none of them for an attempt that is surely the last.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use resilience_runtime::deadline::within;
use resilience_runtime::{Runtime, fallback, retry};

use crate::kit::{FarError, Script, parse, secs};

/// An argument that counts its copies.
#[derive(Debug)]
struct Counted {
    copies: Arc<AtomicUsize>,
    far: Script,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.copies.fetch_add(1, Ordering::Relaxed);
        Self {
            copies: Arc::clone(&self.copies),
            far: self.far.clone(),
        }
    }
}

#[retry("seatmap")]
#[fallback(none = "the test looks at the error itself")]
async fn map(counted: Counted) -> Result<usize, FarError> {
    let Counted { far, .. } = counted;
    far.run().await
}

/// The same where no deadline stands: what is over at once is over on the short way.
#[retry("farms")]
#[fallback(none = "the test looks at the error itself")]
async fn farm(counted: Counted) -> Result<usize, FarError> {
    let Counted { far, .. } = counted;
    far.run().await
}

/// Attempts of one call, and the copies that were made for them.
async fn attempts_and_copies<F: Future>(call: impl FnOnce(Counted) -> F, script: &str) -> (usize, usize) {
    let (copies, far) = (Arc::default(), Script::new(script));
    let counted = Counted {
        copies: Arc::clone(&copies),
        far: far.clone(),
    };
    call(counted).await;
    (far.starts(), copies.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_that_the_policy_allows_takes_the_arguments_themselves() {
    for (script, expected) in [("S", (1, 1)), ("F", (2, 1)), ("F/1ms S/1ms", (2, 1))] {
        assert_eq!(attempts_and_copies(map, script).await, expected, "{script}");
        assert_eq!(attempts_and_copies(farm, script).await, expected, "{script}");
        let under_a_deadline = within(secs(9), attempts_and_copies(farm, script));
        assert_eq!(under_a_deadline.await, expected, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn copies_are_made_for_as_many_attempts_as_the_policy_in_force_allows() {
    for (lines, expected) in [
        ("retry = { max_attempts = 4, backoff = \"0s\" }", (4, 3)),
        ("retry = { max_attempts = 1 }", (1, 0)),
        ("retry = false", (1, 0)),
        ("mode = \"observe\"\nretry = { max_attempts = 4 }", (1, 0)),
        ("mode = \"off\"\nretry = { max_attempts = 4 }", (1, 0)),
    ] {
        let text = format!("version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"1s\"\n{lines}\n");
        let runtime = Runtime::new(parse(&text));
        assert_eq!(runtime.scope(attempts_and_copies(map, "F")).await, expected, "{lines}");
    }
}
