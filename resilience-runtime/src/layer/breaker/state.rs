//! The breaker as a pure machine: (state, event, now) in, decision and transition out. No lock, no
//! clock, no runtime; the shell in `breaker.rs` owns those.

mod half_open;
mod pooled;

use std::time::Duration;

use resilience_policy::Breaker as Numbers;

use half_open::HalfOpen;
pub(crate) use pooled::Look;

pub(super) use super::window::Room;
use super::window::{Totals, Window};
use crate::clock::nanos;
use crate::words::{Cause, State};

/// Leave to make one attempt. It carries the period that gave it; a result of another period
/// changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) struct Permit {
    pub(crate) period: u64,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ordinary,
    /// One of the attempts that decide a half-open state, by its number.
    Probe(u64),
    /// Measured while open; decides nothing.
    Sample,
}

/// Why an attempt was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Open { retry_after: u64 },
    ProbesBusy { retry_after: u64 },
}

/// How an attempt ended, as far as the breaker cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Success {
        slow: bool,
    },
    Failure {
        slow: bool,
        timed_out: bool,
    },
    /// Neither: throttled, ignored, a failure that does not count, a dropped call.
    Uncounted,
}

/// One change of state, with what was known at that moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Transition {
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) cause: Cause,
    pub(crate) at: u64,
    pub(crate) totals: Totals,
    /// The cooldown drawn, when it opened.
    pub(crate) cooldown: Option<u64>,
}

/// The transitions that one step can make; a clock that jumped may pass several ends at once.
pub(crate) type Transitions = [Option<Transition>; 3];

#[derive(Debug)]
pub(crate) struct Machine {
    /// The numbers in force. They belong to the breaker, not to a call: a reload changes them for all.
    numbers: Numbers,
    phase: Phase,
    period: u64,
    window: Window,
    /// Failures in a row.
    run: u32,
    /// Openings in a row.
    openings: u32,
    cause: Option<Cause>,
    since: u64,
    /// When it left closed, however often it was half-open since.
    left_closed: Option<u64>,
    late: u64,
    /// When the window was last emptied because the state became, or was made, a new one.
    emptied: u64,
    probe_number: u64,
    /// The list of the probes of half-open times, kept empty between them: only the first one allocates.
    probes: Vec<(u64, u64)>,
    /// Uniform in [0, 1); drawn once per opening.
    draw: fn() -> f64,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open {
        opened: u64,
        until: u64,
        draw: f64,
        sampled: u64,
    },
    HalfOpen(HalfOpen),
}

/// What a reader sees without changing anything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) state: State,
    pub(crate) cause: Option<Cause>,
    pub(crate) since: u64,
    /// When it left closed, if it is not closed.
    pub(crate) left_closed: Option<u64>,
    pub(crate) totals: Totals,
    pub(crate) retry_after: Option<u64>,
}

