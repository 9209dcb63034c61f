//! Every interleaving of two or three threads at one bulkhead, by loom:
//! `RUSTFLAGS='--cfg resilience_loom' cargo test -p resilience-runtime --lib loom`.

use std::cell::Cell;
use std::task::Wake;

use ::loom::sync::Arc;
use ::loom::sync::atomic::{AtomicBool, AtomicUsize};
use ::loom::thread;

use super::*;

pub(super) const PLACES: usize = 2;

::loom::thread_local! {
    static PLACE: Cell<usize> = Cell::new(0);
}

pub(super) fn place() -> usize {
    PLACE.with(Cell::get)
}

/// Twice: threads keep nothing in reserve, and they may from the start.
fn model(limit: u32, per_key: Option<u32>, act: impl Fn(Arc<Bulkhead>) + Send + Sync + Clone + 'static) {
    plain(limit, per_key, act.clone());
    reserving(limit, per_key, act);
}

fn plain(limit: u32, per_key: Option<u32>, act: impl Fn(Arc<Bulkhead>) + Send + Sync + 'static) {
    ::loom::model(move || act(Arc::new(Bulkhead::new(limit, per_key))));
}

/// From the start.
fn reserving(limit: u32, per_key: Option<u32>, act: impl Fn(Arc<Bulkhead>) + Send + Sync + 'static) {
    bounded(move || act(Arc::new(Bulkhead::reserving(limit, per_key))));
}

/// Not at first, but the model opens them.
fn opening(limit: u32, act: impl Fn(Arc<Bulkhead>) + Send + Sync + 'static) {
    bounded(move || {
        let bulkhead = Bulkhead::new(limit, None);
        // What makes the lines once, at the first opening, is not loom's, so loom would not see who made them.
        bulkhead.reserve.lines();
        act(Arc::new(bulkhead));
    });
}

/// More is exchanged here than on the word alone: a third preemption would make minutes of it.
fn bounded(act: impl Fn() + Send + Sync + 'static) {
    let mut model = ::loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(act);
}

fn beside<T: 'static>(bulkhead: &Arc<Bulkhead>, act: impl FnOnce(&Bulkhead) -> T + 'static) -> thread::JoinHandle<T> {
    at(1, bulkhead, act)
}

/// A thread at that place; the first one stands at 0.
fn at<T: 'static>(
    place: usize,
    bulkhead: &Arc<Bulkhead>,
    act: impl FnOnce(&Bulkhead) -> T + 'static,
) -> thread::JoinHandle<T> {
    let bulkhead = Arc::clone(bulkhead);
    thread::spawn(move || {
        PLACE.with(|mine| mine.set(place));
        act(&bulkhead)
    })
}

/// A waker that remembers.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// A call that came for a slot and is looked at once.
enum Came {
    Inside(Slot),
    Waits(Ticket, std::sync::Arc<Woken>),
}

fn come(bulkhead: &Bulkhead, key: Key) -> Came {
    if let Some(slot) = bulkhead.try_acquire(key) {
        return Came::Inside(slot);
    }
    match bulkhead.join(key, 9).unwrap() {
        Ok(slot) => Came::Inside(slot),
        Err(ticket) => wait(bulkhead, ticket),
    }
}

fn wait(bulkhead: &Bulkhead, ticket: Ticket) -> Came {
    let woken = std::sync::Arc::new(Woken(AtomicBool::new(false)));
    match bulkhead.poll_wait(&ticket, &std::sync::Arc::clone(&woken).into()) {
        Poll::Ready(slot) => Came::Inside(slot),
        Poll::Pending => Came::Waits(ticket, woken),
    }
}

impl Came {
    /// The slot, which by now has to be there; who had to wait has to have been woken for it.
    fn slot(self, bulkhead: &Bulkhead) -> Slot {
        match self {
            Self::Inside(slot) => slot,
            Self::Waits(ticket, woken) => {
                assert!(woken.0.load(Ordering::Acquire), "nobody was woken for the slot");
                match bulkhead.poll_wait(&ticket, Waker::noop()) {
                    Poll::Ready(slot) => slot,
                    Poll::Pending => panic!("woken without a slot"),
                }
            }
        }
    }
}

fn counts(bulkhead: &Bulkhead) -> (u32, u32) {
    (bulkhead.in_flight(), bulkhead.waiting())
}

