//! The series of one name: their names and labels, and their values read from what the snapshot reads too. Names and
//! labels are what operators' alerts and dashboards are written against.
//!
//! What an operation shares with its dependency stands under the dependency's name alone, so that sums count it once.

use resilience_policy::{FailureKind, Mode};

use crate::attempts::Ending;
use crate::clock;
use crate::dependency::Pinned;
use crate::event::Served;
use crate::fallback::{Kind, REASONS};
use crate::history::CHANGES;
use crate::layer::breaker::rate;
use crate::rejection::Reason;
use crate::tally::{CallOutcome, OUTCOMES, SERVED};
use crate::words::State;

/// A series beside its `dependency` and `instance`.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) labels: Vec<(&'static str, &'static str)>,
}

const PROBES: usize = 7;

/// How many counters a name has at most.
pub(crate) const COUNTERS: usize = OUTCOMES * SERVED
    + Ending::COUNT
    + Reason::ALL.len()
    + CHANGES.len()
    + PROBES
    + 1
    + Kind::ALL.len() * REASONS.len();

/// How many gauges.
pub(crate) const GAUGES: usize = 3 + 8 + 4 + 1;

/// The counters, in the order of their values.
pub(crate) fn counter_series() -> Vec<Series> {
    let mut all = Vec::with_capacity(COUNTERS);
    let mut add = |name, labels: &[(&'static str, &'static str)]| {
        all.push(Series {
            name,
            labels: labels.to_vec(),
        });
    };
    for outcome in CallOutcome::ALL {
        for served in Served::ALL {
            let labels = [("outcome", outcome.as_str()), ("served", served.as_str())];
            add("resilience_calls_total", &labels);
        }
    }
    for ending in Ending::ALL {
        let labels = [
            ("outcome", ending.outcome()),
            ("kind", ending.kind().unwrap_or_default()),
        ];
        add("resilience_attempts_total", &labels);
    }
    for reason in Reason::ALL {
        add("resilience_rejections_total", &[("reason", reason.as_str())]);
    }
    for (from, to, cause) in CHANGES {
        let labels = [("from", from.as_str()), ("to", to.as_str()), ("cause", cause.as_str())];
        add("resilience_breaker_transitions_total", &labels);
    }
    for outcome in probe_outcomes() {
        add("resilience_probes_total", &[("outcome", outcome.outcome())]);
    }
    add("resilience_retries_total", &[]);
    for kind in Kind::ALL {
        for reason in REASONS {
            let labels = [("kind", kind.as_str()), ("reason", reason)];
            add("resilience_fallbacks_total", &labels);
        }
    }
    all
}

/// The gauges, in the order of their values.
pub(crate) fn gauge_series() -> Vec<Series> {
    let of = |name, label: Option<(&'static str, &'static str)>| Series {
        name,
        labels: label.into_iter().collect(),
    };
    let states = STATES.map(|state| of("resilience_breaker_state", Some(("state", state.as_str()))));
    let plain = [
        "resilience_breaker_open_seconds",
        "resilience_failure_rate",
        "resilience_slow_rate",
        "resilience_bulkhead_in_flight",
        "resilience_bulkhead_limit",
        "resilience_bulkhead_waiting",
        "resilience_retry_budget",
        "resilience_degraded_ratio",
    ];
    let modes = Mode::ALL
        .iter()
        .map(|mode| of("resilience_mode", Some(("mode", mode.as_str()))));
    states
        .into_iter()
        .chain(plain.map(|name| of(name, None)))
        .chain(modes)
        .chain([of("resilience_override_left_seconds", None)])
        .collect()
}

const STATES: [State; 3] = [State::Closed, State::Open, State::HalfOpen];

fn probe_outcomes() -> [Ending; PROBES] {
    [
        Ending::Success,
        Ending::Business,
        Ending::Failure(FailureKind::Other),
        Ending::Throttled,
        Ending::Ignored,
        Ending::Cancelled,
        Ending::Panicked,
    ]
}

/// The values of one name's series; nothing for a series that it does not have. A count that is not nothing is shown
/// all the same.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) counters: [u64; COUNTERS],
    pub(crate) has: [bool; COUNTERS],
    pub(crate) gauges: [Option<f64>; GAUGES],
}

impl Figures {
    pub(crate) fn of(pinned: &Pinned, forms: &[&str]) -> Self {
        let mut figures = Self {
            counters: [0; COUNTERS],
            has: [true; COUNTERS],
            gauges: [None; GAUGES],
        };
        figures.count(pinned, forms);
        figures.look(pinned);
        figures
    }

