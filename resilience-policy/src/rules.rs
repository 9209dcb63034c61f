//! The rules between keys. Each looks at effective values and blames the nearer of the two keys.

use std::time::Duration;

use crate::chain::{Chain, Found};
use crate::fault::{Fault, FaultName};
use crate::level::{Level, Written, full};
use crate::locate::Text;
use crate::policy::{Value, Window};
use crate::reference::{Id, Table};
use crate::units::format_duration;
use crate::value::as_window;

pub(crate) struct Rules<'t, 'a> {
    pub(crate) text: &'t Text<'a>,
    pub(crate) file: &'t str,
    pub(crate) faults: Vec<Fault>,
}

impl Rules<'_, '_> {
    /// Checks one dependency or operation; `above` holds what its dependency was already told to write. Gives back
    /// what is missing here.
    pub(crate) fn check(&mut self, chain: &Chain<'_>, name: &str, above: Option<&[Id]>) -> Vec<Id> {
        let mut missing = Vec::new();
        if !chain.doubtful {
            self.required(chain, name, above, &mut missing);
        }
        if chain.is_on(Table::Breaker) {
            self.breaker(chain);
            self.slow(chain);
        }
        if chain.is_on(Table::Retry) {
            self.backoff(chain);
        }
        if chain.is_on(Table::Bulkhead) {
            self.wait(chain);
        }
        missing
    }

    /// A fleet meets somewhere; the variable may say where.
    pub(crate) fn fleet(&mut self, written: &Written) {
        if let Some(level) = written
            .fleet
            .as_ref()
            .filter(|level| level.entry(Id::FleetRedis).is_none())
        {
            let message = "`[fleet]` needs `redis`, the address at which the instances meet, such as `redis = \"redis://10.0.0.3/\"`";
            self.missing(level, Id::FleetRedis, level.header.clone(), message.into());
        }
    }

    fn required(&mut self, chain: &Chain<'_>, name: &str, above: Option<&[Id]>, missing: &mut Vec<Id>) {
        let lacks = |id: Id| chain.find(id).is_none() && !above.is_some_and(|above| above.contains(&id));
        let own = chain.own();
        if above.is_none() && lacks(Id::Fail) && !own.only_unknown {
            missing.push(Id::Fail);
            let message = format!(
                "`fail` is missing for `{name}`: write `fail = \"closed\"` if a caller must get an error rather than \
                 something lesser, else `fail = \"open\"`"
            );
            self.missing(own, Id::Fail, own.header.clone(), message);
        }
        if chain.is_on(Table::Breaker) && lacks(Id::Timeout) {
            missing.push(Id::Timeout);
            let message = format!(
                "`{name}` has a breaker and no `timeout`: a call that never ends is never counted; write `timeout = \"3s\"`"
            );
            self.missing(own, Id::Timeout, own.header.clone(), message);
        }
        if chain.is_on(Table::Bulkhead) && lacks(Id::MaxConcurrent) {
            missing.push(Id::MaxConcurrent);
            let header = chain.own_header(Table::Bulkhead).unwrap_or_else(|| own.header.clone());
            let message =
                format!("the bulkhead of `{name}` needs `max_concurrent`, its number of slots; it has no default");
            self.missing(own, Id::MaxConcurrent, header, message);
        }
    }

    fn breaker(&mut self, chain: &Chain<'_>) {
        if let (Some((window, window_is)), Some((minimum, minimum_is))) =
            (written(chain, Id::Window), written(chain, Id::MinimumCalls))
            && let (Some(Window::Calls(calls)), Value::Integer(least)) = (as_window(window_is), minimum_is)
            && *least > i64::from(calls)
        {
            let message = format!(
                "`minimum_calls` {least} can never be reached in a `window` of {calls} calls; make it {calls} or less"
            );
            self.conflict(minimum, Some((window, format!("`window` is {calls} calls"))), message);
        }
        if let (Some((probes, Value::Integer(at_once))), Some((successes, Value::Integer(needed)))) =
            (written(chain, Id::Probes), written(chain, Id::ProbeSuccesses))
            && at_once > needed
        {
            let message = format!(
                "`probes` {at_once} is above `probe_successes` {needed}: no more are admitted than are needed; make it {needed} or less"
            );
            self.conflict(
                probes,
                Some((successes, format!("`probe_successes` is {needed}"))),
                message,
            );
        }
        let because = "the longest cooldown cannot be the shorter; raise `cooldown_max`, or remove it";
        self.not_below(chain, Id::CooldownMax, Id::Cooldown, because);
    }

