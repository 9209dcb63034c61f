//! Every interleaving of two or three threads at one bulkhead, by loom:
//! `RUSTFLAGS='--cfg resilience_loom' cargo test -p resilience-runtime --lib loom`.

use std::task::Wake;

use ::loom::sync::Arc;
use ::loom::sync::atomic::{AtomicBool, AtomicUsize};
use ::loom::thread;

use super::*;

fn model(limit: u32, per_key: Option<u32>, act: impl Fn(Arc<Bulkhead>) + Send + Sync + 'static) {
    ::loom::model(move || act(Arc::new(Bulkhead::new(limit, per_key))));
}

fn beside<T: 'static>(bulkhead: &Arc<Bulkhead>, act: impl FnOnce(&Bulkhead) -> T + 'static) -> thread::JoinHandle<T> {
    let bulkhead = Arc::clone(bulkhead);
    thread::spawn(move || act(&bulkhead))
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
    let ticket = match bulkhead.join(key, 9).unwrap() {
        Ok(slot) => return Came::Inside(slot),
        Err(ticket) => ticket,
    };
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

#[test]
fn never_more_inside_than_slots_and_each_slot_comes_home() {
    model(1, None, |bulkhead| {
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
            beside(&bulkhead, visit(Arc::clone(&inside))),
            beside(&bulkhead, visit(Arc::clone(&inside))),
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
        assert_eq!(counts(&bulkhead), (1, 0));
        bulkhead.release(slot, None);
        assert_eq!(counts(&bulkhead), (0, 0));
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
    model(1, None, |bulkhead| {
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
