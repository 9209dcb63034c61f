//! The breaker beside a machine of the same numbers that is told each result at once: whatever is asked, both say the same.

use super::state::Permit as Inner;
use super::*;

const MS: u64 = 1_000_000;
const GOOD: Mark = Mark::Success { slow: false };
const BAD: Mark = Mark::Failure {
    slow: false,
    timed_out: false,
};

fn numbers(text: &str) -> Option<Numbers> {
    let file = format!(
        "version = 1\n[dependency.a]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.a.breaker]\ncooldown_jitter = 0.0\n{text}\n"
    );
    let policy = resilience_policy::Policy::from_toml(&file).ok()?;
    policy.dependency("a")?.breaker.clone()
}

impl Breaker {
    /// How many good results wait.
    fn waiting(&self) -> u32 {
        self.locked.lock().unwrap().room - self.pending.left()
    }
}

/// Both, at one instant, with the leaves that they gave.
struct Both {
    shell: Breaker,
    plain: Machine,
    /// How many run, as the plain machine does not know.
    running: usize,
    leaves: Vec<(Permit, Inner)>,
    now: u64,
    random: fastrand::Rng,
    waited: u32,
}

impl Both {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let numbers = any(&mut random);
        Self {
            shell: Breaker::new(&numbers, 0),
            plain: Machine::new(&numbers, 0, || 0.5),
            running: 0,
            leaves: Vec::new(),
            now: 0,
            random,
            waited: 0,
        }
    }

    fn step(&mut self) {
        match self.random.u32(..1_000) {
            0..300 => self.admit(),
            300..850 => self.settle(),
            850..930 => {
                let most = [MS, 40 * MS, 1_500 * MS][self.random.usize(..3)];
                self.now += self.random.u64(..most);
            }
            930..950 => self.read(),
            950..965 => self.look(),
            965..975 => self.pool(),
            975..985 => self.renumber(),
            985..990 => self.reset(),
            990..992 => self.trip(),
            // Nothing: most are asked about long after.
            _ => {}
        }
    }

    fn admit(&mut self) {
        let (answer, made) = self.shell.admit(|| self.now, 1_000 * MS);
        let mut expected = self.plain.tick(self.now);
        let inner = self.plain.admit(self.now, self.now + 1_000 * MS);
        if inner.is_ok()
            && let Some(limit) = self.plain.numbers().in_flight
        {
            self.running += 1;
            if self.plain.state() == State::Closed && self.running >= limit as usize {
                let place = expected.iter_mut().find(|place| place.is_none()).unwrap();
                *place = Some(self.plain.trip(Cause::InFlight, self.now));
            }
        }
        assert_eq!(made, expected);
        assert_eq!(answer.as_ref().err(), inner.as_ref().err());
        if let (Ok(permit), Ok(inner)) = (answer, inner) {
            self.leaves.push((permit, inner));
        }
    }

    fn settle(&mut self) {
        if self.leaves.is_empty() {
            return;
        }
        let (permit, inner) = self.leaves.swap_remove(self.random.usize(..self.leaves.len()));
        let mark = match self.random.u8(..100) {
            0..8 => BAD,
            8..10 => Mark::Failure {
                slow: true,
                timed_out: true,
            },
            10..14 => Mark::Success { slow: true },
            14..18 => Mark::Uncounted,
            _ => Mark::Success { slow: false },
        };
        if permit.counted {
            self.running -= 1;
        }
        let waited = self.shell.waiting();
        let made = self.shell.settle(permit, mark, || self.now);
        assert_eq!(made, self.plain.settle(inner, mark, || self.now));
        self.waited += u32::from(self.shell.waiting() > waited);
    }

    fn read(&mut self) {
        if self.random.bool() {
            let expected = self.plain.tick(self.now);
            let (reading, made) = self.shell.read(self.now);
            assert_eq!(made, expected);
            assert_eq!(said(reading), said(self.plain.read(self.now)));
        } else {
            assert_eq!(said(self.shell.peek(self.now)), said(self.plain.read(self.now)));
        }
        assert_eq!(self.shell.would_admit(self.now), {
            let made = self.plain.tick(self.now);
            (self.plain.would_admit(self.now), made)
        });
    }

    fn look(&mut self) {
        let (shell, plain) = (self.shell.look(self.now), self.plain.look(self.now));
        assert_eq!(format!("{shell:?}"), format!("{plain:?}"));
    }

    fn pool(&mut self) {
        let (failed, slow) = (self.random.u32(..3), self.random.u32(..2));
        let others = Totals::from([self.random.u32(5..9), failed, slow, failed + slow]);
        let period = self.plain.period();
        let made = self.shell.judge_with(others, period, self.now);
        assert_eq!(made, self.plain.judge_with(others, period, self.now));
    }

    /// Now and then only the thresholds change, so that a window stands which the new ones would not have let be.
    fn renumber(&mut self) {
        let mut numbers = any(&mut self.random);
        if self.random.bool() {
            numbers.window = self.plain.numbers().window;
        }
        assert_eq!(self.shell.renumber(&numbers), self.plain.renumber(&numbers));
    }

    fn reset(&mut self) {
        let made = self.shell.reset(Cause::Reset, self.now);
        assert_eq!(made, self.plain.reset(Cause::Reset, self.now));
    }

    fn trip(&mut self) {
        let made = self.shell.trip(Cause::Trip, self.now);
        assert_eq!(made, self.plain.trip(Cause::Trip, self.now));
        assert_eq!(
            self.plain.room(),
            state::Room::default(),
            "nothing is written into it now"
        );
    }
}

