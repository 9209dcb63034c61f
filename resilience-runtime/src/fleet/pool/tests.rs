//! Counts that are told, lost, told again, overtaken and outlived.

use super::*;

const SECOND: u64 = 1_000 * MILLI;
const MINUTE: u64 = 60 * SECOND;

fn timed(stretches: &[(u64, [u32; 4])]) -> Look {
    let stretches: Vec<(u64, Totals)> = stretches.iter().map(|(at, counts)| (*at, (*counts).into())).collect();
    let totals = stretches
        .iter()
        .fold(Totals::default(), |all, (_, part)| all.and(*part));
    Look {
        shape: Shape::Time(std::time::Duration::from_secs(600)),
        totals,
        is_quiet: totals.calls < 6,
        is_closed: true,
        period: 0,
        emptied: 0,
        stretches: Some(stretches),
    }
}

fn untimed(totals: [u32; 4], period: u64) -> Look {
    Look {
        shape: Shape::Calls(20),
        totals: totals.into(),
        is_quiet: totals[0] < 20,
        is_closed: true,
        period,
        emptied: 0,
        stretches: None,
    }
}

fn told(pool: &mut Pool, look: Look, now: u64) -> Counted {
    pool.tell("api-02", [("payrail", look)], now)
}

fn heard(pool: &Pool, look: &Look, now: u64) -> (u32, u32) {
    let others = pool.others("payrail", look, now);
    (others.totals.calls, others.totals.failed)
}

#[test]
fn what_is_heard_twice_or_late_counts_once() {
    let (mut here, mut there) = (Pool::default(), Pool::default());
    let nothing = timed(&[]);
    let first = told(&mut there, timed(&[(MINUTE, [2, 1, 0, 1])]), MINUTE);
    let second = told(
        &mut there,
        timed(&[(MINUTE, [2, 1, 0, 1]), (2 * MINUTE, [1, 1, 0, 1])]),
        2 * MINUTE,
    );
    // Two clocks: what is a minute there may be an hour here.
    let now = 60 * MINUTE;
    for said in [&first, &first, &second, &second] {
        here.hear(std::slice::from_ref(said), |_| true, now);
    }
    assert_eq!(heard(&here, &nothing, now), (3, 2));
    assert_eq!(here.others("payrail", &nothing, now).instances, ["api-02"]);
    // Its own words come back from the store, too.
    let own = told(&mut here, timed(&[(now, [1, 0, 0, 0])]), now);
    here.hear(&[own], |_| true, now);
    assert_eq!(heard(&here, &nothing, now), (3, 2));
}

#[test]
fn counts_of_others_leave_when_they_are_as_old_as_the_window_whether_or_not_anything_is_heard() {
    let (mut here, mut there) = (Pool::default(), Pool::default());
    let said = told(
        &mut there,
        timed(&[(0, [2, 2, 0, 2]), (5 * MINUTE, [1, 1, 0, 1])]),
        5 * MINUTE,
    );
    here.hear(&[said], |_| true, 100 * MINUTE);
    let nothing = timed(&[]);
    assert_eq!(heard(&here, &nothing, 105 * MINUTE - 1), (3, 3));
    assert_eq!(heard(&here, &nothing, 105 * MINUTE), (1, 1));
    assert_eq!(heard(&here, &nothing, 110 * MINUTE), (0, 0));
    here.hear(&[], |_| true, 170 * MINUTE);
    assert!(here.is_alone());
}

#[test]
fn a_restarted_instance_is_another_one_and_what_it_had_counted_before_still_counts() {
    let mut here = Pool::default();
    for _ in 0..2 {
        let said = told(&mut Pool::default(), timed(&[(0, [2, 2, 0, 2])]), 0);
        here.hear(&[said], |_| true, 0);
    }
    assert_eq!(heard(&here, &timed(&[]), 0), (4, 4));
    let others = here.others("payrail", &timed(&[]), 0);
    assert_eq!((others.count, others.instances.len()), (2, 1), "under one name");
}

#[test]
fn who_can_judge_alone_tells_nothing_and_an_emptied_window_is_told_for_a_while() {
    let mut there = Pool::default();
    let mut here = Pool::default();
    let quiet = told(&mut there, timed(&[(0, [5, 5, 0, 5])]), 0);
    let busy = told(&mut there, timed(&[(0, [6, 6, 0, 6])]), 1);
    assert!(busy.breakers.is_empty());
    here.hear(&[quiet, busy], |_| true, 1);
    assert_eq!(
        heard(&here, &timed(&[]), 1),
        (5, 5),
        "what it counted when it was quiet is as true as it was"
    );
    let emptied = told(&mut there, timed(&[]), 2);
    here.hear(&[emptied], |_| true, 2);
    assert_eq!(heard(&here, &timed(&[]), 2), (0, 0), "it has closed");
    assert!(told(&mut there, timed(&[]), 10 * MINUTE).breakers.is_empty());
    assert!(
        told(&mut Pool::default(), timed(&[]), 0).breakers.is_empty(),
        "who counted nothing says nothing"
    );
}

