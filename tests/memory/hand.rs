//! Polling by hand, so that only the call itself is measured.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::{measure, opt_out};
use tokio::runtime::{Builder, Runtime as Tokio};

/// A tokio runtime on paused time whose futures are polled by the test.
pub(crate) struct Hand {
    tokio: Tokio,
}

impl Hand {
    pub(crate) fn new() -> Self {
        let tokio = Builder::new_current_thread().enable_time().start_paused(true).build();
        Self { tokio: tokio.unwrap() }
    }

    /// Lets time pass. What tokio allocates for it is not the call's.
    pub(crate) fn pass(&self, time: Duration) {
        opt_out(|| self.tokio.block_on(tokio::time::advance(time)));
    }

    /// Polls a call to its end, and lets a second pass whenever it waits.
    pub(crate) fn run<F: Future>(&self, call: F) -> F::Output {
        let _inside = self.tokio.enter();
        let mut call = pin!(call);
        loop {
            if let Poll::Ready(output) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return output;
            }
            self.pass(Duration::from_secs(1));
        }
    }

    /// Inside the runtime, for polls one by one.
    pub(crate) fn inside<T>(&self, act: impl FnOnce() -> T) -> T {
        let _inside = self.tokio.enter();
        act()
    }

    /// Allocations of a hundred turns, after as many that nobody counts: the first ones of a thread make its counters,
    /// the first that wait the places in the line, and the first minute of a dependency its sums by the second.
    pub(crate) fn count(&self, mut turn: impl FnMut()) -> u64 {
        for _ in 0..100 {
            turn();
            self.pass(Duration::from_secs(1));
        }
        let mut all = 0;
        for _ in 0..100 {
            all += measure(&mut turn).count_total;
            self.pass(Duration::from_secs(1));
        }
        all
    }
}
