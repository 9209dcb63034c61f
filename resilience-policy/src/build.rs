//! From a chain of levels to the effective numbers, each with its place and origin.

use std::sync::Arc;
use std::time::Duration;

use crate::chain::Chain;
use crate::level::Where;
use crate::locate::Text;
use crate::policy::{Breaker, Bulkhead, Chaos, Dependency, Fallback, Retry, Traffic, Value, Window};
use crate::provenance::Provenance;
use crate::reference::{Id, Table};
use crate::value::as_window;
use crate::words::{Fail, FailureKind, FailureKinds, Jitter, Mode, Throttle};

/// The longest cooldown where none is written.
const COOLDOWN_MAX: Duration = Duration::from_secs(300);

/// The effective values, by key.
struct Values<'t, 'a> {
    text: &'t Text<'a>,
    found: Vec<Option<Value>>,
    provenance: Provenance,
}

/// The numbers of a dependency, or of an operation of `parent`.
pub(crate) fn dependency(
    text: &Text<'_>,
    file: &Arc<str>,
    chain: &Chain<'_>,
    name: &str,
    parent: Option<&str>,
) -> Dependency {
    let mut values = Values {
        text,
        found: vec![None; Id::ALL.len()],
        provenance: Provenance::new(Arc::clone(file)),
    };
    let mut doubtful = Vec::new();
    for id in Id::ALL.iter().copied() {
        let table = id.key().table;
        let inside = table == Table::Dependency || table.is_layer();
        if !inside || id == Id::Inherits || !chain.is_on(table) && table != Table::Traffic {
            continue;
        }
        if chain.find(id).is_some_and(|found| found.value().is_none()) || chain.is_doubtful(table) {
            doubtful.push(id);
        }
        values.take(chain, id);
    }
    values.provenance.shrink();
    let is_own = |table: Table| parent.is_none() || chain.own_header(table).is_some();
    let own_slots = parent.is_none() || chain.own().entry(Id::MaxConcurrent).is_some();
    Dependency {
        name: name.into(),
        parent: parent.map(Into::into),
        about: values.text(Id::About),
        fail: values.word(Id::Fail, Fail::from_word).unwrap_or(Fail::Closed),
        agreed: values.text(Id::Agreed),
        label: values.text(Id::Label),
        uses: values.texts(Id::Uses),
        mode: values.word(Id::Mode, Mode::from_word).unwrap_or(Mode::Enforce),
        timeout: values.time(Id::Timeout),
        deadline: values.time(Id::Deadline),
        throttle: values.word(Id::Throttle, Throttle::from_word).unwrap_or(Throttle::Call),
        max_hold: values.time(Id::MaxHold).unwrap_or_default(),
        failures: kinds(&values.texts(Id::Failures)),
        breaker: values.breaker(),
        breaker_shared: !is_own(Table::Breaker),
        bulkhead: values.bulkhead(),
        slots_shared: !own_slots,
        retry: values.retry(),
        budget_shared: !is_own(Table::Retry),
        fallback: values.fallback(),
        fallback_shared: !is_own(Table::Fallback),
        traffic: values.traffic(),
        chaos: values.chaos(),
        line: text.line_number(chain.own().header.start),
        provenance: values.provenance,
        doubtful,
    }
}

fn kinds(words: &[String]) -> FailureKinds {
    words
        .iter()
        .filter_map(|word| FailureKind::from_word(word))
        .fold(FailureKinds::NONE, FailureKinds::with)
}

impl Values<'_, '_> {
    fn take(&mut self, chain: &Chain<'_>, id: Id) {
        let found = chain.find(id).and_then(|found| Some((found, found.value()?)));
        self.found[id as usize] = match found {
            Some((found, value)) => {
                match &found.entry.place {
                    Where::File { key } => {
                        let line = self.text.line_number(key.start);
                        self.provenance.note_line(id, line, chain.origin(found.depth));
                    }
                    Where::Variable(name) => self.provenance.note_variable(id, name),
                }
                Some(value.clone())
            }
            None => self.built_in(id),
        };
    }

    /// The built-in values that depend on others, which stand before them in the reference.
    fn built_in(&self, id: Id) -> Option<Value> {
        match id {
            Id::MinimumCalls => Some(Value::Integer(match self.window()? {
                Window::Calls(calls) => i64::from(calls.min(20)),
                Window::Time(_) => 20,
            })),
            Id::CooldownMax => Some(Value::Duration(self.time(Id::Cooldown)?.max(COOLDOWN_MAX))),
            Id::ProbeSuccesses => self.found[Id::Probes as usize].clone(),
            // Expected traffic is only what somebody wrote: the lints are silent without it.
            _ if id.key().table == Table::Traffic => None,
            _ => id.built_in().cloned(),
        }
    }

