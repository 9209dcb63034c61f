//! Judging with what other instances counted, where the own window holds too little to judge alone.

use resilience_policy::Window as Shape;

use super::{Machine, Transition, tripped};
use crate::layer::breaker::window::Totals;
use crate::words::State;

/// What a window holds, for who shares it with others.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) shape: Shape,
    pub(crate) totals: Totals,
    /// Fewer than `minimum_calls`: it cannot judge alone.
    pub(crate) is_quiet: bool,
    pub(crate) is_closed: bool,
    pub(crate) period: u64,
    /// When the window was last emptied: what others counted before belongs to a time that is over.
    pub(crate) emptied: u64,
    /// The totals by when each part of them began; nothing where results have no time.
    pub(crate) stretches: Option<Vec<(u64, Totals)>>,
}

impl Machine {
    #[inline]
    pub(crate) fn look(&mut self, now: u64) -> Look {
        let totals = self.window.totals(now);
        Look {
            shape: self.window.shape(),
            totals,
            is_quiet: totals.calls < self.numbers.minimum_calls,
            is_closed: self.state() == State::Closed,
            period: self.period,
            emptied: self.emptied,
            stretches: self.window.stretches(now),
        }
    }

    /// Opens if the own results of `period` and those of `others` together say so, with the own ones of that moment. They
    /// are looked at together only where the own ones are too few, and a rate only if one of the own results is of its
    /// sort: what others see alone opens nothing here.
    #[inline]
    pub(crate) fn judge_with(&mut self, others: Totals, period: u64, now: u64) -> Option<(Transition, Totals)> {
        let own = self.window.totals(now);
        if self.period != period || self.state() != State::Closed || own.calls >= self.numbers.minimum_calls {
            return None;
        }
        let all = own.and(others);
        let seen_here = |own: u32, all: u32| if own > 0 { all } else { 0 };
        let judged = Totals {
            calls: all.calls,
            failed: seen_here(own.failed, all.failed),
            slow: seen_here(own.slow, all.slow),
            bad: seen_here(own.bad, all.bad),
        };
        // A run of failures is one instance's own.
        let cause = tripped(judged, 0, &self.numbers)?;
        let made = self.open(cause, now, now);
        Some((Transition { totals: all, ..made }, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::breaker::state::Mark;
    use crate::words::Cause;

    fn machine(numbers: &str) -> Machine {
        let file = format!(
            "version = 1\n[dependency.a]\nfail = \"closed\"\ntimeout = \"1s\"\n[dependency.a.breaker]\ncooldown_jitter = 0.0\n{numbers}\n"
        );
        let policy = resilience_policy::Policy::from_toml(&file).unwrap();
        Machine::new(policy.dependency("a").unwrap().breaker.as_ref().unwrap(), 1, || 0.5)
    }

    fn settle(machine: &mut Machine, failed: bool, slow: bool) {
        let permit = machine.admit(2, 3).unwrap();
        let mark = if failed {
            Mark::Failure { slow, timed_out: false }
        } else {
            Mark::Success { slow }
        };
        assert_eq!(machine.settle(permit, mark, || 2), None);
    }

    fn judge(machine: &mut Machine, others: [u32; 4]) -> Option<(Cause, Totals, Totals)> {
        let period = machine.period();
        let judged = machine.judge_with(others.into(), period, 4);
        judged.map(|(made, own)| (made.cause, own, made.totals))
    }

    #[test]
    fn others_make_up_for_calls_that_are_missing_and_never_open_alone() {
        let mut quiet = machine("window = \"60s\"\nminimum_calls = 6\nfailure_rate = 0.5");
        assert_eq!(judge(&mut quiet, [9, 9, 0, 9]), None, "nothing failed here");
        settle(&mut quiet, false, false);
        assert_eq!(judge(&mut quiet, [9, 9, 0, 9]), None, "what there is here is good");
        settle(&mut quiet, true, false);
        assert_eq!(judge(&mut quiet, [3, 3, 0, 3]), None, "five are not six");
        assert_eq!(judge(&mut quiet, [5, 2, 0, 2]), None, "three of seven are not half");
        assert_eq!(
            judge(&mut quiet, [4, 2, 0, 2]),
            Some((Cause::FailureRate, [2, 1, 0, 1].into(), [6, 3, 0, 3].into()))
        );
        assert_eq!(judge(&mut quiet, [9, 9, 0, 9]), None, "it is open");
    }

    #[test]
    fn who_can_judge_alone_does() {
        let mut busy = machine("window = \"60s\"\nminimum_calls = 4\nfailure_rate = 0.5");
        for failed in [true, false, false, false] {
            settle(&mut busy, failed, false);
        }
        assert_eq!(judge(&mut busy, [9, 9, 0, 9]), None);
    }

    #[test]
    fn each_rate_needs_an_own_result_of_its_sort() {
        let numbers = "window = \"60s\"\nminimum_calls = 4\nfailure_rate = 0.5\nslow_after = \"1ms\"\nslow_rate = 0.5\nbad_rate = 0.5";
        let mut quiet = machine(numbers);
        settle(&mut quiet, false, true);
        let judged = judge(&mut quiet, [5, 5, 1, 5]);
        assert_eq!(
            judged.map(|judged| judged.0),
            Some(Cause::BadRate),
            "failures are others' alone"
        );
        let mut quiet = machine(numbers);
        settle(&mut quiet, false, true);
        let judged = judge(&mut quiet, [5, 0, 5, 5]);
        assert_eq!(judged.map(|judged| judged.0), Some(Cause::SlowRate));
    }

    #[test]
    fn a_run_of_failures_is_not_pooled_and_a_period_that_is_over_is_not_judged() {
        let mut quiet = machine("window = \"60s\"\nfailure_rate = false\nconsecutive_failures = 3");
        settle(&mut quiet, true, false);
        assert_eq!(judge(&mut quiet, [90, 90, 0, 90]), None);
        let mut quiet = machine("window = \"60s\"\nminimum_calls = 2");
        settle(&mut quiet, true, false);
        let before = quiet.period();
        let _ = quiet.trip(Cause::Trip, 3);
        let _ = quiet.reset(Cause::Reset, 3);
        settle(&mut quiet, true, false);
        assert_eq!(quiet.judge_with([9, 9, 0, 9].into(), before, 4), None);
        assert_eq!(quiet.look(4).emptied, 3);
    }
}