fn said(reading: Reading) -> String {
    format!("{reading:?}")
}

/// Numbers as a file could hold them.
fn any(random: &mut fastrand::Rng) -> Numbers {
    loop {
        let calls = [1, 2, 5, 8, 33, 64, 70][random.usize(..7)];
        let window = match random.u8(..8) {
            0..5 => format!("{calls} calls"),
            5 => "5000 calls".to_owned(),
            6 => "1s".to_owned(),
            _ => "60s".to_owned(),
        };
        let mut lines = vec![
            format!("window = \"{window}\""),
            format!("minimum_calls = {}", random.u32(1..=calls)),
            "cooldown = \"300ms\"".to_owned(),
        ];
        let rate = |random: &mut fastrand::Rng| ["0.05", "0.2", "0.25", "0.5", "1.0"][random.usize(..5)];
        let failure_rate = if random.u8(..4) == 0 { "false" } else { rate(random) };
        lines.push(format!("failure_rate = {failure_rate}"));
        let (slow, bad) = (random.bool(), random.bool());
        if slow {
            lines.push(format!("slow_rate = {}", rate(random)));
        }
        if bad {
            lines.push(format!("bad_rate = {}", rate(random)));
        }
        if slow || bad {
            lines.push("slow_after = \"10ms\"".to_owned());
        }
        if random.u8(..3) == 0 {
            lines.push(format!("consecutive_failures = {}", random.u8(1..4)));
        }
        if random.u8(..5) == 0 {
            lines.push(format!("in_flight = {}", random.u8(3..20)));
        }
        if random.u8(..5) == 0 {
            lines.push("sample_every = \"50ms\"".to_owned());
        }
        if let Some(numbers) = numbers(&lines.join("\n")) {
            return numbers;
        }
    }
}

#[test]
fn good_results_that_wait_beside_the_window_are_exact() {
    let mut waited = 0;
    for seed in 0..300 {
        let mut both = Both::new(seed);
        for _ in 0..1_000 {
            both.step();
        }
        waited += u64::from(both.waited);
    }
    assert!(waited > 30_000, "hardly any result waited: {waited}");
}