impl Machine {
    pub(crate) fn new(numbers: &Numbers, now: u64, draw: fn() -> f64) -> Self {
        Self {
            numbers: numbers.clone(),
            phase: Phase::Closed,
            period: 0,
            window: Window::new(numbers.window),
            run: 0,
            openings: 0,
            cause: None,
            since: now,
            left_closed: None,
            late: 0,
            emptied: 0,
            probe_number: 0,
            probes: Vec::new(),
            draw,
        }
    }

    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Open { .. } => State::Open,
            Phase::HalfOpen(_) => State::HalfOpen,
        }
    }

    /// Whether a good result would change nothing: the window is full of good ones. Then no run of failures is under way
    /// either, because the last result is in the window.
    pub(crate) fn is_clean(&self) -> bool {
        matches!(self.phase, Phase::Closed) && self.window.is_clean()
    }

    /// How many good, quick results may go by before they have to be recorded, because none of them opens it or changes
    /// what the others mean: they make no rate higher than it was, and end a run of failures.
    pub(crate) fn room(&self) -> Room {
        let totals = self.window.latest();
        // As if the minimum were reached: a rate that it holds back may not be reached by good results alone.
        let looked_at = Totals {
            calls: totals.calls.max(self.numbers.minimum_calls),
            ..totals
        };
        if matches!(self.phase, Phase::Closed) && tripped(looked_at, 0, &self.numbers).is_none() {
            self.window.room()
        } else {
            Room::default()
        }
    }

    /// Records the good, quick results that went by since [`room`](Self::room) was made for them.
    pub(crate) fn settle_good(&mut self, results: u32) {
        if results > 0 {
            self.run = 0;
            self.window.push_good(results);
        }
    }

    /// Whether an admission has to look further than at the state.
    pub(crate) fn is_intricate(&self) -> bool {
        self.numbers.in_flight.is_some() || self.numbers.sample_every.is_some()
    }

    #[cfg(feature = "simulation")]
    pub(crate) fn is_ramping(&self) -> bool {
        matches!(&self.phase, Phase::HalfOpen(half) if half.step.is_some())
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    pub(crate) fn period(&self) -> u64 {
        self.period
    }

    /// The instant at which open ends, while open.
    pub(crate) fn open_until(&self) -> u64 {
        match self.phase {
            Phase::Open { until, .. } => until,
            _ => 0,
        }
    }

    /// What the clock alone has changed: a cooldown that is over, a probe whose time is up.
    pub(crate) fn tick(&mut self, now: u64) -> Transitions {
        let mut made = Transitions::default();
        for place in &mut made {
            *place = self.tick_once(now);
            if place.is_none() {
                break;
            }
        }
        made
    }

    fn tick_once(&mut self, now: u64) -> Option<Transition> {
        match &self.phase {
            Phase::Closed => None,
            Phase::Open { until, .. } => {
                let until = *until;
                (now >= until).then(|| {
                    let next = Phase::HalfOpen(HalfOpen::with(std::mem::take(&mut self.probes)));
                    self.change(next, Cause::CooldownOver, until, None, now)
                })
            }
            Phase::HalfOpen(half) => {
                let first_end = half.running.iter().map(|probe| probe.1).min()?;
                (now > first_end).then(|| self.open(Cause::ProbeTimedOut, first_end, now))
            }
        }
    }

    /// Asks for leave to make an attempt that may take until `end`. Call [`tick`](Self::tick) first.
    pub(crate) fn admit(&mut self, now: u64, end: u64) -> Result<Permit, Refusal> {
        let (period, numbers) = (self.period, &self.numbers);
        match &mut self.phase {
            Phase::Closed => Ok(Permit {
                period,
                kind: Kind::Ordinary,
            }),
            Phase::Open { until, sampled, .. } => {
                if let Some(every) = numbers.sample_every
                    && now.saturating_sub(*sampled) >= nanos(every)
                {
                    *sampled = now;
                    return Ok(Permit {
                        period,
                        kind: Kind::Sample,
                    });
                }
                Err(Refusal::Open {
                    retry_after: until.saturating_sub(now),
                })
            }
            Phase::HalfOpen(half) => {
                half.admit(now, numbers)?;
                self.probe_number += 1;
                half.running.push((self.probe_number, end));
                Ok(Permit {
                    period,
                    kind: Kind::Probe(self.probe_number),
                })
            }
        }
    }

    /// What [`admit`](Self::admit) would say, without taking anything.
    pub(crate) fn would_admit(&self, now: u64) -> Result<(), Refusal> {
        match &self.phase {
            Phase::Closed => Ok(()),
            Phase::Open { until, .. } => Err(Refusal::Open {
                retry_after: until.saturating_sub(now),
            }),
            Phase::HalfOpen(half) => half.has_room(now, &self.numbers),
        }
    }

    /// Takes the result of an attempt. The clock is read at most once, and not at all for a good
    /// result in a closed window of calls: that is the path of nearly every call.
    pub(crate) fn settle(&mut self, permit: Permit, mark: Mark, clock: impl FnOnce() -> u64) -> Option<Transition> {
        if permit.period != self.period {
            self.late += 1;
            return None;
        }
        match &mut self.phase {
            Phase::Closed => self.settle_closed(mark, clock),
            Phase::Open { .. } => None,
            Phase::HalfOpen(half) => {
                let Kind::Probe(number) = permit.kind else { return None };
                half.running.retain(|probe| probe.0 != number);
                let now = clock();
                match mark {
                    Mark::Uncounted => None,
                    Mark::Failure { timed_out: true, .. } => Some(self.open(Cause::ProbeTimedOut, now, now)),
                    Mark::Failure { .. } => Some(self.open(Cause::ProbeFailed, now, now)),
                    Mark::Success { slow: true } => Some(self.open(Cause::ProbeSlow, now, now)),
                    Mark::Success { slow: false } => {
                        let cause = half.succeeded(&self.numbers)?;
                        Some(self.close(cause, now))
                    }
                }
            }
        }
    }

    fn settle_closed(&mut self, mark: Mark, clock: impl FnOnce() -> u64) -> Option<Transition> {
        let (failed, slow) = match mark {
            Mark::Uncounted => return None,
            Mark::Success { slow } => (false, slow),
            Mark::Failure { slow, .. } => (true, slow),
        };
        self.run = if failed { self.run.saturating_add(1) } else { 0 };
        if let Some(totals) = self.window.push_untimed(failed, slow) {
            let cause = tripped(totals, self.run, &self.numbers)?;
            let now = clock();
            return Some(self.open(cause, now, now));
        }
        let now = clock();
        let totals = self.window.push(now, failed, slow);
        let cause = tripped(totals, self.run, &self.numbers)?;
        Some(self.open(cause, now, now))
    }

    /// Opens now, whatever the state. An opening from half-open or open counts as one more in a row.
    pub(crate) fn trip(&mut self, cause: Cause, now: u64) -> Transition {
        self.open(cause, now, now)
    }

    /// Back to closed, with nothing remembered.
    pub(crate) fn reset(&mut self, cause: Cause, now: u64) -> Option<Transition> {
        let made = (self.state() != State::Closed).then(|| self.close(cause, now));
        self.window.clear();
        self.emptied = now;
        self.run = 0;
        self.openings = 0;
        made
    }

    /// New numbers: a changed window starts empty, an open state ends at opened-at plus the new
    /// cooldown, with the spread drawn when it opened. Says whether the window was emptied.
    pub(crate) fn renumber(&mut self, numbers: &Numbers) -> bool {
        if let Phase::Open {
            opened, until, draw, ..
        } = &mut self.phase
        {
            *until = opened.saturating_add(cooldown(numbers, self.openings, *draw));
        }
        let changed = self.window.shape() != numbers.window;
        if changed {
            self.window = Window::new(numbers.window);
        }
        self.numbers = numbers.clone();
        changed
    }

    #[inline]
    pub(crate) fn read(&mut self, now: u64) -> Reading {
        let retry_after = match self.would_admit(now) {
            Ok(()) => None,
            Err(Refusal::Open { retry_after } | Refusal::ProbesBusy { retry_after }) => Some(retry_after),
        };
        Reading {
            state: self.state(),
            cause: self.cause,
            since: self.since,
            left_closed: self.left_closed,
            totals: self.window.totals(now),
            retry_after,
        }
    }

    #[cfg(test)]
    fn late(&self) -> u64 {
        self.late
    }

    fn open(&mut self, cause: Cause, at: u64, now: u64) -> Transition {
        self.openings = self.openings.saturating_add(1);
        let draw = (self.draw)();
        let cooldown = cooldown(&self.numbers, self.openings, draw);
        let next = Phase::Open {
            opened: at,
            until: at.saturating_add(cooldown),
            draw,
            sampled: at,
        };
        self.change(next, cause, at, Some(cooldown), now)
    }

    fn close(&mut self, cause: Cause, now: u64) -> Transition {
        let made = self.change(Phase::Closed, cause, now, None, now);
        self.window.clear();
        self.emptied = now;
        self.run = 0;
        self.openings = 0;
        made
    }

    fn change(&mut self, next: Phase, cause: Cause, at: u64, cooldown: Option<u64>, now: u64) -> Transition {
        let from = self.state();
        if let Phase::HalfOpen(mut half) = std::mem::replace(&mut self.phase, next) {
            half.running.clear();
            self.probes = half.running;
        }
        self.period += 1;
        self.cause = Some(cause);
        self.since = at;
        self.left_closed = match self.state() {
            State::Closed => None,
            State::Open | State::HalfOpen => Some(self.left_closed.unwrap_or(at)),
        };
        Transition {
            from,
            to: self.state(),
            cause,
            at,
            totals: self.window.totals(now),
            cooldown,
        }
    }
}

