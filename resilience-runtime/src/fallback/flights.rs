//! One run per key at a time; the others wait for it.
//!
//! An answer, an `Err` too, is for everybody who waits. A runner who leaves without one (its caller went away, it
//! panicked) hands its slot and the run to the one who waited longest; one whose time was up hands them to the one who
//! came last.
//!
//! Locks are taken in the order map, flight. No code of the user runs under them: clones and drops of answers, wake-ups
//! and drops of wakers happen outside.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::State;
use super::slots::Slot;

/// What a run gave, for the waiters to clone from.
pub(super) type Shared = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<u128, Arc<Flight>>>);

#[derive(Default)]
struct Flight(Mutex<Inside>);

struct Inside {
    running: bool,
    /// The slot of a runner who left, on its way to the next one.
    slot: Option<Slot>,
    answer: Option<Shared>,
    /// In order of arrival.
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Default for Inside {
    #[inline]
    fn default() -> Self {
        Self {
            running: true,
            slot: None,
            answer: None,
            waiting: VecDeque::new(),
            next: 0,
        }
    }
}

/// A place in a flight. Dropping it leaves the flight in good order.
pub(super) struct Ticket {
    state: Arc<State>,
    key: u128,
    flight: Arc<Flight>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Runs(Option<Slot>),
    Waits(u64),
    Done,
}

/// What a waiter learns.
pub(super) enum News {
    /// The run ended with this.
    Answer(Shared),
    /// It is the waiter's turn to run.
    Run,
    /// It would be, and there is no slot.
    Full,
}

impl Ticket {
    /// Joins the run for `key`, or begins it. `None` where it would begin and there is no slot.
    #[inline]
    pub(super) fn join(state: &Arc<State>, key: u128, max: u32, waker: &Waker) -> Option<Self> {
        let waker = waker.clone();
        let mut flights = state.flights.lock();
        let (flight, role) = if let Some(flight) = flights.get(&key) {
            let seat = flight.lock().sit(waker);
            (Arc::clone(flight), Role::Waits(seat))
        } else {
            let slot = Slot::take(state, max)?;
            let flight = Arc::<Flight>::default();
            flights.insert(key, Arc::clone(&flight));
            (flight, Role::Runs(Some(slot)))
        };
        drop(flights);
        Some(Self {
            state: Arc::clone(state),
            key,
            flight,
            role,
        })
    }

    #[inline]
    pub(super) fn runs(&self) -> bool {
        matches!(self.role, Role::Runs(_))
    }

    /// Asks how the run goes; `waker` is told of news.
    #[inline]
    pub(super) fn poll(&mut self, max: u32, waker: &Waker) -> Poll<News> {
        let Role::Waits(seat) = self.role else {
            return Poll::Ready(News::Run);
        };
        let waker = waker.clone();
        let mut inside = self.flight.lock();
        if let Some(answer) = inside.answer.clone() {
            self.role = Role::Done;
            return Poll::Ready(News::Answer(answer));
        }
        if inside.running || inside.waiting.front().is_none_or(|first| first.0 != seat) {
            let old = inside.renew(seat, waker);
            drop(inside);
            drop(old);
            return Poll::Pending;
        }
        let Some(slot) = inside.slot.take().or_else(|| Slot::take(&self.state, max)) else {
            // The place in the line is given up when the ticket is dropped.
            return Poll::Ready(News::Full);
        };
        let old = inside.waiting.pop_front();
        inside.running = true;
        drop(inside);
        drop(old);
        self.role = Role::Runs(Some(slot));
        Poll::Ready(News::Run)
    }

