//! Snapshots for serde, as its derive would write them. By hand: every user would compile that macro, four seconds of a
//! clean build, for what is here.

use resilience_policy::Value;
use serde_core::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::{
    DependencySnapshot, NumberSnapshot, NumberValue, OthersSnapshot, OverrideSnapshot, PolicySnapshot, PooledSnapshot,
    ReloadsSnapshot, RequestsSnapshot, ResultsSnapshot, Snapshot, ThresholdSnapshot, TransitionSnapshot,
    UntriedSnapshot,
};

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// Fields in their order, all of them or it does not compile. `as` gives one another name, `?` leaves out what is `None`,
/// `!` is never written.
macro_rules! written {
    ($($name:ident { $($field:ident $(as $key:literal)?),* $(, ? $maybe:ident)? $(, ! $never:ident)? })*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $($field,)* $($maybe,)? $($never: _,)? } = self;
                let length = [$(stringify!($field)),*].len() $(+ usize::from($maybe.is_some()))?;
                let mut fields = serializer.serialize_struct(stringify!($name), length)?;
                $(fields.serialize_field(key!($field $($key)?), $field)?;)*
                $(match $maybe {
                    Some(_) => fields.serialize_field(stringify!($maybe), $maybe)?,
                    None => fields.skip_field(stringify!($maybe))?,
                })?
                fields.end()
            }
        }
    )*};
}

written! {
    Snapshot { instance, policy, requests, dependencies }
    RequestsSnapshot { total, degraded, degraded_ratio }
    PolicySnapshot { hash, file, loaded_at, stale, refusal, reloads, reloaded_at }
    DependencySnapshot {
        state, mode, cause, since, calls, failure_rate, slow_rate, bad_rate, retry_after, in_flight, limit, waiting,
        max_waiting, retry_budget, fallbacks, degraded_ratio, overridden as "override", functions, about, fail, agreed,
        window, minimum_calls, open_for, next_probe_in, opened, transitions, openings, flapping, outcomes, served,
        attempts, uncounted, rejections, retries, probes, never_ran, untried, numbers,
        ? others
    }
    UntriedSnapshot { function, kind, path }
    OverrideSnapshot { mode, by, reason, until, answer }
    TransitionSnapshot {
        at, from, to, cause, calls, failure_rate, slow_rate, bad_rate, counts, threshold, kinds, policy_hash, cooldown,
        ? pooled,
        ! moment
    }
    PooledSnapshot { own, fleet, instances }
    ResultsSnapshot { calls, failed, slow, bad }
    ThresholdSnapshot { key, value, file, line }
    NumberSnapshot { key, value, file, line, from }
    ReloadsSnapshot { accepted, refused }
}

/// The results stand between the other fields.
impl Serialize for OthersSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            results:
                ResultsSnapshot {
                    calls,
                    failed,
                    slow,
                    bad,
                },
            count,
            instances,
        } = self;
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("calls", calls)?;
        fields.serialize_entry("failed", failed)?;
        fields.serialize_entry("slow", slow)?;
        fields.serialize_entry("bad", bad)?;
        fields.serialize_entry("count", count)?;
        fields.serialize_entry("instances", instances)?;
        fields.end()
    }
}

impl Serialize for NumberValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Integer(value) => serializer.serialize_i64(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::List(values) => serializer.collect_seq(values.iter().cloned().map(Self)),
            value => serializer.collect_str(value),
        }
    }
}
