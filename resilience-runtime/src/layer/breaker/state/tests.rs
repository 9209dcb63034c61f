//! The machine by itself: no lock, no clock, no runtime.

use super::*;
use crate::clock::NEVER;

const S: u64 = 1_000_000_000;

fn numbers(text: &str) -> Numbers {
    let file = format!(
        "version = 1\n[dependency.a]\nfail = \"closed\"\ntimeout = \"3s\"\n[dependency.a.breaker]\ncooldown_jitter = 0.0\n{text}\n"
    );
    let policy = resilience_policy::Policy::from_toml(&file).unwrap();
    policy.dependency("a").unwrap().breaker.clone().unwrap()
}

fn machine(numbers: &Numbers) -> Machine {
    Machine::new(numbers, 0, || 0.5)
}

fn run(machine: &mut Machine, now: u64, mark: Mark) -> Result<Option<Transition>, Refusal> {
    let _ = machine.tick(now);
    let permit = machine.admit(now, now + 3 * S)?;
    Ok(machine.settle(permit, mark, || now))
}

const F: Mark = Mark::Failure {
    slow: false,
    timed_out: false,
};
const OK: Mark = Mark::Success { slow: false };

#[test]
fn sd_r12_nineteen_failures_from_empty_stay_closed_and_the_twentieth_opens() {
    let numbers = numbers("window = \"20 calls\"\nminimum_calls = 20");
    let mut breaker = machine(&numbers);
    for _ in 0..19 {
        assert_eq!(run(&mut breaker, 0, F), Ok(None));
    }
    let made = run(&mut breaker, 0, F).unwrap().unwrap();
    assert_eq!(
        (made.to, made.cause, made.cooldown),
        (State::Open, Cause::FailureRate, Some(30 * S))
    );
}

#[test]
fn brk_10_eight_of_ten_reaches_eight_tenths() {
    let numbers = numbers("window = \"10 calls\"\nminimum_calls = 10\nfailure_rate = 0.8");
    let mut breaker = machine(&numbers);
    for mark in [F, F, OK, F, F, F, OK, F, F] {
        assert_eq!(run(&mut breaker, 0, mark), Ok(None));
    }
    assert!(run(&mut breaker, 0, F).unwrap().is_some());
}

#[test]
fn every_share_of_a_hundred_is_reached_exactly() {
    for failures in 1..=100_u32 {
        let numbers = numbers(&format!(
            "window = \"100 calls\"\nminimum_calls = 100\nfailure_rate = {}",
            f64::from(failures) / 100.0
        ));
        let totals = Totals {
            calls: 100,
            failed: failures,
            slow: 0,
            bad: failures,
        };
        assert_eq!(tripped(totals, 0, &numbers), Some(Cause::FailureRate), "{failures}");
        let fewer = Totals {
            failed: failures - 1,
            ..totals
        };
        assert_eq!(tripped(fewer, 0, &numbers), None, "{failures}");
    }
}

#[test]
fn ho_20_open_ends_exactly_at_its_end() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"1s\"");
    let mut breaker = machine(&numbers);
    assert!(run(&mut breaker, 0, F).unwrap().is_some());
    assert_eq!(run(&mut breaker, S - 1, OK), Err(Refusal::Open { retry_after: 1 }));
    assert_eq!(run(&mut breaker, S, OK).unwrap().unwrap().to, State::Closed);
}

#[test]
fn ho_11_a_hung_probe_reopens_at_the_end_of_its_time() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"5s\"\ncooldown_factor = 1.0");
    let mut breaker = machine(&numbers);
    let _ = run(&mut breaker, 0, F);
    let _ = breaker.tick(5 * S);
    let hung = breaker.admit(5 * S, 6 * S).unwrap();
    assert_eq!(
        run(&mut breaker, 5 * S + S / 2, OK),
        Err(Refusal::ProbesBusy { retry_after: S / 2 })
    );
    assert_eq!(
        breaker.tick(6 * S).into_iter().flatten().count(),
        0,
        "at its end it may still answer"
    );
    assert_eq!(
        run(&mut breaker, 6 * S + 1, OK),
        Err(Refusal::Open { retry_after: 5 * S - 1 })
    );
    assert_eq!(breaker.read(6 * S + 1).since, 6 * S);
    assert_eq!(breaker.settle(hung, OK, || 7 * S), None);
    assert_eq!(breaker.late(), 1);
    assert_eq!(run(&mut breaker, 11 * S + 2, OK).unwrap().unwrap().to, State::Closed);
}

#[test]
fn a_window_that_holds_the_minimum_judges_alone() {
    let numbers = numbers("window = \"9 calls\"\nminimum_calls = 2");
    let mut breaker = machine(&numbers);
    for is_quiet in [true, true, false, false] {
        assert_eq!(breaker.look(0).is_quiet, is_quiet);
        let _ = run(&mut breaker, 0, OK);
    }
}