/// Nobody else is inside or waits, and then nobody at all.
fn last_one_goes(bulkhead: &Bulkhead, slot: Slot) {
    assert_eq!(counts(bulkhead), (1, 0));
    bulkhead.release(slot, None);
    assert_eq!(counts(bulkhead), (0, 0));
}

#[test]
fn never_more_inside_than_slots_and_each_slot_comes_home() {
    plain(1, None, |bulkhead| {
        let inside = Arc::new(AtomicUsize::new(0));
        let visit = |inside: Arc<AtomicUsize>| {
            move |bulkhead: &Bulkhead| {
                if let Some(slot) = bulkhead.try_acquire(None) {
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    bulkhead.release(slot, None);
                }
            }
        };
        let (a, b) = (
            at(0, &bulkhead, visit(Arc::clone(&inside))),
            at(1, &bulkhead, visit(Arc::clone(&inside))),
        );
        visit(inside)(&bulkhead);
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_slot_given_back_reaches_who_joins_in_that_moment() {
    model(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        bulkhead.release(running, None);
        let slot = a.join().unwrap().slot(&bulkhead);
        last_one_goes(&bulkhead, slot);
    });
}

#[test]
fn a_waiter_that_gives_up_while_it_is_given_its_slot_hands_it_on() {
    model(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let first = bulkhead.join(None, 9).unwrap().unwrap_err();
        let second = come(&bulkhead, None);
        let a = beside(&bulkhead, move |bulkhead| bulkhead.leave(first));
        bulkhead.release(running, None);
        a.join().unwrap();
        let slot = second.slot(&bulkhead);
        assert_eq!(counts(&bulkhead), (1, 0));
        bulkhead.release(slot, None);
    });
}

#[test]
fn a_newcomer_beside_a_hand_over_takes_no_waiters_slot() {
    model(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let waits = come(&bulkhead, None);
        let a = beside(&bulkhead, |bulkhead| bulkhead.try_acquire(None).is_some());
        bulkhead.release(running, None);
        assert!(!a.join().unwrap());
        let slot = waits.slot(&bulkhead);
        bulkhead.release(slot, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn of_two_that_come_while_a_slot_comes_back_both_are_served_in_turn() {
    plain(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        let b = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        bulkhead.release(running, None);
        let (mut a, mut b) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!(counts(&bulkhead), (1, 1));
        // Who is inside, or was granted, goes first; the other is woken by its leaving.
        let a_is_first = match (&a, &b) {
            (Came::Inside(_), _) => true,
            (_, Came::Inside(_)) => false,
            (Came::Waits(_, woken), _) => woken.0.load(Ordering::Acquire),
        };
        if !a_is_first {
            std::mem::swap(&mut a, &mut b);
        }
        bulkhead.release(a.slot(&bulkhead), None);
        bulkhead.release(b.slot(&bulkhead), None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_full_key_holds_up_nobody_and_its_slot_goes_to_its_own_waiter() {
    model(2, Some(1), |bulkhead| {
        let one = bulkhead.try_acquire(Some(1)).unwrap();
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, Some(1)));
        let b = beside(&bulkhead, |bulkhead| {
            let other = bulkhead.try_acquire(Some(2)).expect("its key is free and so is a slot");
            bulkhead.release(other, Some(2));
        });
        bulkhead.release(one, Some(1));
        b.join().unwrap();
        let slot = a.join().unwrap().slot(&bulkhead);
        assert_eq!(counts(&bulkhead), (1, 0));
        bulkhead.release(slot, Some(1));
        assert_eq!((counts(&bulkhead), bulkhead.lock().keys()), ((0, 0), 0));
    });
}

#[test]
fn never_more_of_one_key_than_its_slots() {
    model(3, Some(1), |bulkhead| {
        let a = beside(&bulkhead, |bulkhead| bulkhead.try_acquire(Some(7)));
        let b = beside(&bulkhead, |bulkhead| bulkhead.try_acquire(None));
        let mine = bulkhead.try_acquire(Some(7));
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert_eq!((mine.is_some() != a.is_some(), b.is_some()), (true, true));
        bulkhead.release(mine.or(a).unwrap(), Some(7));
        bulkhead.release(b.unwrap(), None);
        assert_eq!((counts(&bulkhead), bulkhead.lock().keys()), ((0, 0), 0));
    });
}

#[test]
fn a_larger_bulkhead_serves_who_joins_in_that_moment() {
    model(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        bulkhead.renumber(2, None);
        let slot = a.join().unwrap().slot(&bulkhead);
        assert_eq!(counts(&bulkhead), (2, 0));
        bulkhead.release(slot, None);
        bulkhead.release(running, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

/// A slot on this thread's line.
fn put_by(bulkhead: &Bulkhead) {
    let slot = bulkhead.try_acquire(None).unwrap();
    bulkhead.release(slot, None);
    assert_eq!(bulkhead.held_back(), 1);
}

#[test]
fn a_slot_put_by_reaches_who_joins_in_that_moment() {
    reserving(2, None, |bulkhead| {
        put_by(&bulkhead);
        let (one, other) = (bulkhead.try_acquire(None).unwrap(), bulkhead.try_acquire(None).unwrap());
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        let b = beside(&bulkhead, |bulkhead| bulkhead.release(other, None));
        bulkhead.release(one, None);
        b.join().unwrap();
        let slot = a.join().unwrap().slot(&bulkhead);
        last_one_goes(&bulkhead, slot);
    });
}

/// Reserves may be opened between the look for a slot and the place in the line.
#[test]
fn who_joins_while_reserves_are_open_closes_them() {
    reserving(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = beside(&bulkhead, |bulkhead| match bulkhead.join(None, 9).unwrap() {
            Ok(slot) => Came::Inside(slot),
            Err(ticket) => wait(bulkhead, ticket),
        });
        bulkhead.release(running, None);
        let slot = a.join().unwrap().slot(&bulkhead);
        last_one_goes(&bulkhead, slot);
    });
}

#[test]
fn of_two_that_find_all_taken_one_gets_what_lies_in_reserve() {
    reserving(1, None, |bulkhead| {
        let inside = Arc::new(AtomicUsize::new(0));
        put_by(&bulkhead);
        let visit = |inside: Arc<AtomicUsize>| {
            move |bulkhead: &Bulkhead| {
                let slot = bulkhead.try_acquire(None);
                if let Some(slot) = slot {
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    bulkhead.release(slot, None);
                    true
                } else {
                    false
                }
            }
        };
        let a = at(1, &bulkhead, visit(Arc::clone(&inside)));
        let b = at(0, &bulkhead, visit(Arc::clone(&inside)));
        let (a, b) = (a.join().unwrap(), b.join().unwrap());
        assert!(a || b, "a free slot was refused to both");
        assert!(visit(inside)(&bulkhead), "nobody else is here");
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_slot_that_is_always_free_is_never_refused() {
    reserving(3, None, |bulkhead| {
        // Three slots, and never more than two inside before the last has come: one runs, and two are put by.
        let running = bulkhead.try_acquire(None).unwrap();
        let other = bulkhead.try_acquire(None).unwrap();
        put_by(&bulkhead);
        at(1, &bulkhead, move |bulkhead| bulkhead.release(other, None))
            .join()
            .unwrap();
        assert_eq!(bulkhead.held_back(), 2);
        let a = at(0, &bulkhead, |bulkhead| {
            let slot = bulkhead.try_acquire(None).expect("one runs, and one may come");
            bulkhead.release(slot, None);
        });
        let b = at(0, &bulkhead, |bulkhead| {
            bulkhead.try_acquire(None).expect("one runs, and one comes and goes")
        });
        a.join().unwrap();
        let slot = b.join().unwrap();
        assert_eq!(counts(&bulkhead), (2, 0));
        bulkhead.release(slot, None);
        bulkhead.release(running, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn of_two_threads_at_one_place_each_slot_goes_to_one() {
    reserving(2, None, |bulkhead| {
        put_by(&bulkhead);
        let a = at(0, &bulkhead, |bulkhead| bulkhead.try_acquire(None).unwrap());
        let mine = bulkhead.try_acquire(None).unwrap();
        let theirs = a.join().unwrap();
        assert!(bulkhead.try_acquire(None).is_none(), "both are taken");
        let a = at(0, &bulkhead, move |bulkhead| bulkhead.release(theirs, None));
        bulkhead.release(mine, None);
        a.join().unwrap();
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_newcomer_takes_no_slot_from_its_reserve_past_who_waits() {
    reserving(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let waits = come(&bulkhead, None);
        let a = at(0, &bulkhead, |bulkhead| bulkhead.try_acquire(None).is_some());
        let b = at(1, &bulkhead, |bulkhead| bulkhead.release(running, None));
        assert!(!a.join().unwrap());
        b.join().unwrap();
        let slot = waits.slot(&bulkhead);
        bulkhead.release(slot, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_smaller_bulkhead_drains_whatever_is_put_by_meanwhile() {
    reserving(3, None, |bulkhead| {
        put_by(&bulkhead);
        let (one, other) = (bulkhead.try_acquire(None).unwrap(), bulkhead.try_acquire(None).unwrap());
        let a = at(0, &bulkhead, |bulkhead| bulkhead.release(one, None));
        bulkhead.renumber(1, None);
        a.join().unwrap();
        assert!(bulkhead.try_acquire(None).is_none(), "still one inside, of one");
        assert_eq!(counts(&bulkhead), (1, 0));
        bulkhead.release(other, None);
        let slot = bulkhead.try_acquire(None).expect("it is empty");
        bulkhead.release(slot, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_larger_bulkhead_serves_who_joins_while_slots_are_put_by() {
    reserving(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = beside(&bulkhead, |bulkhead| come(bulkhead, None));
        bulkhead.release(running, None);
        bulkhead.renumber(2, None);
        let slot = a.join().unwrap().slot(&bulkhead);
        assert_eq!(counts(&bulkhead), (1, 0));
        bulkhead.release(slot, None);
    });
}

#[test]
fn reserves_that_are_opened_lose_nothing_and_refuse_nobody() {
    opening(4, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        let a = at(1, &bulkhead, |bulkhead| bulkhead.open(&bulkhead.lock()));
        let b = at(0, &bulkhead, |bulkhead| {
            let slot = bulkhead.try_acquire(None).expect("three are free");
            bulkhead.release(slot, None);
        });
        bulkhead.release(running, None);
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!(counts(&bulkhead), (0, 0));
        let all: Vec<_> = (0..4)
            .map(|_| bulkhead.try_acquire(None).expect("all are free"))
            .collect();
        assert!(bulkhead.try_acquire(None).is_none());
        for slot in all {
            bulkhead.release(slot, None);
        }
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

/// It was taken while there were reserves before, so it goes to a line as soon as one is open.
#[test]
fn a_slot_that_comes_home_while_reserves_are_opened_is_found_there() {
    reserving(1, None, |bulkhead| {
        let running = bulkhead.try_acquire(None).unwrap();
        bulkhead.gather(&bulkhead.lock());
        let a = beside(&bulkhead, |bulkhead| {
            let _queue = bulkhead.lock();
            bulkhead.open_as(Shape::SMALL);
        });
        bulkhead.release(running, None);
        let slot = bulkhead.try_acquire(None).expect("it is the only one who came");
        a.join().unwrap();
        last_one_goes(&bulkhead, slot);
    });
}

#[test]
fn who_joins_while_reserves_are_opened_is_served() {
    opening(4, |bulkhead| {
        let mut running: Vec<_> = (0..4).map(|_| bulkhead.try_acquire(None).unwrap()).collect();
        bulkhead.release(running.pop().unwrap(), None);
        bulkhead.release(running.pop().unwrap(), None);
        let (one, other) = (running.pop().unwrap(), running.pop().unwrap());
        let a = at(1, &bulkhead, |bulkhead| bulkhead.open(&bulkhead.lock()));
        let b = at(0, &bulkhead, |bulkhead| {
            (0..3).map(|_| come(bulkhead, None)).collect::<Vec<_>>()
        });
        bulkhead.release(one, None);
        a.join().unwrap();
        let slots: Vec<_> = b.join().unwrap().into_iter().map(|came| came.slot(&bulkhead)).collect();
        assert_eq!(counts(&bulkhead), (4, 0));
        for slot in slots {
            bulkhead.release(slot, None);
        }
        bulkhead.release(other, None);
        assert_eq!(counts(&bulkhead), (0, 0));
    });
}

#[test]
fn a_look_counts_right_beside_one_who_comes_and_goes() {
    reserving(4, None, |bulkhead| {
        put_by(&bulkhead);
        let running = bulkhead.try_acquire(None).unwrap();
        let a = at(1, &bulkhead, |bulkhead| {
            let slot = bulkhead.try_acquire(None).expect("three are free");
            bulkhead.release(slot, None);
        });
        assert!((1..=2).contains(&bulkhead.in_flight()));
        a.join().unwrap();
        last_one_goes(&bulkhead, running);
    });
}
