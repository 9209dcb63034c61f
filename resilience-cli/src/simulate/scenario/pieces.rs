//! The tables of a scenario, one reader each.

mod caller;

use std::ops::Range;

use toml::de::{DeTable, DeValue};

pub(super) use caller::caller;

use super::draft::{Bad, Faults, Key, Keys};
use super::values::{self, Read, shown};
use super::{Answer, Answers, Does, Fallback, FarSide, Latency, Named, Nanos, Phase, Pool, Start};

pub(super) const TIME: &str = "a duration up to 60d, such as \"30s\" or \"2d\"";
const ANSWER: &str = "one of S B F C T N: success, business, failure, connection refused, throttled, never";

const fn key<T>(name: &'static str, allowed: &'static str, read: fn(&DeValue<'_>) -> Read<T>) -> Key<T> {
    Key { name, allowed, read }
}

pub(super) const NAME: Key<String> = key("name", "a name in quotes", values::name);
pub(super) const ABOUT: Key<String> = key("about", "a text in quotes", values::text);
pub(super) const DURATION: Key<Nanos> = key("duration", TIME, values::span);
pub(super) const STEP: Key<Nanos> = key("step", TIME, values::span);
pub(super) const SEED: Key<u64> = key("seed", "a whole number, 0 or more", values::count);
pub(super) const INSTANCES: Key<u32> = key("instances", "1 to 10_000", |value| match values::small(value)? {
    number @ 1..=10_000 => Ok(number),
    _ => Err(Bad::new("out_of_range", "1 to 10_000 instances are possible")),
});
pub(super) const LOOK_AT: Key<Vec<Nanos>> = key("look_at", "a list of durations", values::times);

const FROM: Key<Nanos> = key("from", TIME, values::time);
const TO: Key<Nanos> = key("to", TIME, values::time);

pub(super) fn phase(faults: &mut Faults<'_>, at: Place<'_, '_>, duration: Nanos) -> Option<Phase> {
    let keys = at.keys(faults, &["name", "from", "to"]);
    let name = keys.need(faults, &NAME);
    let (from, to) = stretch(faults, &keys, duration);
    Some(Phase { name: name?, from, to })
}

/// `from` and `to`, inside the scenario.
fn stretch(faults: &mut Faults<'_>, keys: &Keys<'_, '_>, duration: Nanos) -> (Nanos, Nanos) {
    let from = keys.get(faults, &FROM).unwrap_or(0);
    let to = keys.get(faults, &TO).unwrap_or(duration);
    if from >= to && (keys.has("from") || keys.has("to")) {
        let name = if keys.has("to") { "to" } else { "from" };
        let span = keys.value(name).map_or(keys.header.clone(), toml::Spanned::span);
        let message = format!("it ends at {} and begins at {}", shown(to), shown(from));
        faults.add("contradiction", &span, &keys.path_of(name), message);
    }
    (from, to.min(duration))
}

const FAR: [&str; 11] = [
    "from",
    "latency",
    "running",
    "answers",
    "dealt",
    "retry_after",
    "per_second",
    "overload",
    "operation",
    "instance",
    "key",
];

pub(super) fn far_side(
    faults: &mut Faults<'_>,
    dependency: &str,
    instances: u32,
    at: Place<'_, '_>,
    named: &mut Vec<Named>,
) -> FarSide {
    let keys = at.keys(faults, &FAR);
    let plain = FarSide::default();
    let latency: Key<Latency> = key(
        "latency",
        "a duration, { median = …, p99 = … }, or one for each answer: { S = …, F = … }",
        values::latency,
    );
    let answers: Key<Answers> = key(
        "answers",
        "a pattern of S B F C T N, such as \"SSSF\", or shares by chance: { N = 0.2 }",
        values::answers,
    );
    let running = key("running", "\"keep\" or \"stretch\"", |value| {
        values::word(value, &[("keep", false), ("stretch", true)])
    });
    let dealt = key("dealt", "\"attempts\" or \"arrivals\"", |value| {
        values::word(value, &[("attempts", false), ("arrivals", true)])
    });
    let overload: Key<Answer> = key("overload", ANSWER, values::answer);
    let operation = keys.get(faults, &key("operation", "the name of an operation", values::text));
    if let (Some(operation), Some(value)) = (&operation, keys.value("operation")) {
        named.push(Named {
            name: format!("{dependency}.{operation}"),
            key: keys.path_of("operation"),
            span: value.span(),
            or_caller: false,
        });
    }
    let instance = key("instance", "the number of an instance, from 0", values::small);
    let instance = keys.get(faults, &instance);
    if let (Some(value), Some(number)) = (keys.value("instance"), instance.filter(|number| *number >= instances)) {
        let message = format!("there is no instance {number}: they count from 0, and `instances` is {instances}");
        faults.add("out_of_range", &value.span(), &keys.path_of("instance"), message);
    }
    if let Some(value) = keys.value("overload").filter(|_| !keys.has("per_second")) {
        let message = "`overload` needs `per_second`: without it nothing is too much";
        faults.add("contradiction", &value.span(), &keys.path_of("overload"), message);
    }
    FarSide {
        from: keys.get(faults, &FROM).unwrap_or(0),
        latency: keys.get(faults, &latency).unwrap_or(plain.latency),
        stretch: keys.get(faults, &running).unwrap_or(false),
        answers: keys.get(faults, &answers).unwrap_or(plain.answers),
        by_arrival: keys.get(faults, &dealt).unwrap_or(false),
        retry_after: keys.get(faults, &key("retry_after", TIME, values::time)),
        per_second: keys.get(faults, &key("per_second", "a whole number, 0 or more", values::count)),
        overload: keys.get(faults, &overload).unwrap_or(plain.overload),
        operation,
        instance,
        key: keys.get(faults, &key("key", "the number of a key", values::count)),
    }
}

pub(super) fn pool(faults: &mut Faults<'_>, name: &str, at: Place<'_, '_>, named: &mut Vec<Named>) -> Option<Pool> {
    let keys = at.keys(faults, &["size", "max_waiting", "max_wait", "timed", "of"]);
    let size = keys.need(faults, &key("size", "a whole number from 1 on", values::some));
    let of = keys.get(faults, &key("of", "a list of dependencies", values::names));
    name_all(&keys, "of", named);
    let timed = keys.get(
        faults,
        &key("timed", "\"whole\" or \"call\"", |value| {
            values::word(value, &[("whole", false), ("call", true)])
        }),
    );
    Some(Pool {
        name: name.to_owned(),
        of: of.unwrap_or_else(|| vec![name.to_owned()]),
        max_waiting: keys.get(faults, &key("max_waiting", "a whole number, 0 or more", values::count)),
        max_wait: keys.get(faults, &key("max_wait", TIME, values::time)),
        outside: timed.unwrap_or(false),
        size: size?,
    })
}

pub(super) fn start(faults: &mut Faults<'_>, at: Place<'_, '_>) -> Start {
    let keys = at.keys(faults, &["successes", "state"]);
    let state = keys.get(
        faults,
        &key("state", "\"closed\" or \"open\"", |value| {
            values::word(value, &[("closed", false), ("open", true)])
        }),
    );
    let successes = keys.get(
        faults,
        &key("successes", "0 to 100_000", |value| match values::small(value)? {
            number @ 0..=100_000 => Ok(number),
            _ => Err(Bad::new("out_of_range", "a window has at most 100_000 results")),
        }),
    );
    Start {
        successes: successes.unwrap_or(0),
        open: state.unwrap_or(false),
    }
}

pub(super) fn fallback(faults: &mut Faults<'_>, at: Place<'_, '_>, named: &mut Vec<Named>) -> Option<Fallback> {
    let keys = at.keys(faults, &["calls", "latency", "one_per_key"]);
    keys.exclusive(faults, &["calls", "latency"]);
    let calls = keys.get(faults, &key("calls", "a dependency", values::text));
    let latency = keys.get(faults, &key("latency", TIME, values::time));
    if !keys.has("calls") && !keys.has("latency") {
        keys.missing(faults, "calls", "the dependency that it calls, or a `latency`");
    }
    name_all(&keys, "calls", named);
    let one_per_key = keys
        .get(faults, &key("one_per_key", "true or false", values::switch))
        .unwrap_or(false);
    let does = calls.map(Does::Call).or(latency.map(Does::Take))?;
    Some(Fallback { does, one_per_key })
}

/// Remembers where names of dependencies stand.
fn name_all(keys: &Keys<'_, '_>, key: &str, named: &mut Vec<Named>) {
    let Some(value) = keys.value(key) else { return };
    let mut add = |value: &super::draft::Value<'_>| {
        if let Some(name) = value.get_ref().as_str() {
            named.push(Named {
                name: name.to_owned(),
                key: keys.path_of(key),
                span: value.span(),
                or_caller: key == "of",
            });
        }
    };
    match value.get_ref() {
        DeValue::Array(list) => list.iter().for_each(add),
        _ => add(value),
    }
}

/// A table and where it stands.
pub(super) struct Place<'t, 'a> {
    pub(super) path: String,
    pub(super) header: Range<usize>,
    pub(super) table: &'t DeTable<'a>,
}

impl<'t, 'a> Place<'t, 'a> {
    fn keys(self, faults: &mut Faults<'_>, known: &[&str]) -> Keys<'t, 'a> {
        Keys::new(faults, self.path, self.header, self.table, known)
    }
}
