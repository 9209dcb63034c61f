//! Every interleaving of two or three threads at one breaker, by loom:
//! `RUSTFLAGS='--cfg resilience_loom' cargo test -p resilience-runtime --lib loom`.

use ::loom::sync::Arc;
use ::loom::sync::atomic::{AtomicBool, AtomicUsize};
use ::loom::thread;

use super::*;

const S: u64 = 1_000_000_000;
const GOOD: Mark = Mark::Success { slow: false };
const BAD: Mark = Mark::Failure {
    slow: false,
    timed_out: false,
};

fn numbers(text: &str) -> Numbers {
    let file = format!(
        "version = 1\n[dependency.a]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.a.breaker]\n\
         cooldown = \"1s\"\ncooldown_jitter = 0.0\n{text}\n"
    );
    let policy = resilience_policy::Policy::from_toml(&file).unwrap();
    policy.dependency("a").unwrap().breaker.clone().unwrap()
}

/// Runs `act` with a breaker of these numbers in every interleaving.
fn model(text: &str, act: impl Fn(Arc<Breaker>) + Send + Sync + 'static) {
    let numbers = numbers(text);
    ::loom::model(move || act(Arc::new(Breaker::new(&numbers, 0))));
}

fn beside<T: 'static>(breaker: &Arc<Breaker>, act: impl FnOnce(&Breaker) -> T + 'static) -> thread::JoinHandle<T> {
    let breaker = Arc::clone(breaker);
    thread::spawn(move || act(&breaker))
}

fn count(made: Transitions) -> usize {
    made.into_iter().flatten().count()
}

/// Asks for leave at `now`: the permit, and the transitions made on the way.
fn admit(breaker: &Breaker, now: u64) -> (Option<Permit>, usize) {
    let (answer, made) = breaker.admit(|| now, 10 * S);
    (answer.ok(), count(made))
}

/// One attempt: the transitions that it made.
fn attempt(breaker: &Breaker, mark: Mark) -> usize {
    let (permit, made) = admit(breaker, 0);
    made + permit.map_or(0, |permit| usize::from(breaker.settle(permit, mark, || 0).is_some()))
}

fn state(breaker: &Breaker, now: u64) -> State {
    breaker.read(now).0.state
}

#[test]
fn of_failures_at_once_exactly_one_opens() {
    model("window = \"2 calls\"\nminimum_calls = 2", |breaker| {
        let early = admit(&breaker, 0).0.unwrap();
        let (a, b) = (
            beside(&breaker, |breaker| attempt(breaker, BAD)),
            beside(&breaker, |breaker| attempt(breaker, BAD)),
        );
        let mine = usize::from(breaker.settle(early, BAD, || 0).is_some());
        assert_eq!(mine + a.join().unwrap() + b.join().unwrap(), 1);
        assert_eq!(state(&breaker, 0), State::Open);
    });
}

#[test]
fn a_cooldown_that_ends_is_one_transition_and_its_probe_is_counted_with_it() {
    model("probes = 1", |breaker| {
        let _ = breaker.trip(Cause::Trip, 0);
        let (a, b) = (
            beside(&breaker, |breaker| admit(breaker, S)),
            beside(&breaker, |breaker| admit(breaker, S)),
        );
        let mine = admit(&breaker, S);
        let all = [mine, a.join().unwrap(), b.join().unwrap()];
        assert_eq!(all.iter().map(|(_, made)| made).sum::<usize>(), 1);
        assert_eq!(all.iter().filter(|(permit, _)| permit.is_some()).count(), 1);
        assert_eq!(state(&breaker, S), State::HalfOpen);
    });
}

