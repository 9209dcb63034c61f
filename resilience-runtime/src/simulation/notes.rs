//! What a simulation is told of, on its own thread.

use std::cell::RefCell;

/// What happened inside a guard, to the call that is polled.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Note<'a> {
    /// It waits for a slot.
    Waits,
    /// It has its slot.
    Granted,
    /// Its attempt decides a half-open state.
    Probe {
        /// The breaker's name and instance.
        breaker: (&'a str, &'a str),
        /// It is one of the share that a ramp admits.
        ramp: bool,
    },
    /// An attempt's result came to its breaker.
    Result {
        /// The breaker's name and instance.
        breaker: (&'a str, &'a str),
        /// Whether it counts as a failure; neither for one that does not count.
        failed: Option<bool>,
        /// It ran longer than `slow_after`.
        slow: bool,
        /// It belongs to a period that is over.
        late: bool,
        /// It was the result of a probe.
        probe: bool,
    },
    /// A probe was dropped.
    Freed {
        /// The breaker's name and instance.
        breaker: (&'a str, &'a str),
    },
    /// A breaker changed its state.
    Transition {
        /// The breaker's name and instance.
        breaker: (&'a str, &'a str),
        /// The state before.
        from: &'static str,
        /// The state now.
        to: &'static str,
        /// Why.
        cause: &'static str,
        /// When it counts from, on the simulation's clock.
        at: u64,
        /// The cooldown in nanoseconds, when it opened.
        cooldown: Option<u64>,
    },
}

type Listener = Box<dyn FnMut(Note<'_>)>;

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Tells this thread's notes to `listener`, or to nobody. It may not call a guard.
pub fn listen(listener: Option<Listener>) {
    LISTENER.set(listener);
}

pub(crate) fn tell(note: Note<'_>) {
    LISTENER.with_borrow_mut(|listener| {
        if let Some(listener) = listener {
            listener(note);
        }
    });
}