    fn slow(&mut self, chain: &Chain<'_>) {
        let after = chain.find(Id::SlowAfter);
        let rate = chain.find(Id::SlowRate).or_else(|| chain.find(Id::BadRate));
        if [after, rate].into_iter().flatten().any(|found| found.value().is_none()) {
            return;
        }
        match (after, rate) {
            (Some(after), None) => {
                let message = "`slow_after` alone trips nothing: write `slow_rate` or `bad_rate`, or remove it";
                self.conflict(after, None, message.into());
            }
            (None, Some(rate)) => {
                let name = rate.entry.id.key().name;
                // What a template lacks is missing there, once, and not in everyone who inherits it.
                let level = rate.level;
                let header = match level.table(Table::Breaker) {
                    crate::level::Presence::On(span) => span.clone(),
                    _ => level.header.clone(),
                };
                let message = format!(
                    "`{name}` needs `slow_after`: from when is an attempt slow? write `slow_after = \"400ms\"`, or remove `{name}`"
                );
                let fault = Fault::new(FaultName::MissingKey, self.file, full(level, Id::SlowAfter), message)
                    .at(self.text, &header)
                    .allowed_here(Id::SlowAfter.key().allowed())
                    .relate_entry(self.text, self.file, &rate.entry.place, format!("`{name}` stands here"));
                self.faults.push(fault);
            }
            _ => {}
        }
    }

    fn backoff(&mut self, chain: &Chain<'_>) {
        self.not_below(
            chain,
            Id::BackoffMax,
            Id::Backoff,
            "the longest pause cannot be the shorter; raise `backoff_max`",
        );
    }

    fn wait(&mut self, chain: &Chain<'_>) {
        if let (Some((wait, Value::Duration(longest))), Some((deadline, Value::Duration(whole)))) =
            (written(chain, Id::MaxWait), written(chain, Id::Deadline))
            && longest > whole
        {
            let (longest, whole) = (format_duration(*longest), format_duration(*whole));
            let message =
                format!("`max_wait` {longest} is above the `deadline` {whole} of the whole call; make it shorter");
            self.conflict(wait, Some((deadline, format!("`deadline` is {whole}"))), message);
        }
    }

    /// `most` may not lie below `first`, whichever of them is built in. What follows
    /// another value where it is not written, as `cooldown_max` does, has no built-in time.
    fn not_below(&mut self, chain: &Chain<'_>, most: Id, first: Id, because: &str) {
        let (most_found, first_found) = (chain.find(most), chain.find(first));
        let built_in = |id: Id| match id.built_in() {
            Some(Value::Duration(time)) => Some(*time),
            _ => None,
        };
        let (Some(most_is), Some(first_is)) = (
            time_of(most_found, || built_in(most)),
            time_of(first_found, || built_in(first)),
        ) else {
            return;
        };
        if most_is >= first_is {
            return;
        }
        let says = |id: Id, found: Option<Found<'_>>, time: Duration| {
            let built = if found.is_some() { "" } else { " (built in)" };
            format!("`{}` {}{built}", id.key().name, format_duration(time))
        };
        let (most_says, first_says) = (says(most, most_found, most_is), says(first, first_found, first_is));
        let message = format!("{most_says} is below {first_says}: {because}");
        match (most_found, first_found) {
            (Some(found), other) => {
                self.conflict(
                    found,
                    other.map(|other| (other, format!("{first_says} stands here"))),
                    message,
                );
            }
            (None, Some(found)) => self.conflict(found, None, message),
            (None, None) => {}
        }
    }

    /// At `subject`, unless the other stands nearer.
    fn conflict(&mut self, subject: Found<'_>, other: Option<(Found<'_>, String)>, message: String) {
        let (near, far) = match other {
            Some((other, _)) if other.depth < subject.depth => {
                let note = format!("`{}` stands here", subject.entry.id.key().name);
                (other, Some((subject, note)))
            }
            other => (subject, other),
        };
        let mut fault = Fault::new(
            FaultName::Contradiction,
            self.file,
            full(near.level, near.entry.id),
            message,
        )
        .at_entry(self.text, &near.entry.place)
        .allowed_here(near.entry.id.key().allowed());
        if let Some(value) = near.value() {
            fault = fault.with_value(&value.to_string());
        }
        if let Some((far, note)) = far {
            fault = fault.relate_entry(self.text, self.file, &far.entry.place, note);
        }
        self.faults.push(fault);
    }

    fn missing(&mut self, level: &Level, id: Id, header: std::ops::Range<usize>, message: String) {
        let fault = Fault::new(FaultName::MissingKey, self.file, full(level, id), message)
            .at(self.text, &header)
            .allowed_here(id.key().allowed());
        self.faults.push(fault);
    }
}

/// What is written and good.
fn written<'a>(chain: &Chain<'a>, id: Id) -> Option<(Found<'a>, &'a Value)> {
    let found = chain.find(id)?;
    Some((found, found.value()?))
}

/// A written duration, or the built-in one where nothing is written; `None` where what is written is at fault.
fn time_of(found: Option<Found<'_>>, built_in: impl FnOnce() -> Option<Duration>) -> Option<Duration> {
    match found {
        Some(found) => match found.value()? {
            Value::Duration(time) => Some(*time),
            _ => None,
        },
        None => built_in(),
    }
}