    /// The run is over. `answer` is made only if somebody waits for it.
    #[inline]
    pub(super) fn finish(mut self, answer: impl FnOnce() -> Shared) {
        if let Role::Runs(slot) = &mut self.role {
            drop(slot.take());
        }
        // From here on nobody joins; who comes later begins a run of their own.
        self.state.flights.forget(self.key, &self.flight);
        if self.flight.lock().waiting.is_empty() {
            self.role = Role::Done;
            return;
        }
        // User code: if it panics, the ticket is dropped as a runner's who left.
        let answer = answer();
        self.role = Role::Done;
        let waiting = {
            let mut inside = self.flight.lock();
            inside.answer = Some(answer);
            std::mem::take(&mut inside.waiting)
        };
        for (_, waker) in waiting {
            waker.wake();
        }
    }
}

impl Ticket {
    /// Leaves a run that had no answer in time. Who came last has the most time left: in order of arrival, each in turn
    /// would begin what it cannot end, and a source that hangs would be asked once per waiter.
    #[inline]
    pub(super) fn run_out(self) {
        let mut inside = self.flight.lock();
        if let Some(last) = inside.waiting.pop_back() {
            inside.waiting.push_front(last);
        }
        drop(inside);
    }
}

impl Drop for Ticket {
    #[inline]
    fn drop(&mut self) {
        let role = std::mem::replace(&mut self.role, Role::Done);
        if matches!(role, Role::Done) {
            return;
        }
        let flights = self.state.flights.lock();
        let mut inside = self.flight.lock();
        let gone = match role {
            Role::Done => None,
            Role::Runs(slot) => {
                inside.running = false;
                inside.slot = slot;
                None
            }
            Role::Waits(seat) => inside.leave(seat),
        };
        if inside.running || inside.answer.is_some() {
            drop((inside, flights));
            drop(gone);
            return;
        }
        let next = inside.waiting.front().map(|(_, waker)| waker.clone());
        let slot = if next.is_none() { inside.slot.take() } else { None };
        drop(inside);
        let over = if next.is_none() {
            remove(flights, self.key, &self.flight)
        } else {
            None
        };
        drop((gone, slot, over));
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl fmt::Debug for Ticket {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl Flights {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, HashMap<u128, Arc<Flight>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn forget(&self, key: u128, flight: &Arc<Flight>) {
        drop(remove(self.lock(), key, flight));
    }
}

/// Takes `flight` off the map, unless the key is another one's by now.
#[inline]
fn remove(
    mut flights: MutexGuard<'_, HashMap<u128, Arc<Flight>>>,
    key: u128,
    flight: &Arc<Flight>,
) -> Option<Arc<Flight>> {
    flights
        .get(&key)
        .is_some_and(|known| Arc::ptr_eq(known, flight))
        .then(|| flights.remove(&key))?
}

impl fmt::Debug for Flights {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights").field("running", &self.lock().len()).finish()
    }
}

impl Flight {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    #[inline]
    fn sit(&mut self, waker: Waker) -> u64 {
        let seat = self.next;
        self.next += 1;
        self.waiting.push_back((seat, waker));
        seat
    }

    /// Sets a waiter's waker; the old one comes back, to be dropped elsewhere.
    #[inline]
    fn renew(&mut self, seat: u64, waker: Waker) -> Option<Waker> {
        let place = self.waiting.iter_mut().find(|place| place.0 == seat)?;
        Some(std::mem::replace(&mut place.1, waker))
    }

    #[inline]
    fn leave(&mut self, seat: u64) -> Option<(u64, Waker)> {
        let place = self.waiting.iter().position(|place| place.0 == seat)?;
        self.waiting.remove(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 1;

    fn join(state: &Arc<State>) -> Option<Ticket> {
        Ticket::join(state, 7, MAX, Waker::noop())
    }

    fn ask(ticket: &mut Ticket) -> Poll<News> {
        ticket.poll(MAX, Waker::noop())
    }

    fn is_empty(state: &State) -> bool {
        state.flights.lock().is_empty() && state.slots_taken() == 0
    }

    #[test]
    fn the_first_runs_and_the_others_get_its_answer() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let mut waiters = [join(&state).unwrap(), join(&state).unwrap()];
        assert!(runner.runs() && !waiters[0].runs());
        assert!(ask(&mut waiters[0]).is_pending());
        assert_eq!(state.slots_taken(), 1, "only the runner holds a slot");
        runner.finish(|| Arc::new(5_u32));
        for waiter in &mut waiters {
            let Poll::Ready(News::Answer(answer)) = ask(waiter) else {
                panic!("no answer")
            };
            assert_eq!(answer.downcast_ref(), Some(&5_u32));
        }
        assert!(is_empty(&state));
    }

    #[test]
    fn without_waiters_no_copy_is_made() {
        let state = State::new();
        join(&state).unwrap().finish(|| panic!("nobody asked"));
        assert!(is_empty(&state));
    }

    #[test]
    fn a_runner_who_leaves_hands_slot_and_run_to_the_next() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let mut second = join(&state).unwrap();
        let mut third = join(&state).unwrap();
        drop(runner);
        assert_eq!(state.slots_taken(), 1, "the slot is on its way");
        assert!(ask(&mut third).is_pending());
        assert!(matches!(ask(&mut second), Poll::Ready(News::Run)));
        assert!(second.runs());
        second.finish(|| Arc::new(1_u32));
        assert!(matches!(ask(&mut third), Poll::Ready(News::Answer(_))));
        assert!(is_empty(&state));
    }

    #[test]
    fn a_runner_whose_time_was_up_hands_the_run_to_who_came_last() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let mut second = join(&state).unwrap();
        let mut third = join(&state).unwrap();
        runner.run_out();
        assert!(ask(&mut second).is_pending());
        assert!(matches!(ask(&mut third), Poll::Ready(News::Run)));
        third.finish(|| Arc::new(1_u32));
        assert!(matches!(ask(&mut second), Poll::Ready(News::Answer(_))));
        assert!(is_empty(&state));
    }

    #[test]
    fn a_next_one_who_leaves_too_passes_it_on() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let second = join(&state).unwrap();
        let mut third = join(&state).unwrap();
        drop(runner);
        drop(second);
        assert!(matches!(ask(&mut third), Poll::Ready(News::Run)));
        drop(third);
        assert!(is_empty(&state));
    }