#[test]
fn an_hour_in_one_step_passes_both_ends() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"5s\"");
    let mut breaker = machine(&numbers);
    let _ = run(&mut breaker, 0, F);
    let _ = breaker.tick(5 * S);
    let _hung = breaker.admit(5 * S, 6 * S).unwrap();
    let made: Vec<_> = breaker
        .tick(3_600 * S)
        .into_iter()
        .flatten()
        .map(|t| (t.to, t.at))
        .collect();
    assert_eq!(made, [(State::Open, 6 * S), (State::HalfOpen, 16 * S)]);
}

#[test]
fn stl_01_results_of_an_earlier_period_change_nothing() {
    let numbers =
        numbers("window = \"4 calls\"\nminimum_calls = 4\ncooldown = \"1s\"\nprobes = 2\nprobe_successes = 2");
    let mut breaker = machine(&numbers);
    let a = breaker.admit(0, NEVER).unwrap();
    for _ in 0..4 {
        let _ = run(&mut breaker, 0, F);
    }
    let _ = breaker.tick(S);
    let c = breaker.admit(S, 2 * S).unwrap();
    assert_eq!(breaker.settle(a, OK, || S), None);
    assert_eq!(breaker.settle(c, OK, || S), None);
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(run(&mut breaker, S, OK).unwrap().unwrap().to, State::Closed);
}

#[test]
fn gm_r11_a_ramp_admits_its_share_and_a_failure_in_it_reopens() {
    let numbers = numbers(
        "window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"1s\"\nramp = [0.05, 0.25]\nprobes = 2\nprobe_successes = 2",
    );
    let mut breaker = machine(&numbers);
    let _ = run(&mut breaker, 0, F);
    for _ in 0..2 {
        assert_eq!(run(&mut breaker, S, OK), Ok(None));
    }
    let admitted: Vec<_> = (0..41)
        .filter(|_| run(&mut breaker, S, Mark::Uncounted).is_ok())
        .collect();
    assert_eq!(admitted, [0, 20, 40]);
    assert_eq!(run(&mut breaker, S, OK), Err(Refusal::ProbesBusy { retry_after: S }));
    let _ = breaker.trip(Cause::Trip, S);
    let _ = breaker.tick(10 * S);
    for _ in 0..2 {
        assert_eq!(run(&mut breaker, 10 * S, OK), Ok(None));
    }
    assert_eq!(run(&mut breaker, 10 * S, F).unwrap().unwrap().cause, Cause::ProbeFailed);
}

#[test]
fn a_ramp_ends_closed_after_its_last_step() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"1s\"\nramp = [0.5]");
    let mut breaker = machine(&numbers);
    let _ = run(&mut breaker, 0, F);
    assert_eq!(run(&mut breaker, S, OK), Ok(None));
    let made = run(&mut breaker, S, OK).unwrap().unwrap();
    assert_eq!((made.to, made.cause), (State::Closed, Cause::RampDone));
}

#[test]
fn gm_r12_the_cooldown_grows_is_cut_and_starts_again_after_closing() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"10s\"\ncooldown_max = \"30s\"");
    let drawn: Vec<_> = (1..=4).map(|n| cooldown(&numbers, n, 0.9) / S).collect();
    assert_eq!(drawn, [10, 20, 30, 30]);
    assert_eq!(cooldown(&numbers, u32::MAX, 0.9), 30 * S);
}

#[test]
fn gm_r13_the_cooldown_is_spread_evenly_around_itself() {
    let mut numbers = numbers("cooldown = \"10s\"");
    numbers.cooldown_jitter = 0.1;
    assert_eq!(cooldown(&numbers, 1, 0.0), 9 * S);
    assert_eq!(cooldown(&numbers, 1, 0.5), 10 * S);
    assert!(cooldown(&numbers, 1, 0.999_999) < 11 * S);
}

#[test]
fn a_sample_is_let_through_once_per_its_time_and_decides_nothing() {
    let numbers = numbers("window = \"1 calls\"\nminimum_calls = 1\nsample_every = \"10s\"");
    let mut breaker = machine(&numbers);
    let _ = run(&mut breaker, 0, F);
    assert!(run(&mut breaker, 9 * S, OK).is_err());
    assert_eq!(run(&mut breaker, 10 * S, OK), Ok(None));
    assert!(run(&mut breaker, 19 * S, OK).is_err());
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_reload_moves_the_end_of_open_and_empties_a_changed_window() {
    let before = numbers("window = \"1 calls\"\nminimum_calls = 1\ncooldown = \"30s\"");
    let mut breaker = machine(&before);
    let _ = run(&mut breaker, 5 * S, F);
    let after = numbers("window = \"2 calls\"\nminimum_calls = 1\ncooldown = \"10s\"");
    assert!(breaker.renumber(&after));
    assert_eq!(breaker.open_until(), 15 * S);
    assert_eq!(breaker.read(6 * S).totals.calls, 0);
}