#[test]
fn a_lowered_threshold_is_judged_at_the_next_good_result() {
    let before = numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&before, 0);
    for mark in [GOOD, GOOD, GOOD, BAD, GOOD] {
        assert_eq!(breaker.settle(Permit::ordinary(0), mark, || 0), None);
    }
    assert_eq!(breaker.waiting(), 1);
    assert!(!breaker.renumber(&numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.1").unwrap()));
    let made = breaker.settle(Permit::ordinary(0), GOOD, || 0).unwrap();
    assert_eq!(
        (made.cause, made.totals.calls, made.totals.failed),
        (Cause::FailureRate, 6, 1)
    );
}

#[test]
fn the_good_result_that_reaches_the_minimum_can_open() {
    let numbers = numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&numbers, 0);
    for mark in [BAD, BAD, GOOD] {
        assert_eq!(breaker.settle(Permit::ordinary(0), mark, || 0), None);
        assert_eq!(breaker.waiting(), 0);
    }
    assert!(breaker.settle(Permit::ordinary(0), GOOD, || 0).is_some());
}

#[test]
fn a_good_result_can_open_where_better_ones_leave_with_time() {
    let numbers = numbers("window = \"32s\"\nminimum_calls = 2\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&numbers, 0);
    let settle = |mark, at: u64| breaker.settle(Permit::ordinary(0), mark, || at * 1_000 * MS);
    for (mark, at) in [(GOOD, 0), (GOOD, 0), (GOOD, 0), (BAD, 20), (GOOD, 20)] {
        assert_eq!(settle(mark, at), None);
    }
    assert_eq!(breaker.waiting(), 1);
    assert_eq!(settle(GOOD, 31), None, "three of those before it still count");
    assert_eq!(breaker.read(33_000 * MS).0.totals.calls, 3);
    // The two that are good leave last, so only a threshold between lets one open.
    let made = settle(BAD, 33);
    assert_eq!(made.map(|made| (made.totals.calls, made.totals.failed)), Some((4, 2)));
}

#[test]
fn a_window_is_clean_with_the_very_result_that_makes_it_so() {
    let numbers = numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&numbers, 0);
    for round in 0..3 {
        for _ in 0..9 {
            assert_eq!(breaker.settle(Permit::ordinary(0), GOOD, || 0), None);
            assert!(!breaker.is_clean_in(0));
        }
        assert_eq!(breaker.waiting(), 9, "round {round}");
        assert_eq!(breaker.settle(Permit::ordinary(0), GOOD, || 0), None);
        assert!(breaker.is_clean_in(0));
        assert_eq!(breaker.settle(Permit::ordinary(0), BAD, || 0), None);
    }
}

#[test]
fn who_looks_in_between_does_not_put_off_that_the_window_is_clean() {
    let numbers = numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&numbers, 0);
    for good in 1..=10 {
        assert_eq!(breaker.settle(Permit::ordinary(0), GOOD, || 0), None);
        assert_eq!(breaker.is_clean_in(0), good == 10, "after {good}");
        breaker.peek(0);
    }
}

#[test]
fn the_clock_is_read_only_where_a_result_may_wait_and_not_for_ever() {
    let calls = numbers("window = \"10 calls\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    assert!(Breaker::new(&calls, 0).settle_good(0, || unreachable!("a window of calls has no time")));
    let time = numbers("window = \"32s\"\nminimum_calls = 4\nfailure_rate = 0.5").unwrap();
    let breaker = Breaker::new(&time, 0);
    assert!(!breaker.settle_good(0, || unreachable!("before the first result there is no room")));
    assert_eq!(breaker.settle(Permit::ordinary(0), GOOD, || 0), None);
    assert!(breaker.settle_good(0, || 0));
}

#[test]
fn no_result_is_lost_among_threads() {
    for (window, held) in [("100000 calls", 20_000), ("33 calls", 33), ("1h", 20_000)] {
        let numbers = numbers(&format!("window = \"{window}\"\nminimum_calls = 5\nfailure_rate = 1.0")).unwrap();
        let breaker = Breaker::new(&numbers, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..5_000 {
                        let mark = if n % 50 == 49 { BAD } else { GOOD };
                        assert_eq!(breaker.settle(Permit::ordinary(0), mark, || 1), None);
                        if n % 70 == 0 {
                            breaker.peek(1);
                        }
                    }
                });
            }
        });
        let totals = breaker.peek(1).totals;
        assert_eq!(totals.calls, held, "{window}");
        if held == 20_000 {
            assert_eq!((totals.failed, totals.bad), (400, 400), "{window}");
        }
    }
}
