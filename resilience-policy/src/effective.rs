//! The effective values of a dependency by key, read back from its numbers: the one place that says which number is
//! which key's.

use crate::policy::{Breaker, Bulkhead, Dependency, Retry, Traffic, Value, Window};
use crate::provenance::Effective;
use crate::reference::{Id, Table};

impl Dependency {
    /// Every effective value with its place and origin, by key path below the dependency
    /// (`timeout`, `breaker.failure_rate`), in the order of the reference.
    pub fn values(&self) -> impl Iterator<Item = Effective> {
        Id::ALL.iter().filter_map(|id| self.effective(*id))
    }

    /// The effective value of one key with its place and origin; `None` where nothing holds.
    pub fn effective(&self, id: Id) -> Option<Effective> {
        Some(self.provenance.effective(id, self.value(id)?))
    }

    /// The effective value of one key alone.
    pub(crate) fn value(&self, id: Id) -> Option<Value> {
        // An empty list that somebody wrote is a value; one that nobody wrote is none.
        let holds = self.provenance.knows(id) || is_built_in(id);
        if holds { self.number(id) } else { None }
    }

    /// Whether somebody gave this value, so that it is not built in.
    #[cfg(feature = "tools")]
    pub(crate) fn is_written(&self, id: Id) -> bool {
        self.provenance.knows(id)
    }

    fn number(&self, id: Id) -> Option<Value> {
        match id.key().table {
            Table::Dependency => of_dependency(self, id),
            Table::Breaker => of_breaker(self.breaker.as_ref()?, id),
            Table::Bulkhead => of_bulkhead(self.bulkhead.as_ref()?, id),
            Table::Retry => of_retry(self.retry.as_ref()?, id),
            Table::Traffic => of_traffic(&self.traffic, id),
            Table::Fallback => Some(match id {
                Id::MaxStale => Value::Duration(self.fallback.max_stale),
                Id::MaxEntries => count(self.fallback.max_entries),
                Id::FallbackConcurrent => count(self.fallback.max_concurrent),
                Id::FallbackTimeout => Value::Duration(self.fallback.timeout),
                Id::FallbackUses => words(&self.fallback.uses),
                _ => return None,
            }),
            Table::Chaos => {
                let chaos = self.chaos.as_ref()?;
                Some(match id {
                    Id::ChaosFailure => Value::Float(chaos.failure),
                    Id::ChaosLatency => Value::Duration(chaos.latency),
                    Id::ChaosLatencyShare => Value::Float(chaos.latency_share),
                    _ => return None,
                })
            }
            Table::Top | Table::Runtime | Table::Fleet | Table::Resource => None,
        }
    }
}

/// Whether a value holds where nobody wrote one. Expected traffic is only what somebody wrote: the lints are silent
/// without it.
fn is_built_in(id: Id) -> bool {
    let follows_another = matches!(id, Id::MinimumCalls | Id::CooldownMax | Id::ProbeSuccesses);
    follows_another || id.key().table != Table::Traffic && id.built_in().is_some()
}

fn of_dependency(dependency: &Dependency, id: Id) -> Option<Value> {
    match id {
        Id::About => dependency.about.as_deref().map(text),
        Id::Fail => Some(text(dependency.fail.as_str())),
        Id::Agreed => dependency.agreed.as_deref().map(text),
        Id::Label => dependency.label.as_deref().map(text),
        Id::Uses => Some(words(&dependency.uses)),
        Id::Mode => Some(text(dependency.mode.as_str())),
        Id::Timeout => dependency.timeout.map(Value::Duration),
        Id::Deadline => dependency.deadline.map(Value::Duration),
        Id::Throttle => Some(text(dependency.throttle.as_str())),
        Id::MaxHold => Some(Value::Duration(dependency.max_hold)),
        Id::Failures => Some(Value::List(
            dependency.failures.iter().map(|kind| text(kind.as_str())).collect(),
        )),
        _ => None,
    }
}

fn of_breaker(breaker: &Breaker, id: Id) -> Option<Value> {
    match id {
        Id::Window => Some(match breaker.window {
            Window::Time(time) => Value::Duration(time),
            calls @ Window::Calls(_) => Value::String(calls.to_string()),
        }),
        Id::MinimumCalls => Some(count(breaker.minimum_calls)),
        Id::FailureRate => Some(breaker.failure_rate.map_or(Value::Bool(false), Value::Float)),
        Id::SlowAfter => breaker.slow_after.map(Value::Duration),
        Id::SlowRate => breaker.slow_rate.map(Value::Float),
        Id::BadRate => breaker.bad_rate.map(Value::Float),
        Id::ConsecutiveFailures => breaker.consecutive_failures.map(count),
        Id::InFlight => breaker.in_flight.map(count),
        Id::Cooldown => Some(Value::Duration(breaker.cooldown)),
        Id::CooldownMax => Some(Value::Duration(breaker.cooldown_max)),
        Id::CooldownFactor => Some(Value::Float(breaker.cooldown_factor)),
        Id::CooldownJitter => Some(Value::Float(breaker.cooldown_jitter)),
        Id::Probes => Some(count(breaker.probes)),
        Id::ProbeSuccesses => Some(count(breaker.probe_successes)),
        Id::Ramp => Some(Value::List(breaker.ramp.iter().copied().map(Value::Float).collect())),
        Id::SampleEvery => breaker.sample_every.map(Value::Duration),
        _ => None,
    }
}

fn of_bulkhead(bulkhead: &Bulkhead, id: Id) -> Option<Value> {
    match id {
        Id::MaxConcurrent => Some(count(bulkhead.max_concurrent)),
        Id::MaxWaiting => Some(count(bulkhead.max_waiting)),
        Id::MaxWait => Some(Value::Duration(bulkhead.max_wait)),
        Id::PerKey => bulkhead.per_key.map(count),
        Id::MaxKeys => Some(count(bulkhead.max_keys)),
        Id::SlotRetryAfter => Some(Value::Duration(bulkhead.retry_after)),
        _ => None,
    }
}

fn of_retry(retry: &Retry, id: Id) -> Option<Value> {
    match id {
        Id::MaxAttempts => Some(count(retry.max_attempts)),
        Id::Backoff => Some(Value::Duration(retry.backoff)),
        Id::BackoffMax => Some(Value::Duration(retry.backoff_max)),
        Id::Jitter => Some(text(retry.jitter.as_str())),
        Id::Budget => Some(Value::Float(retry.budget)),
        Id::BudgetFloor => Some(Value::Float(retry.budget_floor)),
        _ => None,
    }
}

fn of_traffic(traffic: &Traffic, id: Id) -> Option<Value> {
    match id {
        Id::CallsPerSecond => traffic.calls_per_second.map(Value::Float),
        Id::Instances => traffic.instances.map(count),
        Id::Latency => traffic.latency.map(Value::Duration),
        Id::LatencyP99 => traffic.latency_p99.map(Value::Duration),
        // The file's own limit lies far below.
        Id::Capacity => traffic
            .capacity
            .map(|capacity| Value::Integer(i64::try_from(capacity).unwrap_or(i64::MAX))),
        _ => None,
    }
}

fn count(count: u32) -> Value {
    Value::Integer(count.into())
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

fn words(words: &[String]) -> Value {
    Value::List(words.iter().map(|word| text(word)).collect())
}