    fn time(&self, id: Id) -> Option<Duration> {
        match self.found[id as usize] {
            Some(Value::Duration(time)) => Some(time),
            _ => None,
        }
    }

    fn count(&self, id: Id) -> Option<u32> {
        match self.found[id as usize] {
            Some(Value::Integer(count)) => u32::try_from(count).ok(),
            _ => None,
        }
    }

    fn number(&self, id: Id) -> Option<f64> {
        match self.found[id as usize] {
            Some(Value::Float(number)) => Some(number),
            _ => None,
        }
    }

    fn text(&self, id: Id) -> Option<String> {
        match &self.found[id as usize] {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn texts(&self, id: Id) -> Vec<String> {
        match &self.found[id as usize] {
            Some(Value::List(list)) => list.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }

    fn word<T>(&self, id: Id, from_word: impl Fn(&str) -> Option<T>) -> Option<T> {
        match &self.found[id as usize] {
            Some(Value::String(text)) => from_word(text),
            _ => None,
        }
    }

    fn window(&self) -> Option<Window> {
        as_window(self.found[Id::Window as usize].as_ref()?)
    }

    fn breaker(&self) -> Option<Breaker> {
        let ramp = match &self.found[Id::Ramp as usize] {
            Some(Value::List(steps)) => steps.iter().filter_map(as_number).collect(),
            _ => Vec::new(),
        };
        Some(Breaker {
            window: self.window()?,
            minimum_calls: self.count(Id::MinimumCalls)?,
            failure_rate: self.number(Id::FailureRate),
            slow_after: self.time(Id::SlowAfter),
            slow_rate: self.number(Id::SlowRate),
            bad_rate: self.number(Id::BadRate),
            consecutive_failures: self.count(Id::ConsecutiveFailures),
            in_flight: self.count(Id::InFlight),
            cooldown: self.time(Id::Cooldown)?,
            cooldown_max: self.time(Id::CooldownMax)?,
            cooldown_factor: self.number(Id::CooldownFactor)?,
            cooldown_jitter: self.number(Id::CooldownJitter)?,
            probes: self.count(Id::Probes)?,
            probe_successes: self.count(Id::ProbeSuccesses)?,
            ramp,
            sample_every: self.time(Id::SampleEvery),
        })
    }

    fn bulkhead(&self) -> Option<Bulkhead> {
        Some(Bulkhead {
            max_concurrent: self.count(Id::MaxConcurrent)?,
            max_waiting: self.count(Id::MaxWaiting)?,
            max_wait: self.time(Id::MaxWait)?,
            per_key: self.count(Id::PerKey),
            max_keys: self.count(Id::MaxKeys)?,
            retry_after: self.time(Id::SlotRetryAfter)?,
        })
    }

    fn retry(&self) -> Option<Retry> {
        Some(Retry {
            max_attempts: self.count(Id::MaxAttempts)?,
            backoff: self.time(Id::Backoff)?,
            backoff_max: self.time(Id::BackoffMax)?,
            jitter: self.word(Id::Jitter, Jitter::from_word)?,
            budget: self.number(Id::Budget)?,
            budget_floor: self.number(Id::BudgetFloor)?,
        })
    }

    fn fallback(&self) -> Fallback {
        const WHY: &str = "the fallback's keys are built in, and a fault leaves the built-in value";
        Fallback {
            max_stale: self.time(Id::MaxStale).expect(WHY),
            max_entries: self.count(Id::MaxEntries).expect(WHY),
            max_concurrent: self.count(Id::FallbackConcurrent).expect(WHY),
            timeout: self.time(Id::FallbackTimeout).expect(WHY),
            uses: self.texts(Id::FallbackUses),
        }
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            calls_per_second: self.number(Id::CallsPerSecond),
            instances: self.count(Id::Instances),
            latency: self.time(Id::Latency),
            latency_p99: self.time(Id::LatencyP99),
            capacity: self.count(Id::Capacity).map(u64::from),
        }
    }

    fn chaos(&self) -> Option<Chaos> {
        Some(Chaos {
            failure: self.number(Id::ChaosFailure)?,
            latency: self.time(Id::ChaosLatency).unwrap_or_default(),
            latency_share: self.number(Id::ChaosLatencyShare)?,
        })
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
