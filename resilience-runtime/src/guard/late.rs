//! What a call needs only if it is not over in its first poll with a good answer: its numbers, its attempts, its timer.
//!
//! Nearly every future of ours is moved before it is polled, and a move copies all of it. So this part, the larger one,
//! stands in a room of its own, which is taken from the thread's store when it is first needed and goes to the store of
//! the thread that ends the call. Only an empty store allocates: for the first calls that wait on a thread, for more at
//! once than it keeps, and where calls begin on one thread and end on another.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;

use super::Calling;
use super::attempt::Stage;
use crate::clock::Timer;
use crate::dependency::Pinned;
use crate::layer::bulkhead::Ticket;

/// Rooms that a thread keeps: some 100 KiB. Those that more calls left behind are given to the allocator.
const KEPT: usize = 256;

pin_project_lite::pin_project! {
    /// A call that has begun, and how far its attempt is.
    #[project = Parts]
    pub(super) struct Begun {
        pub(super) call: Calling,
        pub(super) stage: Stage,
        pub(super) ticket: Option<Ticket>,
        // One timer serves waiting, pausing and running; `None` until somebody has to wait.
        #[pin]
        pub(super) timer: Option<Timer>,
    }
}

type Room = Pin<Box<Option<Begun>>>;

thread_local! {
    static ROOMS: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
}

/// The call, from the moment on that somebody needs it. Dropped, it gives everything back and counts the call
/// cancelled, unless it ended.
#[derive(Default)]
pub(crate) struct Late(Option<Room>);

impl Late {
    #[inline]
    pub(super) fn is_made(&self) -> bool {
        self.0.is_some()
    }

    /// A call that has made nothing yet.
    #[cfg(all(test, feature = "testing"))]
    pub(crate) fn of(call: Calling) -> Self {
        let mut late = Self::default();
        late.make(call, Stage::Enter);
        late
    }

    #[inline(never)]
    pub(super) fn make(&mut self, call: Calling, stage: Stage) {
        let kept = ROOMS.try_with(|rooms| rooms.try_borrow_mut().ok()?.pop());
        let mut room = kept.ok().flatten().unwrap_or_else(|| Box::pin(None));
        room.as_mut().set(Some(Begun {
            call,
            stage,
            ticket: None,
            timer: None,
        }));
        self.0 = Some(room);
    }

    /// The call, made here if it is not yet.
    pub(super) fn get_or_make(&mut self, make: impl FnOnce() -> Calling) -> &mut Calling {
        if !self.is_made() {
            self.make(make(), Stage::Enter);
        }
        self.call_mut()
            .unwrap_or_else(|| unreachable!("it was made a line above"))
    }

    pub(crate) fn call(&self) -> Option<&Calling> {
        self.0.as_ref()?.as_ref().get_ref().as_ref().map(|begun| &begun.call)
    }

    /// The numbers of a call that has begun.
    pub(crate) fn pinned(&self) -> &Pinned {
        let call = self
            .call()
            .unwrap_or_else(|| unreachable!("it is asked of calls that have begun"));
        call.pinned()
    }

    pub(crate) fn call_mut(&mut self) -> Option<&mut Calling> {
        Some(self.parts()?.call)
    }

    pub(super) fn parts(&mut self) -> Option<Parts<'_>> {
        Some(self.0.as_mut()?.as_mut().as_pin_mut()?.project())
    }

    /// Readies it for the next attempt.
    #[inline]
    pub(super) fn rewind(&mut self) {
        if self.is_made() {
            self.rewind_made();
        }
    }

    #[inline(never)]
    fn rewind_made(&mut self) {
        if let Some(mut parts) = self.parts() {
            *parts.stage = if parts.call.entered { Stage::Pause } else { Stage::Enter };
            *parts.ticket = None;
            parts.timer.set(None);
        }
    }
}

impl Drop for Late {
    #[inline]
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            give_back(room);
        }
    }
}

#[inline(never)]
fn give_back(mut room: Room) {
    // What it held may be anybody's, so it goes before the store is looked at.
    room.as_mut().set(None);
    // A thread that ends has no store any more, and the room goes with it.
    let _ = ROOMS.try_with(|rooms| {
        if let Ok(mut rooms) = rooms.try_borrow_mut()
            && rooms.len() < KEPT
        {
            rooms.push(room);
        }
    });
}

impl fmt::Debug for Late {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Late").field(&self.call()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::{Policy, Runtime};

    fn kept() -> usize {
        ROOMS.with_borrow(Vec::len)
    }

    #[test]
    fn rooms_are_used_again_and_no_more_are_kept_than_the_bound() {
        std::thread::spawn(|| {
            let text = "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"1s\"\n";
            let guard = Runtime::new(Policy::from_toml(text).unwrap()).guard("far").unwrap();
            let pending = || {
                let mut call = Box::pin(guard.call_once(std::future::pending::<Result<(), std::io::Error>>()));
                let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build();
                let tokio = tokio.unwrap();
                let _context = tokio.enter();
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(call.as_mut().poll(&mut cx).is_pending());
                call
            };
            drop(pending());
            assert_eq!(kept(), 1);
            let again = pending();
            assert_eq!(kept(), 0);
            let many: Vec<_> = (0..KEPT + 9).map(|_| pending()).collect();
            drop((again, many));
            assert_eq!(kept(), KEPT);
        })
        .join()
        .unwrap();
    }

    const FAR: &str = r#"
        version = 1
        [dependency.far]
        fail = "closed"
        timeout = "1s"
        breaker.window = "4 calls"
        bulkhead.max_concurrent = 1
        retry.max_attempts = 2
    "#;

    type Answer = io::Result<u32>;

    fn first_poll<F: Future>(future: F) -> F::Output {
        let mut future = Box::pin(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it has nothing to wait for"),
        }
    }

    /// What it gives, and whether a room was needed for it, on a thread that never had one.
    fn needs<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> (T, bool) {
        let thread = std::thread::spawn(|| {
            let output = act();
            (output, kept() > 0)
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_call_that_is_over_in_its_first_poll_with_a_good_answer_needs_no_room() {
        let guard = Runtime::new(Policy::from_toml(FAR).unwrap()).guard("far").unwrap();
        let far = guard.clone();
        let once = needs(move || first_poll(far.call_once(std::future::ready(Answer::Ok(1)))).is_ok());
        let far = guard.clone();
        let often = needs(move || first_poll(far.call(|| std::future::ready(Answer::Ok(2)))).is_ok());
        assert_eq!((once, often), ((true, false), (true, false)));
        let failed = needs(move || {
            first_poll(guard.call_once(std::future::ready(Answer::Err(io::ErrorKind::TimedOut.into())))).is_ok()
        });
        assert_eq!(failed, (false, true), "what failed does");
    }

    #[cfg(feature = "testing")]
    #[test]
    fn who_is_refused_by_an_open_breaker_and_has_no_fallback_needs_no_room() {
        let runtime = Runtime::new(Policy::from_toml(FAR).unwrap());
        first_poll(runtime.scope(async { crate::testing::trip("far") }));
        let guard = runtime.guard("far").unwrap();
        let refused = needs(move || first_poll(guard.call_once(std::future::ready(Answer::Ok(1)))).is_err());
        assert_eq!(refused, (true, false));
    }
}
