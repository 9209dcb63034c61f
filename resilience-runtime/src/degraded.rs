//! What was served by fallbacks inside a future: for an answer that says which of its parts are lesser ones.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::task::futures::TaskLocalFuture;

use crate::identity::Identity;

tokio::task_local! {
    static COLLECTED: RefCell<Vec<Degradation>>;
}

/// One call that a fallback answered.
#[derive(Clone, Copy)]
pub struct Degradation {
    identity: &'static Identity,
    kind: &'static str,
    reason: &'static str,
}

impl Degradation {
    pub(crate) fn new(identity: &'static Identity, kind: &'static str, reason: &'static str) -> Self {
        Self { identity, kind, reason }
    }

    /// The dependency that did not answer.
    pub fn dependency(&self) -> &str {
        self.identity.name()
    }

    /// The policy's `label` of it: the only name that a client may see.
    pub fn label(&self) -> Option<&str> {
        self.identity.label()
    }

    /// The form that answered: `value`, `path`, `with` or `stale`.
    pub fn kind(&self) -> &str {
        self.kind
    }

    /// Why the dependency did not: the reason of the rejection, or the kind of the failure.
    pub fn reason(&self) -> &str {
        self.reason
    }
}

impl fmt::Debug for Degradation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Degradation")
            .field("dependency", &self.identity.name())
            .field("label", &self.label())
            .field("kind", &self.kind)
            .field("reason", &self.reason)
            .finish()
    }
}

/// Runs `future` and lists what was served by a fallback inside it, in the order in which it was served.
///
/// A `collect` inside another hands what it saw to the outer one too, which is told when the inner one ends. Tasks
/// spawned inside are not followed.
///
/// # Cancel safety
/// Dropping it drops `future`; an outer `collect` still learns what had been served by then.
///
/// ```
/// # async fn page() -> &'static str { "" }
/// # async fn example() {
/// let (page, degraded) = resilience_runtime::degraded::collect(page()).await;
/// let missing: Vec<_> = degraded.iter().filter_map(|part| part.label()).collect();
/// # }
/// ```
pub fn collect<F: Future>(future: F) -> Collect<F> {
    Collect {
        inner: COLLECTED.scope(RefCell::default(), future),
    }
}

pin_project! {
    /// The future of [`collect`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Collect<F>
    where
        F: Future,
    {
        #[pin]
        inner: TaskLocalFuture<RefCell<Vec<Degradation>>, F>,
    }

    impl<F: Future> PinnedDrop for Collect<F> {
        fn drop(this: Pin<&mut Self>) {
            pass_on(&taken(this));
        }
    }
}

impl<F: Future> Future for Collect<F> {
    type Output = (F::Output, Vec<Degradation>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.as_mut().project().inner.poll(cx).map(|output| {
            let collected = taken(self);
            pass_on(&collected);
            (output, collected)
        })
    }
}

impl<F: Future> fmt::Debug for Collect<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collect").finish_non_exhaustive()
    }
}

/// Says that a fallback of `kind` answered for the dependency. Free where nobody collects.
pub(crate) fn note(identity: &'static Identity, kind: &'static str, reason: &'static str) {
    // Nobody collects outside of a scope, and the cell is only borrowed in this file, by these few statements.
    let _ = COLLECTED.try_with(|list| list.borrow_mut().push(Degradation::new(identity, kind, reason)));
}

fn taken<F: Future>(collect: Pin<&mut Collect<F>>) -> Vec<Degradation> {
    collect
        .project()
        .inner
        .take_value()
        .map(RefCell::into_inner)
        .unwrap_or_default()
}

fn pass_on(collected: &[Degradation]) {
    if !collected.is_empty() {
        let _ = COLLECTED.try_with(|list| list.borrow_mut().extend_from_slice(collected));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> &'static Identity {
        Identity::intern("recs", Some("recommendations"), None)
    }

    #[tokio::test]
    async fn lists_what_was_served_inside_in_order() {
        let (output, list) = collect(async {
            note(identity(), "stale", "open");
            tokio::task::yield_now().await;
            note(identity(), "value", "server");
            7
        })
        .await;
        assert_eq!(output, 7);
        let said: Vec<_> = list
            .iter()
            .map(|d| (d.dependency(), d.label(), d.kind(), d.reason()))
            .collect();
        let label = Some("recommendations");
        assert_eq!(
            said,
            [("recs", label, "stale", "open"), ("recs", label, "value", "server")]
        );
    }

    #[tokio::test]
    async fn outside_of_it_nothing_is_kept() {
        note(identity(), "stale", "open");
        let ((), list) = collect(async {}).await;
        assert!(list.is_empty());
    }

    #[tokio::test]
    async fn an_outer_one_sees_what_the_inner_one_saw() {
        let (inner, outer) = collect(async {
            let ((), inner) = collect(async { note(identity(), "path", "timeout") }).await;
            note(identity(), "value", "open");
            inner
        })
        .await;
        assert_eq!(inner.len(), 1);
        assert_eq!(
            outer.iter().map(Degradation::kind).collect::<Vec<_>>(),
            ["path", "value"]
        );
    }

    #[tokio::test]
    async fn an_outer_one_sees_what_a_dropped_inner_one_saw() {
        let ((), outer) = collect(async {
            let inner = collect(async {
                note(identity(), "path", "timeout");
                std::future::pending::<()>().await;
            });
            tokio::select! { biased; _ = inner => {}, () = std::future::ready(()) => {} }
        })
        .await;
        assert_eq!(outer.len(), 1);
    }

    #[test]
    fn is_send_when_the_future_is() {
        fn send<T: Send>(_: &T) {}
        send(&collect(async {}));
    }
}