#[test]
fn never_more_probes_than_allowed_and_each_comes_home() {
    model("probes = 1", |breaker| {
        let _ = breaker.trip(Cause::Trip, 0);
        let inside = Arc::new(AtomicUsize::new(0));
        let probe = |inside: Arc<AtomicUsize>| {
            move |breaker: &Breaker| {
                if let Some(permit) = admit(breaker, S).0 {
                    assert_eq!(inside.fetch_add(1, Ordering::AcqRel), 0);
                    inside.fetch_sub(1, Ordering::AcqRel);
                    assert_eq!(breaker.settle(permit, Mark::Uncounted, || S), None);
                }
            }
        };
        let a = beside(&breaker, probe(Arc::clone(&inside)));
        probe(inside)(&breaker);
        a.join().unwrap();
        assert!(admit(&breaker, S).0.is_some(), "the place of a probe that is gone");
        assert!(admit(&breaker, S).0.is_none());
    });
}

#[test]
fn of_two_last_probes_one_closes_and_one_reopens_but_never_both() {
    model("probes = 2\nprobe_successes = 2\ncooldown_factor = 1.0", |breaker| {
        let _ = breaker.trip(Cause::Trip, 0);
        let (good, good_too) = (admit(&breaker, S).0.unwrap(), admit(&breaker, S).0.unwrap());
        let a = beside(&breaker, move |breaker| breaker.settle(good, GOOD, || S).is_some());
        let b = beside(&breaker, move |breaker| breaker.settle(good_too, GOOD, || S).is_some());
        // Whoever comes meanwhile is refused, or comes to a closed breaker.
        let (permit, made) = admit(&breaker, S);
        assert!(permit.is_none_or(|permit| permit.kind() == Kind::Ordinary));
        let made = made + usize::from(a.join().unwrap()) + usize::from(b.join().unwrap());
        assert_eq!((made, state(&breaker, S)), (1, State::Closed));
    });
}

#[test]
fn a_result_of_the_period_before_is_late_wherever_it_falls() {
    model("window = \"1 calls\"\nminimum_calls = 1", |breaker| {
        let early = admit(&breaker, 0).0.unwrap();
        let a = beside(&breaker, |breaker| attempt(breaker, BAD));
        let b = beside(&breaker, |breaker| admit(breaker, S));
        let mine = usize::from(breaker.settle(early, GOOD, || 0).is_some());
        assert_eq!(mine, 0);
        assert_eq!(a.join().unwrap(), 1);
        let (permit, made) = b.join().unwrap();
        // The success before the failure belongs to the window, after it to nobody: never to the probe.
        match permit.map(|permit| permit.kind()) {
            Some(Kind::Probe(_)) => assert_eq!((made, state(&breaker, S)), (1, State::HalfOpen)),
            kind => assert_eq!((kind, state(&breaker, 0)), (Some(Kind::Ordinary), State::Open)),
        }
    });
}

#[test]
fn a_good_result_that_follows_a_failure_is_never_left_out() {
    model(
        "window = \"2 calls\"\nminimum_calls = 2\nfailure_rate = false\nconsecutive_failures = 2",
        |breaker| {
            assert_eq!(attempt(&breaker, GOOD) + attempt(&breaker, GOOD), 0);
            assert!(breaker.is_clean_in(0));
            let failed = Arc::new(AtomicBool::new(false));
            let said = Arc::clone(&failed);
            let a = beside(&breaker, move |breaker| {
                assert_eq!(attempt(breaker, BAD), 0);
                said.store(true, Ordering::Release);
            });
            let permit = admit(&breaker, 0).0.unwrap();
            let follows = failed.load(Ordering::Acquire);
            assert_eq!(breaker.settle(permit, GOOD, || 0), None);
            a.join().unwrap();
            assert!(!breaker.is_clean_in(0), "the failure is in the window");
            // A success between two failures ends the run.
            let opens = attempt(&breaker, BAD) == 1;
            assert!(!(follows && opens));
        },
    );
}

