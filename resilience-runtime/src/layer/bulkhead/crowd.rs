//! Many threads at one bulkhead that keep slots in reserve, for real: no model, no runtime.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::*;

const THREADS: usize = 4;
const CALLS: u32 = 20_000;

/// Counts who is inside, and checks that there are never too many.
#[derive(Debug)]
struct Room {
    most: AtomicU32,
    inside: AtomicU32,
    runs: AtomicU32,
}

impl Room {
    fn of(most: u32) -> Self {
        Self {
            most: AtomicU32::new(most),
            inside: AtomicU32::new(0),
            runs: AtomicU32::new(0),
        }
    }

    fn enter(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        let most = self.most.load(Ordering::SeqCst);
        assert!(inside <= most, "{inside} inside, of {most}");
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Threads that each act, with chances of their own, and begin at once.
fn crowd(act: impl Fn(fastrand::Rng) + Sync) {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (act, barrier) = (&act, &barrier);
            scope.spawn(move || {
                barrier.wait();
                act(fastrand::Rng::with_seed(thread as u64));
            });
        }
    });
}

fn at_rest(bulkhead: &Bulkhead, limit: u32) {
    assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (0, 0));
    let all: Vec<_> = (0..limit)
        .map(|_| bulkhead.try_acquire(None).expect("all are free"))
        .collect();
    assert!(bulkhead.try_acquire(None).is_none() && !bulkhead.has_room());
    assert_eq!(bulkhead.in_flight(), limit);
    for slot in all {
        bulkhead.release(slot, None);
    }
    assert_eq!(bulkhead.in_flight(), 0);
}

#[test]
fn never_more_inside_than_slots_whatever_threads_keep_and_all_come_home() {
    for limit in [1, 2, 3, 4, 7, 20] {
        let bulkhead = Bulkhead::reserving(limit, None);
        let room = Room::of(limit);
        // Who has the only slot may be kept from running while the others take all their turns for nothing.
        let many = || room.runs.load(Ordering::Relaxed) > CALLS / 4;
        crowd(|mut chance| {
            let mut held = Vec::new();
            for _ in (0..1_000 * CALLS).take_while(|turn| *turn < CALLS || !many()) {
                if chance.bool() {
                    if let Some(slot) = bulkhead.try_acquire(None) {
                        room.enter();
                        held.push(slot);
                    }
                } else if let Some(slot) = held.pop() {
                    room.leave();
                    bulkhead.release(slot, None);
                }
                if chance.u8(..) == 0 {
                    assert!(bulkhead.in_flight() <= limit, "who steps back is not inside");
                }
            }
            for slot in held {
                room.leave();
                bulkhead.release(slot, None);
            }
        });
        assert!(many(), "hardly anybody came in");
        at_rest(&bulkhead, limit);
    }
}

/// Polls a place in the line until it is ready.
fn wait(bulkhead: &Bulkhead, ticket: &Ticket) -> Slot {
    loop {
        if let Poll::Ready(slot) = bulkhead.poll_wait(ticket, Waker::noop()) {
            return slot;
        }
        thread::yield_now();
    }
}

#[test]
fn who_waits_is_served_though_others_give_up_and_keep_slots() {
    let limit = 3;
    let bulkhead = Bulkhead::reserving(limit, None);
    let room = Room::of(limit);
    crowd(|mut chance| {
        for _ in 0..CALLS / 10 {
            let slot = match bulkhead.try_acquire(None) {
                Some(slot) => slot,
                None => match bulkhead.join(None, 100).unwrap() {
                    Ok(slot) => slot,
                    Err(ticket) if chance.bool() => {
                        bulkhead.leave(ticket);
                        continue;
                    }
                    Err(ticket) => wait(&bulkhead, &ticket),
                },
            };
            room.enter();
            if chance.bool() {
                thread::yield_now();
            }
            room.leave();
            bulkhead.release(slot, None);
            // The line is seldom empty for long; where it is, reserves come back.
            if chance.u8(..10) == 0 {
                bulkhead.open(&bulkhead.lock());
            }
        }
    });
    at_rest(&bulkhead, limit);
}

#[test]
fn reloads_beside_a_crowd_leave_the_last_limit_and_it_is_kept() {
    let bulkhead = Bulkhead::reserving(20, None);
    let room = Room::of(24);
    crowd(|mut chance| {
        for _ in 0..CALLS {
            if let Some(slot) = bulkhead.try_acquire(None) {
                room.enter();
                room.leave();
                bulkhead.release(slot, None);
            }
            if chance.u16(..1_000) == 0 {
                bulkhead.renumber(chance.u32(1..20), None);
                bulkhead.open(&bulkhead.lock());
            }
        }
    });
    bulkhead.renumber(5, None);
    at_rest(&bulkhead, 5);
}

#[test]
fn threads_that_meet_get_reserves_and_one_that_is_alone_does_not() {
    let bulkhead = Bulkhead::new(20, None);
    for _ in 0..1_000 {
        let slot = bulkhead.try_acquire(None).unwrap();
        bulkhead.release(slot, None);
    }
    assert!(!has_reserves(bulkhead.word().load(Ordering::Relaxed)));
    // As if somebody had come in between.
    let slot = bulkhead
        .meet(None, bulkhead.word().fetch_add(1, Ordering::Relaxed))
        .unwrap();
    assert!(has_reserves(bulkhead.word().load(Ordering::Relaxed)));
    bulkhead.release(slot, None);
    let slot = bulkhead.try_acquire(None).unwrap();
    bulkhead.release(slot, None);
    assert_eq!(
        (bulkhead.held_back(), bulkhead.in_flight(), bulkhead.held_back()),
        (1, 0, 0)
    );
    assert!(
        has_reserves(bulkhead.word().load(Ordering::Relaxed)),
        "a look does not end it"
    );
    at_rest(&bulkhead, 20);
    assert!(
        !has_reserves(bulkhead.word().load(Ordering::Relaxed)),
        "a full bulkhead does"
    );
}

#[test]
fn few_slots_keyed_slots_and_a_full_bulkhead_have_no_reserves() {
    let opened = |limit, per_key, taken| {
        let bulkhead = Bulkhead::new(limit, per_key);
        let held: Vec<_> = (0..taken).map(|_| bulkhead.try_acquire(None).unwrap()).collect();
        bulkhead.open(&bulkhead.lock());
        for slot in held {
            bulkhead.release(slot, None);
        }
        has_reserves(bulkhead.word().load(Ordering::Relaxed))
    };
    assert!(!opened(1, None, 0) && !opened(3, None, 0) && opened(4, None, 0));
    assert!(opened(20, None, 10) && !opened(20, None, 11));
    assert!(!opened(20, Some(5), 0));
}

#[test]
fn no_reserves_are_opened_past_who_waits() {
    let bulkhead = Bulkhead::new(4, None);
    let held: Vec<_> = (0..4).map(|_| bulkhead.try_acquire(None).unwrap()).collect();
    let waiter = bulkhead.join(None, 1).unwrap().unwrap_err();
    // Three were given back, and who did that has not come to serve the line yet.
    bulkhead.word().fetch_sub(3, Ordering::Release);
    bulkhead.open(&bulkhead.lock());
    assert!(!has_reserves(bulkhead.word().load(Ordering::Relaxed)));
    bulkhead.serve_line();
    let slot = wait(&bulkhead, &waiter);
    for slot in held.into_iter().take(1).chain([slot]) {
        bulkhead.release(slot, None);
    }
    at_rest(&bulkhead, 4);
}
