//! The breaker of the plain telling.

use std::collections::VecDeque;

use crate::numbers::{Breaker as Numbers, Window};

/// The contract says ten or more; the runtime has these, laid from the first result on.
const SLICES: u64 = 32;

/// In a millisecond.
const NANOS: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: State,
    /// Grows with every change of state; a result of an earlier one changes nothing.
    period: u64,
    window: VecDeque<Counted>,
    /// From where the slices of a window of time are laid: its first result.
    origin: u64,
    run: u32,
    openings: u32,
    /// Attempts that are not over, of whatever period, and were admitted while `in_flight` was a number.
    running: u32,
    /// Transitions that nobody has taken notice of.
    pub(crate) made: Vec<String>,
    /// Results of samples, likewise.
    pub(crate) samples: Vec<String>,
    /// Of the last transition.
    pub(crate) cause: Option<String>,
    /// When it left closed, however often it was half-open since.
    left: Option<u64>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Open {
        since: u64,
        until: u64,
        sampled: u64,
    },
    HalfOpen {
        /// Whose, and when they are cut.
        probes: Vec<(usize, u64)>,
        successes: u32,
        /// 0 is that of the probes; the ramp's begin at 1.
        step: usize,
        arrivals: u32,
    },
}

#[derive(Debug)]
struct Counted {
    at: u64,
    failed: bool,
    slow: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Permit {
    /// `None`: a sample, which changes nothing.
    period: Option<u64>,
    counted: bool,
    probe: bool,
}

impl Permit {
    pub(crate) fn is_probe(self) -> bool {
        self.probe
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Bad,
    Neither,
}

impl Breaker {
    pub(crate) fn word(&self) -> &'static str {
        match self.state {
            State::Closed => "closed",
            State::Open { .. } => "open",
            State::HalfOpen { .. } => "half_open",
        }
    }

    pub(crate) fn open_left(&self, now: u64) -> Option<u64> {
        match self.state {
            State::Open { until, .. } => Some(until - now),
            _ => None,
        }
    }

    /// How long it has been away from closed.
    pub(crate) fn away(&self, now: u64) -> u64 {
        self.left.map_or(0, |left| now - left)
    }

    /// What the clock alone changes: a probe beyond its time has failed, at the end of it, and open ends.
    pub(crate) fn tick(&mut self, numbers: &Numbers, now: u64) {
        if let State::HalfOpen { probes, .. } = &self.state
            && let Some(late) = probes
                .iter()
                .map(|(_, limit)| *limit)
                .min()
                .filter(|limit| *limit < now)
        {
            self.open(numbers, "probe_timed_out", late);
        }
        if let State::Open { until, .. } = self.state
            && now >= until
        {
            let fresh = State::HalfOpen {
                probes: Vec::new(),
                successes: 0,
                step: 0,
                arrivals: 0,
            };
            self.enter(fresh, "cooldown_over");
        }
    }

    /// What is left of open, for a call that would have to wait.
    pub(crate) fn refuses(&mut self, numbers: &Numbers, now: u64) -> Option<u64> {
        self.tick(numbers, now);
        self.open_left(now)
    }

    pub(crate) fn admit(&mut self, numbers: &Numbers, id: usize, limit: u64, now: u64) -> Result<Permit, String> {
        self.tick(numbers, now);
        let counted = numbers.in_flight.is_some();
        let mut permit = Permit {
            period: Some(self.period),
            counted,
            probe: matches!(self.state, State::HalfOpen { .. }),
        };
        match &mut self.state {
            State::Closed => {
                self.running += u32::from(counted);
                if numbers.in_flight.is_some_and(|most| self.running >= most) {
                    self.open(numbers, "in_flight", now);
                }
                return Ok(permit);
            }
            State::Open { until, sampled, .. } => {
                if numbers.sample_every.is_none_or(|every| now < *sampled + every) {
                    return Err(format!("open {}", *until - now));
                }
                *sampled = now;
                permit.period = None;
            }
            State::HalfOpen {
                probes,
                successes,
                step: 0,
                ..
            } => {
                let room = numbers.probes.min(numbers.needed.saturating_sub(*successes));
                if probes.len() >= room as usize {
                    let last = probes.iter().map(|(_, limit)| *limit).max().unwrap_or(now);
                    return Err(format!("probes_busy {}", last - now));
                }
                probes.push((id, limit));
            }
            State::HalfOpen {
                probes, step, arrivals, ..
            } => {
                let turn = *arrivals % numbers.ramp[*step - 1] == 0;
                *arrivals += 1;
                if !turn {
                    return Err("probes_busy 1000".into());
                }
                probes.push((id, limit));
            }
        }
        self.running += u32::from(counted);
        Ok(permit)
    }

    /// What an attempt would be told, if it were rejected.
    pub(crate) fn would_refuse(&self, numbers: &Numbers, now: u64) -> Option<u64> {
        match &self.state {
            State::Closed => None,
            // A sample is a measurement and no promise.
            State::Open { until, .. } => Some(until - now),
            State::HalfOpen {
                probes,
                successes,
                step: 0,
                ..
            } => {
                let room = numbers.probes.min(numbers.needed.saturating_sub(*successes));
                let last = probes.iter().map(|(_, limit)| *limit).max().unwrap_or(now);
                (probes.len() >= room as usize).then(|| last - now)
            }
            State::HalfOpen { step, arrivals, .. } => {
                (!arrivals.is_multiple_of(numbers.ramp[*step - 1])).then_some(1_000)
            }
        }
    }

