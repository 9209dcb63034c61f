//! Differences that were found, shrunk. Each is compared with the plain telling like every other case.

use resilience_runtime::{FailureKind, Mode};

use crate::compare;
use crate::far::{Answer, Run, run};
use crate::numbers::{Bulkhead, Numbers, Source};
use crate::steps::Step;

/// A breaker over 4 calls, one of which is enough, open for 20 ms under a timeout of 30 ms; no other layer.
fn simplest() -> Numbers {
    Numbers::draw(&mut Source::new(&[]))
}

/// One slot, and room for one that waits.
const LINE: Bulkhead = Bulkhead {
    slots: 1,
    waiters: 1,
    max_wait: 50,
    per_key: None,
    retry_after: 1_000,
};

fn arrive(run: Run) -> Step {
    Step::Arrive {
        key: None,
        once: false,
        within: None,
        runs: vec![run],
    }
}

fn both(numbers: &Numbers, steps: &[Step]) {
    compare(numbers, steps, false);
    compare(numbers, steps, true);
}

#[test]
fn who_meets_a_busy_probe_is_told_what_is_left_of_it_when_a_deadline_cuts_it_first() {
    let numbers = Numbers {
        deadline: Some(25),
        ..simplest()
    };
    let steps = [
        arrive(run(Answer::Failed(FailureKind::Server), 0)),
        Step::Pass(20),
        arrive(run(Answer::Success, 1)),
        arrive(run(Answer::Success, 0)),
    ];
    both(&numbers, &steps);
}

#[test]
fn observe_tells_of_a_line_that_is_full_of_calls_from_before() {
    let numbers = Numbers {
        bulkhead: Some(LINE),
        ..simplest()
    };
    let steps = [
        arrive(run(Answer::Success, 5)),
        arrive(run(Answer::Success, 0)),
        Step::Mode(Mode::Observe),
        arrive(run(Answer::Success, 0)),
        Step::Pass(10),
    ];
    both(&numbers, &steps);
}

#[test]
fn observe_counts_no_timeout_that_is_not_listed() {
    let mut numbers = simplest();
    numbers.failures.retain(|kind| *kind != FailureKind::Timeout);
    let steps = [
        Step::Mode(Mode::Observe),
        arrive(run(Answer::Success, 40)),
        Step::Pass(40),
    ];
    both(&numbers, &steps);
}

#[test]
fn observe_reports_a_sample_that_would_have_been_cut_as_slow() {
    let mut numbers = simplest();
    numbers.timeout = Some(7);
    let breaker = numbers.breaker.as_mut().unwrap();
    (breaker.slow_after, breaker.slow_rate) = (Some(12), Some(0.5));
    breaker.sample_every = Some(10);
    let steps = [
        Step::Mode(Mode::Observe),
        Step::Trip,
        Step::Pass(10),
        arrive(run(Answer::Success, 8)),
        Step::Pass(10),
    ];
    both(&numbers, &steps);
}

#[test]
fn observe_sees_a_probe_fail_that_never_ends() {
    let steps = [
        Step::Trip,
        Step::Pass(20),
        Step::Mode(Mode::Observe),
        arrive(run(Answer::Never, 0)),
        Step::Pass(31),
        Step::Pass(50),
    ];
    both(&simplest(), &steps);
}

#[test]
fn a_panic_is_counted_as_one_however_late_it_comes() {
    let steps = [
        Step::Trip,
        Step::Pass(20),
        Step::Mode(Mode::Observe),
        arrive(run(Answer::Panic, 33)),
        Step::Pass(33),
    ];
    both(&simplest(), &steps);
}