    fn count(&mut self, pinned: &Pinned, forms: &[&str]) {
        let (own, settings) = (&pinned.own, &pinned.settings);
        let ended = own.tally.ended();
        let mut counts = own.attempts.counts();
        counts.ended[Ending::Success.place()] = ended[CallOutcome::Success as usize].iter().sum();
        counts.ended[Ending::Business.place()] = ended[CallOutcome::Business as usize].iter().sum();
        let has_breaker = settings.breaker.is_some() && !settings.breaker_shared;
        let history = &own.history;
        let probes = history.probes();
        let fallbacks = own.fallback.used_by_reason();

        let mut place = 0;
        let mut add = |count: u64, has: bool| {
            self.counters[place] = count;
            self.has[place] = has;
            place += 1;
        };
        for outcome in CallOutcome::ALL {
            for served in Served::ALL {
                add(ended[outcome as usize][served as usize], may_be(outcome, served));
            }
        }
        for ending in Ending::ALL {
            add(counts.of(ending), true);
        }
        for (_, count) in own.tally.rejections() {
            add(count, true);
        }
        for count in history.changes() {
            add(count, has_breaker);
        }
        for ending in probe_outcomes() {
            let count = match ending {
                Ending::Failure(_) => FailureKind::ALL
                    .iter()
                    .map(|kind| probes[Ending::Failure(*kind).place()])
                    .sum(),
                ending => probes[ending.place()],
            };
            add(count, has_breaker);
        }
        add(own.attempts.retries(), settings.retry.is_some());
        for kind in Kind::ALL {
            // A guard without a function gives its caller the call's own error.
            let has = forms.contains(&kind.as_str()) || (forms.is_empty() && kind == Kind::None);
            for count in fallbacks[kind as usize] {
                add(count, has);
            }
        }
    }

    #[allow(clippy::cast_precision_loss)] // slots and calls, far below 2^52
    fn look(&mut self, pinned: &Pinned) {
        let settings = &pinned.settings;
        let now = clock::now();
        let seconds = |nanos: u64| std::time::Duration::from_nanos(nanos).as_secs_f64();
        if let Some((breaker, numbers)) = pinned.breaker().filter(|_| !settings.breaker_shared) {
            let reading = breaker.peek(now);
            for (gauge, state) in self.gauges.iter_mut().zip(STATES) {
                *gauge = Some(f64::from(u8::from(reading.state == state)));
            }
            let open = reading.left_closed.map_or(0, |left| now.saturating_sub(left));
            self.gauges[3] = Some(seconds(open));
            let share = |count| Some(rate(count, reading.totals, numbers).unwrap_or(0.0));
            self.gauges[4] = share(reading.totals.failed);
            self.gauges[5] = share(reading.totals.slow);
        }
        match pinned.bulkhead() {
            Some((bulkhead, numbers)) if !settings.slots_shared => {
                self.gauges[6] = Some(f64::from(bulkhead.in_flight()));
                self.gauges[7] = Some(f64::from(numbers.max_concurrent));
                self.gauges[8] = Some(f64::from(bulkhead.waiting()));
            }
            Some(_) => {}
            None => self.gauges[6] = Some(pinned.own.tally.running() as f64),
        }
        if let Some((budget, numbers)) = pinned.retry().filter(|_| !settings.budget_shared) {
            self.gauges[9] = Some(budget.left(numbers, now));
        }
        self.gauges[10] = Some(pinned.own.tally.degraded_ratio(now));
        for (gauge, mode) in self.gauges[11..].iter_mut().zip(Mode::ALL) {
            *gauge = Some(f64::from(u8::from(pinned.mode == *mode)));
        }
        let left = pinned
            .active
            .as_ref()
            .map_or(0, |active| active.until.saturating_sub(now));
        self.gauges[15] = Some(seconds(left));
    }
}

/// Whether a call can end this way and be served by this one: the others have no series until one does.
fn may_be(outcome: CallOutcome, served: Served) -> bool {
    match outcome {
        CallOutcome::Success | CallOutcome::Business => served == Served::Primary,
        CallOutcome::Failure | CallOutcome::Throttled | CallOutcome::Ignored | CallOutcome::Rejected => {
            served != Served::Primary
        }
        CallOutcome::Cancelled | CallOutcome::Panicked => served == Served::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_name_for_every_value() {
        assert_eq!(counter_series().len(), COUNTERS);
        assert_eq!(gauge_series().len(), GAUGES);
    }
}