    #[test]
    fn a_waiter_who_leaves_is_forgotten() {
        let state = State::new();
        let runner = join(&state).unwrap();
        drop(join(&state).unwrap());
        runner.finish(|| panic!("nobody waits any more"));
        assert!(is_empty(&state));
    }

    #[test]
    fn who_would_begin_without_a_slot_does_not() {
        let state = State::new();
        let _elsewhere = Slot::take(&state, MAX).unwrap();
        assert!(join(&state).is_none());
        assert!(state.flights.lock().is_empty());
    }

    #[test]
    fn a_copy_that_panics_makes_the_next_one_run() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let mut second = join(&state).unwrap();
        let copied = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runner.finish(|| panic!("no copy"))));
        assert!(copied.is_err());
        assert!(matches!(ask(&mut second), Poll::Ready(News::Run)));
        drop(second);
        assert!(is_empty(&state));
    }

    #[test]
    fn who_comes_after_the_end_begins_anew() {
        let state = State::new();
        let runner = join(&state).unwrap();
        let mut waiter = join(&state).unwrap();
        runner.finish(|| Arc::new(1_u32));
        let next = join(&state).unwrap();
        assert!(next.runs());
        assert!(matches!(ask(&mut waiter), Poll::Ready(News::Answer(_))));
        drop(waiter);
        drop(next);
        assert!(is_empty(&state));
    }

    /// Joins, waits its turn and, every `n`th time, leaves at one point or another.
    async fn visit(state: Arc<State>, number: usize) -> bool {
        let joined = std::future::poll_fn(|cx| Poll::Ready(Ticket::join(&state, 7, MAX, cx.waker()))).await;
        let Some(mut ticket) = joined else { return false };
        tokio::task::yield_now().await;
        if number.is_multiple_of(7) {
            return false;
        }
        match std::future::poll_fn(|cx| ticket.poll(MAX, cx.waker())).await {
            News::Answer(answer) => answer.is::<usize>(),
            News::Full => false,
            News::Run => {
                tokio::task::yield_now().await;
                let finishes = !number.is_multiple_of(3);
                if finishes {
                    ticket.finish(|| Arc::new(number));
                }
                finishes
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn whoever_leaves_when_nobody_is_left_hanging() {
        let state = State::new();
        let mut visits = tokio::task::JoinSet::new();
        for number in 0..5_000 {
            visits.spawn(visit(Arc::clone(&state), number));
        }
        let served = visits.join_all().await.into_iter().filter(|served| *served).count();
        assert!(served > 0);
        assert!(is_empty(&state));
    }
}