fn tripped(totals: Totals, run: u32, numbers: &Numbers) -> Option<Cause> {
    // A window without a bad result cannot trip anything.
    if totals.bad == 0 {
        return None;
    }
    if totals.calls >= numbers.minimum_calls {
        let reached = |count: u32, rate: Option<f64>| {
            // The quotient, not the product: k/n rounds to the very number that the file's `k/n` reads as.
            rate.is_some_and(|rate| f64::from(count) / f64::from(totals.calls) >= rate)
        };
        if reached(totals.failed, numbers.failure_rate) {
            return Some(Cause::FailureRate);
        }
        if reached(totals.slow, numbers.slow_rate) {
            return Some(Cause::SlowRate);
        }
        if reached(totals.bad, numbers.bad_rate) {
            return Some(Cause::BadRate);
        }
    }
    numbers
        .consecutive_failures
        .filter(|limit| run >= *limit)
        .map(|_| Cause::ConsecutiveFailures)
}

/// `cooldown` × `cooldown_factor`^(openings − 1), at most `cooldown_max`, spread by ± `cooldown_jitter`.
fn cooldown(numbers: &Numbers, openings: u32, draw: f64) -> u64 {
    let exponent = i32::try_from(openings.saturating_sub(1)).unwrap_or(i32::MAX);
    let grown = numbers.cooldown.as_secs_f64() * numbers.cooldown_factor.powi(exponent);
    let longest = numbers.cooldown_max.as_secs_f64();
    // Written so that an overflow to infinity is cut too.
    let base = if grown < longest { grown } else { longest };
    if numbers.cooldown_jitter == 0.0 && exponent == 0 {
        return nanos(numbers.cooldown.min(numbers.cooldown_max));
    }
    let spread = base * (1.0 + numbers.cooldown_jitter * (2.0 * draw - 1.0));
    nanos(Duration::try_from_secs_f64(spread).unwrap_or(numbers.cooldown_max))
}

/// The rate of `count` in the window, `None` below the minimum.
pub(crate) fn rate(count: u32, totals: Totals, numbers: &Numbers) -> Option<f64> {
    (totals.calls >= numbers.minimum_calls.max(1)).then(|| f64::from(count) / f64::from(totals.calls))
}

#[cfg(test)]
mod tests;