#[test]
fn what_was_counted_before_the_own_window_was_emptied_is_over() {
    let (mut here, mut there) = (Pool::default(), Pool::default());
    let said = told(
        &mut there,
        timed(&[(0, [2, 2, 0, 2]), (2 * MINUTE, [1, 0, 0, 0])]),
        2 * MINUTE,
    );
    here.hear(&[said], |_| true, 2 * MINUTE);
    let closed = Look {
        emptied: MINUTE,
        ..timed(&[])
    };
    assert_eq!(heard(&here, &closed, 2 * MINUTE), (1, 0));
}

#[test]
fn a_window_of_calls_is_told_by_what_came_between_two_looks() {
    let (mut here, mut there) = (Pool::default(), Pool::default());
    told(&mut there, untimed([1, 0, 0, 0], 0), 0);
    told(&mut there, untimed([1, 0, 0, 0], 0), MINUTE);
    let said = told(&mut there, untimed([3, 2, 0, 2], 0), 2 * MINUTE);
    assert_eq!(said.breakers[0].1, [Part(120_000, 1, 0, 0, 0), Part(0, 2, 2, 0, 2)]);
    here.hear(&[said], |_| true, 2 * MINUTE);
    let own = untimed([1, 1, 0, 1], 0);
    assert_eq!(heard(&here, &own, 2 * MINUTE), (3, 2));
    assert_eq!(
        heard(&here, &own, 11 * MINUTE),
        (2, 2),
        "ten minutes at most, as it has no time of its own"
    );
    // It opened, was closed by its probes and began anew.
    let open = Look {
        is_closed: false,
        ..untimed([3, 2, 0, 2], 1)
    };
    assert_eq!(told(&mut there, open, 3 * MINUTE).breakers[0].1.len(), 2);
    let said = told(&mut there, untimed([3, 0, 0, 0], 3), 4 * MINUTE);
    assert_eq!(said.breakers[0].1, [Part(0, 3, 0, 0, 0)]);
    // Emptied by a hand, in the same period.
    let said = told(&mut there, untimed([1, 0, 0, 0], 3), 5 * MINUTE);
    assert_eq!(said.breakers[0].1, [Part(0, 1, 0, 0, 0)]);
    told(&mut there, untimed([20, 0, 0, 0], 3), 6 * MINUTE);
    assert!(
        told(&mut there, untimed([20, 1, 0, 1], 3), 6 * MINUTE)
            .breakers
            .is_empty()
    );
}

#[test]
fn a_window_of_calls_takes_the_newest_that_it_has_room_for() {
    let mut here = Pool::default();
    for age in [3, 1, 2] {
        let mut there = Pool::default();
        let said = told(&mut there, timed(&[(0, [5, age, 0, age])]), u64::from(age) * MINUTE);
        here.hear(&[said], |_| true, 5 * MINUTE);
    }
    assert_eq!(heard(&here, &untimed([4, 1, 0, 1], 0), 5 * MINUTE), (15, 6));
    assert_eq!(
        heard(&here, &untimed([12, 1, 0, 1], 0), 5 * MINUTE),
        (10, 3),
        "whole parts, the newest first"
    );
    assert_eq!(heard(&here, &untimed([15, 1, 0, 1], 0), 5 * MINUTE), (5, 1));
}

#[test]
fn what_cannot_be_counts_and_whom_nobody_knows_is_left_out() {
    let mut here = Pool::default();
    let mut said = told(&mut Pool::default(), timed(&[(0, [2, 1, 0, 1])]), 0);
    let nonsense = [
        Part(0, 1, 2, 0, 2),
        Part(0, 9, 1, 1, 3),
        Part(0, 9, 3, 0, 1),
        Part(u64::MAX, 1, 1, 0, 1),
    ];
    said.breakers[0].1.extend(nonsense);
    said.breakers.push(("unknown".to_owned(), vec![Part(0, 1, 0, 0, 0)]));
    here.hear(&[said], |name| name == "payrail", 2 * LONGEST);
    assert_eq!(heard(&here, &timed(&[]), 2 * LONGEST), (2, 1));
    assert_eq!(here.heard.values().map(|heard| heard.breakers.len()).sum::<usize>(), 1);
    for _ in 0..MOST_INSTANCES + 5 {
        let said = told(&mut Pool::default(), timed(&[(0, [1, 0, 0, 0])]), 0);
        here.hear(&[said], |_| true, 2 * LONGEST);
    }
    assert_eq!(here.heard.len(), MOST_INSTANCES);
    here.forget();
    assert!(here.is_alone());
}
