//! One thread at a bulkhead.

use super::*;

fn ready(bulkhead: &Bulkhead, ticket: &Ticket) -> bool {
    bulkhead.poll_wait(ticket, Waker::noop()).is_ready()
}

#[test]
fn blk_21_two_slots_are_two_slots() {
    let bulkhead = Bulkhead::new(2, None);
    let a = bulkhead.try_acquire(None).unwrap();
    let b = bulkhead.try_acquire(None).unwrap();
    assert!(bulkhead.try_acquire(None).is_none());
    bulkhead.release(a, None);
    bulkhead.release(b, None);
    assert_eq!(bulkhead.in_flight(), 0);
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    let bulkhead = Bulkhead::new(1, None);
    let running = bulkhead.try_acquire(None).unwrap();
    let first = bulkhead.join(None, 2).unwrap().unwrap_err();
    let second = bulkhead.join(None, 2).unwrap().unwrap_err();
    assert_eq!(bulkhead.join(None, 2).unwrap_err(), LineFull);
    assert!(bulkhead.try_acquire(None).is_none(), "a newcomer does not overtake");
    bulkhead.release(running, None);
    assert!(!ready(&bulkhead, &second));
    assert!(ready(&bulkhead, &first));
    assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 1));
}

#[test]
fn a_waiter_that_leaves_after_it_was_given_a_slot_hands_it_on() {
    let bulkhead = Bulkhead::new(1, None);
    let running = bulkhead.try_acquire(None).unwrap();
    let first = bulkhead.join(None, 9).unwrap().unwrap_err();
    let second = bulkhead.join(None, 9).unwrap().unwrap_err();
    bulkhead.release(running, None);
    bulkhead.leave(first);
    assert!(ready(&bulkhead, &second));
    assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 0));
}

#[test]
fn gw_r01_a_full_key_refuses_only_itself_and_holds_up_nobody() {
    let bulkhead = Bulkhead::new(3, Some(1));
    let a = bulkhead.try_acquire(Some(1)).unwrap();
    assert!(bulkhead.try_acquire(Some(1)).is_none());
    let waits = bulkhead.join(Some(1), 5).unwrap().unwrap_err();
    let b = bulkhead.try_acquire(Some(2)).unwrap();
    let c = bulkhead.try_acquire(None).unwrap();
    let other = bulkhead.join(Some(3), 5).unwrap().unwrap_err();
    bulkhead.release(b, Some(2));
    assert!(!ready(&bulkhead, &waits), "its key is still full");
    assert!(ready(&bulkhead, &other), "the one behind it is not held up");
    bulkhead.release(a, Some(1));
    assert!(ready(&bulkhead, &waits));
    bulkhead.release(c, None);
}

#[test]
fn who_waits_for_a_slot_of_his_key_is_served_when_keys_are_no_longer_bounded() {
    let bulkhead = Bulkhead::new(2, Some(1));
    let a = bulkhead.try_acquire(Some(1)).unwrap();
    let waiter = bulkhead.join(Some(1), 1).unwrap().unwrap_err();
    bulkhead.renumber(2, None);
    assert!(ready(&bulkhead, &waiter));
    bulkhead.release(a, Some(1));
    assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (1, 0));
}

#[test]
fn gw_r05_keys_that_nobody_uses_are_forgotten() {
    let bulkhead = Bulkhead::new(10, Some(1));
    for key in 0..100_000 {
        let slot = bulkhead.try_acquire(Some(key)).unwrap();
        bulkhead.release(slot, Some(key));
    }
    assert_eq!(bulkhead.lock().keys(), 0);
}

#[test]
fn blk_20_a_larger_bulkhead_serves_its_line_and_a_smaller_one_drains() {
    let bulkhead = Bulkhead::new(1, None);
    let a = bulkhead.try_acquire(None).unwrap();
    let waiter = bulkhead.join(None, 1).unwrap().unwrap_err();
    bulkhead.renumber(2, None);
    assert!(ready(&bulkhead, &waiter));
    bulkhead.renumber(1, None);
    bulkhead.release(a, None);
    assert!(bulkhead.try_acquire(None).is_none(), "still one inside, of one");
    assert_eq!(bulkhead.in_flight(), 1);
}

#[test]
fn who_steps_back_is_never_seen_inside() {
    let bulkhead = Bulkhead::new(2, None);
    let held: Vec<_> = (0..2).map(|_| bulkhead.try_acquire(None).unwrap()).collect();
    // As a caller does that found all taken, between its two steps.
    let comes = || bulkhead.word().fetch_add(1, Ordering::Relaxed);
    let steps_back = || bulkhead.word().fetch_sub(1, Ordering::Relaxed);
    comes();
    assert_eq!(bulkhead.in_flight(), 2);
    bulkhead.renumber(1, None);
    assert_eq!(bulkhead.in_flight(), 2, "what is inside drains");
    steps_back();
    let mut held = held.into_iter();
    bulkhead.release(held.next().unwrap(), None);
    assert_eq!(bulkhead.in_flight(), 1);
    comes();
    assert_eq!(bulkhead.in_flight(), 1, "what has left does not come back");
    steps_back();
    bulkhead.renumber(3, None);
    let more: Vec<_> = (0..2).map(|_| bulkhead.try_acquire(None).unwrap()).collect();
    assert_eq!(bulkhead.in_flight(), 3);
    held.chain(more).for_each(|slot| bulkhead.release(slot, None));
    assert_eq!(bulkhead.in_flight(), 0);
}

#[test]
fn who_joins_while_a_slot_is_free_gets_it_whatever_his_key() {
    for (per_key, key) in [(None, None), (None, Some(1)), (Some(1), None), (Some(1), Some(1))] {
        let bulkhead = Bulkhead::new(1, per_key);
        let slot = bulkhead.join(key, 1).unwrap().unwrap();
        assert_eq!(
            (bulkhead.in_flight(), bulkhead.waiting()),
            (1, 0),
            "{per_key:?} {key:?}"
        );
        bulkhead.release(slot, key);
        assert_eq!(bulkhead.in_flight(), 0, "{per_key:?} {key:?}");
    }
}

#[test]
fn there_is_room_where_the_only_free_slot_lies_in_reserve() {
    let bulkhead = Bulkhead::reserving(2, None);
    let stays = bulkhead.try_acquire(None).unwrap();
    let goes = bulkhead.try_acquire(None).unwrap();
    bulkhead.release(goes, None);
    let word = bulkhead.word().load(Ordering::Relaxed);
    assert_eq!((bulkhead.held_back(), taken(word)), (1, 2));
    assert!(bulkhead.has_room());
    let _goes = bulkhead.try_acquire(None).unwrap();
    assert!(!bulkhead.has_room());
    bulkhead.release(stays, None);
}