    /// A dropped attempt.
    pub(crate) fn give_back(&mut self, id: usize, permit: Option<Permit>) {
        let Some(permit) = permit else { return };
        self.running -= u32::from(permit.counted);
        if let State::HalfOpen { probes, .. } = &mut self.state
            && permit.period == Some(self.period)
        {
            probes.retain(|(probe, _)| *probe != id);
        }
    }

    /// An attempt is over: what it was, whether it was cut, and whether it was slow.
    pub(crate) fn settle(
        &mut self,
        numbers: &Numbers,
        id: usize,
        permit: Permit,
        (verdict, cut, slow): (Verdict, bool, bool),
        now: u64,
    ) {
        self.give_back(id, Some(permit));
        if permit.period.is_none() {
            self.samples.push(format!("slow {slow}"));
        }
        if verdict == Verdict::Neither || permit.period != Some(self.period) {
            return;
        }
        let failed = verdict == Verdict::Bad;
        match &mut self.state {
            State::Open { .. } => unreachable!("what open admits is a sample"),
            State::Closed => {
                self.counts(numbers, now);
                if self.window.is_empty() {
                    self.origin = now;
                }
                self.window.push_back(Counted { at: now, failed, slow });
                self.run = if failed { self.run + 1 } else { 0 };
                if let Some(cause) = self.trips(numbers, now) {
                    self.open(numbers, cause, now);
                }
            }
            State::HalfOpen { .. } if cut => self.open(numbers, "probe_timed_out", now),
            State::HalfOpen { .. } if failed => self.open(numbers, "probe_failed", now),
            State::HalfOpen { .. } if slow => self.open(numbers, "probe_slow", now),
            State::HalfOpen {
                successes,
                step,
                arrivals,
                ..
            } => {
                *successes += 1;
                if *successes < numbers.needed {
                    return;
                }
                (*successes, *arrivals) = (0, 0);
                *step += 1;
                if *step > numbers.ramp.len() {
                    let cause = if numbers.ramp.is_empty() {
                        "probes_succeeded"
                    } else {
                        "ramp_done"
                    };
                    self.close(cause);
                }
            }
        }
    }

    /// Results in the window, failures and slow ones among them.
    pub(crate) fn counts(&mut self, numbers: &Numbers, now: u64) -> (usize, usize, usize) {
        match numbers.window {
            Window::Calls(calls) => {
                while self.window.len() > calls {
                    self.window.pop_front();
                }
            }
            // In slices, ten or more.
            Window::Time(time) => {
                let slice = |at: u64| (at - self.origin) * NANOS / (time * NANOS).div_ceil(SLICES);
                let newest = slice(now);
                self.window.retain(|counted| newest - slice(counted.at) < SLICES);
            }
        }
        let count = |of: fn(&Counted) -> bool| self.window.iter().filter(|counted| of(counted)).count();
        (self.window.len(), count(|it| it.failed), count(|it| it.slow))
    }

    pub(crate) fn reload(&mut self, old: &Numbers, new: &Numbers, now: u64) {
        self.tick(old, now);
        if old.window != new.window {
            self.window.clear();
        }
        let cooldown = self.cooldown(new);
        if let State::Open { since, until, .. } = &mut self.state {
            *until = *since + cooldown;
        }
    }

    pub(crate) fn trip(&mut self, numbers: &Numbers, now: u64) {
        self.open(numbers, "trip", now);
    }

    pub(crate) fn reset(&mut self, numbers: &Numbers, now: u64) {
        self.tick(numbers, now);
        if self.word() == "closed" {
            (self.run, self.openings) = (0, 0);
            self.window.clear();
        } else {
            self.close("reset");
        }
    }

    fn trips(&mut self, numbers: &Numbers, now: u64) -> Option<&'static str> {
        let (calls, failed, slow) = self.counts(numbers, now);
        let bad = self.window.iter().filter(|it| it.failed || it.slow).count();
        #[allow(clippy::cast_precision_loss)] // a few calls
        let reaches = |count: usize, rate: Option<f64>| {
            calls >= numbers.minimum && rate.is_some_and(|rate| count as f64 / calls as f64 >= rate)
        };
        if reaches(failed, numbers.failure_rate) {
            Some("failure_rate")
        } else if reaches(slow, numbers.slow_rate) {
            Some("slow_rate")
        } else if reaches(bad, numbers.bad_rate) {
            Some("bad_rate")
        } else if numbers.consecutive.is_some_and(|most| self.run >= most) {
            Some("consecutive_failures")
        } else {
            None
        }
    }

    fn cooldown(&self, numbers: &Numbers) -> u64 {
        let grown = numbers
            .cooldown
            .saturating_mul(numbers.factor.saturating_pow(self.openings.saturating_sub(1)));
        grown.min(numbers.longest)
    }

    fn open(&mut self, numbers: &Numbers, cause: &str, now: u64) {
        self.openings += 1;
        let until = now + self.cooldown(numbers);
        self.enter(
            State::Open {
                since: now,
                until,
                sampled: now,
            },
            cause,
        );
    }

    fn close(&mut self, cause: &str) {
        (self.run, self.openings) = (0, 0);
        self.window.clear();
        self.enter(State::Closed, cause);
    }

    fn enter(&mut self, state: State, cause: &str) {
        let from = self.word();
        match state {
            State::Closed => self.left = None,
            State::Open { since, .. } => self.left = self.left.or(Some(since)),
            State::HalfOpen { .. } => {}
        }
        self.state = state;
        self.period += 1;
        self.cause = Some(cause.to_owned());
        self.made.push(format!("{from}>{} {cause}", self.word()));
    }
}
