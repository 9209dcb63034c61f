//! Many tasks, what each of them does, and what is watched meanwhile.

use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use fastrand::Rng;
use resilience_runtime::testing::Event;
use resilience_runtime::{FailureKind, Guard};
use tokio::task::JoinHandle;

use crate::kit::{FarError, poll_once};

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Good,
    Error(FarError),
    Panic,
    Hang,
}

pub(crate) const FAILED: End = End::Error(FarError::Failed(FailureKind::Server));
pub(crate) const IGNORED: End = End::Error(FarError::Ignored);
pub(crate) const DECLINED: End = End::Error(FarError::Business);
pub(crate) const THROTTLED: End = End::Error(FarError::Throttled(Some(Duration::ZERO)));

/// Counts who is inside a body, and checks on every entry that nobody is there who should not be.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    inside: AtomicUsize,
    runs: AtomicUsize,
}

impl Room {
    /// A room for so many at once.
    pub(crate) fn of(most: usize) -> Self {
        Self {
            most,
            inside: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
        }
    }

    /// One body: gives way a few times, and ends so.
    pub(crate) async fn visit(&self, yields: u8, end: End) -> Result<(), FarError> {
        struct Leaving<'r>(&'r AtomicUsize);

        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }

        self.runs.fetch_add(1, Ordering::Relaxed);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        let _leaving = Leaving(&self.inside);
        assert!(inside <= self.most, "{inside} inside, of {}", self.most);
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        match end {
            End::Good => Ok(()),
            End::Error(error) => Err(error),
            // Past the hook, which would print each of thousands.
            End::Panic => resume_unwind(Box::new(Meant)),
            End::Hang => pending().await,
        }
    }

    pub(crate) fn inside(&self) -> usize {
        self.inside.load(Ordering::SeqCst)
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

/// What a body panics with when it is meant to.
#[derive(Debug)]
pub(crate) struct Meant;

/// Polls a call to its end, or drops it after so many polls. A panic that was meant is caught here.
pub(crate) async fn leave_after<F: Future>(polls: Option<u8>, call: F) -> Option<F::Output> {
    let mut call = pin!(call);
    let mut left = polls;
    poll_fn(|cx| {
        match &mut left {
            Some(0) => return Poll::Ready(None),
            Some(left) => *left -= 1,
            None => {}
        }
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Some),
            Err(panic) if panic.is::<Meant>() => Poll::Ready(None),
            Err(panic) => resume_unwind(panic),
        }
    })
    .await
}

/// Runs so many tasks to their ends; gives their outputs.
pub(crate) async fn tasks<F>(count: u64, make: impl Fn(Rng) -> F) -> Vec<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let all: Vec<_> = (0..count)
        .map(|number| tokio::spawn(make(Rng::with_seed(number))))
        .collect();
    let mut outputs = Vec::new();
    for task in all {
        outputs.push(task.await.unwrap());
    }
    outputs
}

/// One of these, by chance.
pub(crate) fn any<T: Copy>(chance: &mut Rng, of: &[T]) -> T {
    of[chance.usize(..of.len())]
}

/// Checks that each transition was reported once: every state but the first and the last was left as often as it was
/// entered. Gives how many transitions there were, by cause.
pub(crate) fn balanced<'e>(events: impl IntoIterator<Item = &'e Event>, last: &str) -> BTreeMap<String, usize> {
    let mut balance = BTreeMap::from([("closed".to_owned(), 1_i64)]);
    let mut causes = BTreeMap::new();
    for event in events {
        if event.name() != "breaker.transition" {
            continue;
        }
        let field = |name| event.field(name).unwrap().to_owned();
        *balance.entry(field("from")).or_default() -= 1;
        *balance.entry(field("to")).or_default() += 1;
        *causes.entry(field("cause")).or_default() += 1;
    }
    balance.retain(|_, count| *count != 0);
    assert_eq!(balance, BTreeMap::from([(last.to_owned(), 1)]), "{causes:?}");
    causes
}

/// So many that wait for a slot, in the order of their numbers, and the numbers of those that were served.
pub(crate) fn line_up(count: usize, guard: &Guard, room: &Arc<Room>) -> (Vec<JoinHandle<()>>, Arc<Mutex<Vec<usize>>>) {
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..count {
        let (guard, room, served) = (guard.clone(), Arc::clone(room), Arc::clone(&served));
        let mut waiter = Box::pin(async move {
            let body = || async {
                served.lock().unwrap().push(number);
                room.visit(1, End::Good).await
            };
            guard.call(body).await.unwrap();
        });
        // The first poll takes the place in the line; the task that polls it on may be on any thread.
        assert!(poll_once(waiter.as_mut()).is_pending());
        waiters.push(tokio::spawn(waiter));
    }
    (waiters, served)
}