#[test]
fn in_flight_trips_once_and_admits_who_made_it_so_many() {
    model("in_flight = 2\nfailure_rate = false", |breaker| {
        let (a, b) = (
            beside(&breaker, |breaker| admit(breaker, 0)),
            beside(&breaker, |breaker| admit(breaker, 0)),
        );
        let all = [a.join().unwrap(), b.join().unwrap()];
        assert_eq!(all.iter().map(|(_, made)| made).sum::<usize>(), 1);
        for (permit, _) in all {
            assert_eq!(breaker.settle(permit.unwrap(), GOOD, || 0), None);
        }
        assert_eq!(breaker.in_flight.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn the_count_in_flight_loses_nobody_who_comes_while_another_goes() {
    model("in_flight = 3\nfailure_rate = false", |breaker| {
        let a = beside(&breaker, |breaker| attempt(breaker, GOOD));
        let made = attempt(&breaker, GOOD) + attempt(&breaker, GOOD);
        assert_eq!((made, a.join().unwrap()), (0, 0));
        assert_eq!(breaker.in_flight.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn who_is_told_how_long_is_told_the_end_of_the_opening_that_stands() {
    model("cooldown_factor = 2.0", |breaker| {
        let _ = breaker.trip(Cause::Trip, 0);
        let a = beside(&breaker, |breaker| {
            let probe = admit(breaker, S).0.unwrap();
            assert!(breaker.settle(probe, BAD, || S).is_some());
        });
        // The first opening ends at 1 s, the second at 3 s: nothing in between is ever told.
        assert!(
            breaker
                .is_surely_open(breaker.gate(), || S, 0)
                .is_none_or(|left| left == 2 * S)
        );
        a.join().unwrap();
        assert_eq!(breaker.is_surely_open(breaker.gate(), || S, 0), Some(2 * S));
    });
}

#[test]
fn a_reset_beside_a_failure_leaves_a_breaker_that_works() {
    model("window = \"1 calls\"\nminimum_calls = 1", |breaker| {
        let a = beside(&breaker, |breaker| attempt(breaker, BAD));
        let reset = usize::from(breaker.reset(Cause::Reset, 0).is_some());
        assert_eq!(a.join().unwrap(), 1);
        // What opened before the reset is closed by it, what opens after it stays open.
        assert_eq!(state(&breaker, 0) == State::Closed, reset == 1);
        assert_eq!(admit(&breaker, 0).0.is_some(), reset == 1);
    });
}

fn totals(breaker: &Breaker, now: u64) -> (u32, u32) {
    let totals = breaker.peek(now).totals;
    (totals.calls, totals.failed)
}

#[test]
fn good_results_that_wait_are_all_seen_by_who_looks_afterwards() {
    model("window = \"9 calls\"\nminimum_calls = 2", |breaker| {
        assert_eq!(
            attempt(&breaker, GOOD) + attempt(&breaker, GOOD) + attempt(&breaker, BAD),
            0
        );
        let a = beside(&breaker, |breaker| {
            assert_eq!(attempt(breaker, GOOD) + attempt(breaker, GOOD), 0)
        });
        let seen = totals(&breaker, 0);
        assert!((3..=5).contains(&seen.0) && seen.1 == 1, "{seen:?}");
        assert_eq!(attempt(&breaker, GOOD), 0);
        a.join().unwrap();
        assert_eq!(totals(&breaker, 0), (6, 1));
    });
}

#[test]
fn a_good_result_beside_a_failure_is_before_or_after_it() {
    model(
        "window = \"3 calls\"\nminimum_calls = 3\nfailure_rate = 0.6\nconsecutive_failures = 2",
        |breaker| {
            for mark in [BAD, GOOD, GOOD] {
                assert_eq!(attempt(&breaker, mark), 0);
            }
            let a = beside(&breaker, |breaker| attempt(breaker, BAD));
            assert_eq!(attempt(&breaker, GOOD), 0);
            assert_eq!(a.join().unwrap(), 0);
            assert_eq!(
                totals(&breaker, 0),
                (3, 1),
                "the first is the oldest, whichever came first"
            );
            // Two failures in a row if the good one came first; two of three in any order.
            let made = breaker.settle(admit(&breaker, 0).0.unwrap(), BAD, || 0).unwrap();
            assert_eq!((made.totals.calls, made.totals.failed), (3, 2));
        },
    );
}

#[test]
fn a_good_result_never_waits_for_a_period_that_did_not_admit_it() {
    model("window = \"4 calls\"\nminimum_calls = 2", |breaker| {
        let early = admit(&breaker, 0).0.unwrap();
        let a = beside(&breaker, |breaker| {
            let tripped = breaker.trip(Cause::Trip, 0).totals.calls;
            assert!(breaker.reset(Cause::Reset, 0).is_some());
            assert_eq!(attempt(breaker, GOOD), 0);
            tripped
        });
        assert_eq!(breaker.settle(early, GOOD, || 0), None);
        assert!(a.join().unwrap() <= 1);
        assert_eq!(totals(&breaker, 0), (1, 0), "that of the period that began");
    });
}

#[test]
fn a_good_result_beside_a_reset_is_forgotten_or_the_first() {
    model(
        "window = \"4 calls\"\nminimum_calls = 4\nfailure_rate = 0.9",
        |breaker| {
            assert_eq!(attempt(&breaker, BAD) + attempt(&breaker, GOOD), 0);
            let a = beside(&breaker, |breaker| attempt(breaker, GOOD));
            assert_eq!(breaker.reset(Cause::Reset, 0), None);
            assert_eq!(a.join().unwrap(), 0);
            assert!(matches!(totals(&breaker, 0), (0 | 1, 0)));
        },
    );
}

#[test]
fn a_good_result_leaves_a_window_of_time_with_its_slice() {
    model("window = \"32s\"\nminimum_calls = 9", |breaker| {
        assert_eq!(attempt(&breaker, GOOD), 0);
        // The first slice ends at 1 s: whoever comes at that instant begins the second.
        let settle = |breaker: &Breaker, at: u64| breaker.settle(Permit::ordinary(0), GOOD, || at);
        let a = beside(&breaker, move |breaker| assert_eq!(settle(breaker, S), None));
        assert_eq!(settle(&breaker, S - 1), None);
        a.join().unwrap();
        let all = totals(&breaker, S).0;
        let left = totals(&breaker, 32 * S).0;
        // Who comes late with an early instant counts as late.
        assert!(all == 3 && (1..=2).contains(&left), "{all} {left}");
        assert_eq!(totals(&breaker, 33 * S).0, 0);
    });
}

#[test]
fn a_good_result_beside_a_reload_counts_where_its_window_stands() {
    let other = numbers("window = \"8 calls\"\nminimum_calls = 2");
    model("window = \"4 calls\"\nminimum_calls = 2", move |breaker| {
        assert_eq!(attempt(&breaker, GOOD), 0);
        let a = beside(&breaker, |breaker| attempt(breaker, GOOD));
        assert!(breaker.renumber(&other));
        assert_eq!(a.join().unwrap(), 0);
        assert!(matches!(totals(&breaker, 0), (0 | 1, 0)));
    });
}

#[test]
fn a_good_result_beside_a_reload_waits_for_no_slice_that_is_over() {
    let other = numbers("window = \"32s\"\nminimum_calls = 9");
    model("window = \"9 calls\"\nminimum_calls = 9", move |breaker| {
        let other = other.clone();
        let settle = |breaker: &Breaker, at: u64| assert_eq!(breaker.settle(Permit::ordinary(0), GOOD, || at), None);
        let a = beside(&breaker, move |breaker| {
            assert!(breaker.renumber(&other));
            settle(breaker, 0);
        });
        settle(&breaker, 5 * S);
        a.join().unwrap();
        // It went with the window before, or stays until the end of its own time.
        let (all, left) = (totals(&breaker, 5 * S).0, totals(&breaker, 33 * S).0);
        assert!(if all == 1 { left == 0 } else { all == 2 && left > 0 }, "{all} {left}");
    });
}
