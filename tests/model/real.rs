//! The runtime under the same steps. Calls are polled by hand, only those that were woken, in order of arrival: so that the
//! order of what happens at one moment is known, and a wake-up that is missing is seen.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use resilience_runtime::{
    Failure, Guard, Mode, Override, Policy, Rejection, Runtime, available, breaker, bulkhead, deadline, fallback,
    retry, testing,
};

use crate::far::{Answer, FarError, Run};
use crate::ledger::Ledger;
use crate::numbers::Numbers;
use crate::plain::Seen;

pub(crate) struct Real {
    dependency: &'static str,
    runtime: Runtime,
    guard: Guard,
    live: Vec<Live>,
}

struct Live {
    id: usize,
    starts: Rc<Cell<usize>>,
    woken: Arc<Woken>,
    call: Pin<Box<dyn Future<Output = String>>>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One body: each run does the next thing of the script, and the last one ever after.
#[derive(Clone)]
struct Body {
    runs: Rc<[Run]>,
    starts: Rc<Cell<usize>>,
}

impl Body {
    async fn run(&self) -> Result<(), FarError> {
        let number = self.starts.get();
        self.starts.set(number + 1);
        let Run { answer, takes } = self.runs[number.min(self.runs.len() - 1)];
        if takes > 0 {
            tokio::time::sleep(Duration::from_millis(takes)).await;
        }
        match answer {
            Answer::Success => Ok(()),
            // Without the hook, which would print it.
            Answer::Panic => resume_unwind(Box::new("as the script says")),
            Answer::Never => std::future::pending().await,
            answer => Err(FarError::Answered(answer)),
        }
    }
}

#[breaker("seatmap")]
#[bulkhead]
#[retry]
#[fallback(none = "the test looks at the error itself")]
async fn woven(body: &Body) -> Result<(), FarError> {
    body.run().await
}

/// Of the layers of its dependency, this has the slots alone.
#[bulkhead("farms", key = key)]
#[fallback(none = "the test looks at the error itself")]
async fn keyed(key: u32, body: &Body) -> Result<(), FarError> {
    body.run().await
}

fn rejected(rejection: &Rejection) -> String {
    let reason = rejection.reason().as_str();
    match rejection.retry_after() {
        Some(after) => format!("{reason} {}", millis(after.as_secs_f64())),
        None => reason.to_owned(),
    }
}

fn error(error: &FarError) -> String {
    match error {
        FarError::Answered(answer) => answer.word(),
        FarError::Rejected(rejection) => rejected(rejection),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few seconds
fn millis(seconds: f64) -> u64 {
    (seconds * 1_000.0).round() as u64
}

pub(crate) fn policy(numbers: &Numbers) -> Policy {
    let text = numbers.text();
    Policy::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

impl Real {
    pub(crate) fn new(numbers: &Numbers) -> Self {
        let runtime = Runtime::new(policy(numbers));
        let dependency = numbers.dependency();
        let guard = runtime.guard(dependency).unwrap();
        Self {
            dependency,
            runtime,
            guard,
            live: Vec::new(),
        }
    }

    pub(crate) fn arrive(&mut self, id: usize, key: Option<u32>, once: bool, within: Option<u64>, runs: &[Run]) {
        let body = Body {
            runs: runs.into(),
            starts: Rc::default(),
        };
        let (starts, guard, dependency) = (Rc::clone(&body.starts), self.guard.clone(), self.dependency);
        let plain = async move {
            let result = match key {
                None if once => guard.call_once(body.run()).await,
                None => guard.call(|| body.run()).await,
                Some(key) if dependency == "farms" => keyed(key, &body).await.map_err(Failure::Error),
                Some(_) => woven(&body).await.map_err(Failure::Error),
            };
            match result {
                Ok(()) => "ok".to_owned(),
                Err(Failure::Error(it)) => error(&it),
                Err(Failure::Rejected(rejection)) => rejected(&rejection),
            }
        };
        let call: Pin<Box<dyn Future<Output = String>>> = match within {
            None => Box::pin(self.runtime.scope(plain)),
            Some(within) => Box::pin(
                self.runtime
                    .scope(deadline::within(Duration::from_millis(within), plain)),
            ),
        };
        self.live.push(Live {
            id,
            starts,
            woken: Arc::new(Woken(AtomicBool::new(true))),
            call,
        });
    }

    pub(crate) fn cancel(&mut self, id: usize) {
        self.live.retain(|live| live.id != id);
    }

    pub(crate) fn reload(&self, numbers: &Numbers) {
        self.runtime.reload(policy(numbers)).unwrap();
    }

    pub(crate) fn set_mode(&self, mode: Mode, seconds: u64) {
        let hand = Override::new(mode, "a test", "to see", Duration::from_secs(seconds));
        self.runtime.set_mode(self.dependency, hand).unwrap();
    }

    pub(crate) fn clear_mode(&self) {
        self.runtime.clear_mode(self.dependency).unwrap();
    }

    pub(crate) async fn reset(&self) {
        self.runtime.scope(async { testing::reset(self.dependency) }).await;
    }

    pub(crate) async fn trip(&self) {
        self.runtime.scope(async { testing::trip(self.dependency) }).await;
    }

    pub(crate) async fn is_available(&self) -> bool {
        let dependency = self.dependency;
        self.runtime.scope(async move { available(dependency) }).await
    }

    /// Polls whoever was woken until nobody is; gives the calls that ended.
    pub(crate) async fn settle(&mut self) -> Vec<(usize, String)> {
        let mut ends = Vec::new();
        loop {
            let mut polled = false;
            let mut at = 0;
            while let Some(live) = self.live.get_mut(at) {
                at += 1;
                if !live.woken.0.swap(false, Ordering::Relaxed) {
                    continue;
                }
                polled = true;
                let waker = Waker::from(Arc::clone(&live.woken));
                let mut context = Context::from_waker(&waker);
                let end = match catch_unwind(AssertUnwindSafe(|| live.call.as_mut().poll(&mut context))) {
                    Ok(Poll::Pending) => continue,
                    Ok(Poll::Ready(end)) => end,
                    Err(_) => "panicked".to_owned(),
                };
                ends.push((live.id, end));
                at -= 1;
                self.live.remove(at);
            }
            if !polled {
                return ends;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn look(&self, ends: Vec<(usize, String)>, ledger: Option<&Ledger>) -> Seen {
        self.runtime.refresh_metrics();
        let snapshot = self.runtime.snapshot();
        let read = snapshot.dependency(self.dependency).unwrap();
        let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.6}"));
        Seen {
            ends,
            starts: self.live.iter().map(|live| (live.id, live.starts.get())).collect(),
            transitions: Vec::new(),
            samples: Vec::new(),
            told: Vec::new(),
            available: false,
            cause: read.cause.map(str::to_owned),
            state: read.state,
            calls: read.calls as usize,
            failure_rate: rate(read.failure_rate),
            slow_rate: rate(read.slow_rate),
            retry_after: read.retry_after.map(millis),
            in_flight: usize::try_from(read.in_flight).unwrap(),
            waiting: read.waiting as usize,
            budget: read.retry_budget.map(|budget| format!("{budget:.3}")),
            shown: ledger.map(Ledger::shown).unwrap_or_default(),
        }
    }
}
