//! What is going to happen, in order: at one moment the far side changes, then calls end, then times run out, then calls
//! arrive in the order of the file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::simulate::scenario::Nanos;

/// The order at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// A stretch that is summed up begins or ends.
    Bound,
    FarSide,
    Completion,
    /// The guards' own timers belong here, too, and come first.
    Timeout,
    Arrival,
    /// The instances tell each other what they counted.
    Exchange,
    Look,
}

/// What happens. A place is used again, so it is named with its number: an event about one that is gone is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    PhaseBegins(usize),
    PhaseEnds(usize),
    /// Calls that run take the new latency.
    Stretches {
        path: usize,
        entry: usize,
    },
    Answered {
        place: usize,
        number: u64,
    },
    PoolPatience {
        place: usize,
        number: u64,
    },
    Patience {
        task: usize,
        number: u64,
    },
    Arrives {
        caller: usize,
    },
    Exchange,
    Look,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(Nanos, Class, u64, Event)>>,
    made: u64,
}

impl Events {
    pub(super) fn add(&mut self, at: Nanos, class: Class, event: Event) {
        self.made += 1;
        self.heap.push(Reverse((at, class, self.made, event)));
    }

    /// Arrivals of one moment come in the order of the callers.
    pub(super) fn add_arrival(&mut self, at: Nanos, caller: usize) {
        let event = Event::Arrives { caller };
        self.heap.push(Reverse((at, Class::Arrival, caller as u64, event)));
    }

    pub(super) fn first(&self) -> Option<(Nanos, Class)> {
        self.heap.peek().map(|Reverse((at, class, ..))| (*at, *class))
    }

    pub(super) fn take(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse((.., event))| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_moment_calls_end_before_times_run_out_and_others_arrive_last() {
        let mut events = Events::default();
        events.add_arrival(5, 1);
        events.add_arrival(5, 0);
        events.add(5, Class::Timeout, Event::Patience { task: 0, number: 1 });
        events.add(5, Class::Completion, Event::Answered { place: 0, number: 1 });
        events.add(4, Class::Look, Event::Look);
        let order: Vec<_> = std::iter::from_fn(|| events.take()).collect();
        assert_eq!(
            order,
            [
                Event::Look,
                Event::Answered { place: 0, number: 1 },
                Event::Patience { task: 0, number: 1 },
                Event::Arrives { caller: 0 },
                Event::Arrives { caller: 1 },
            ]
        );
    }
}
