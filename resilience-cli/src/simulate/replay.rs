//! Recorded traffic as a scenario: every call comes when it came, whatever became of the ones before it, and the far
//! side takes as long and answers as it did then.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use resilience_policy::{FailureKind, Policy};

use super::scenario::{Answer, Arrivals, Caller, Keys, Leaves, Nanos, RecordedCall, SECOND, Scenario};
use crate::UNREADABLE;
use crate::args::Simulate;
use crate::suggest;
use crate::trace::{Call, Seen, Trace, Unreadable};

/// The longest that can be simulated.
const LONGEST: Nanos = 60 * 86_400 * SECOND;
/// About so many rows of time.
const ROWS: Nanos = 3600;

impl Simulate {
    /// Whether it is about recorded traffic: a scenario is a TOML file, and a trace is none.
    pub(super) fn is_replay(&self) -> bool {
        let is_toml = self.scenario.extension().is_some_and(|extension| extension == "toml");
        self.trace_format.is_some() || !is_toml
    }
}

pub(super) fn run(options: &Simulate, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let policies = match super::policies(options) {
        Ok(policies) => policies,
        Err(error) => return super::refuse(options, &error, out, err),
    };
    match scenario(options, &policies) {
        Ok((scenario, notes)) => {
            for note in notes {
                writeln!(err, "note: {note}")?;
            }
            super::show(&scenario, &policies, options, out, err)
        }
        Err(unreadable) => {
            suggest::unreadable(options.format.plain(), &unreadable, &options.scenario, out, err)?;
            Ok(UNREADABLE)
        }
    }
}

fn scenario(options: &Simulate, policies: &[Policy]) -> Result<(Scenario, Vec<String>), Unreadable> {
    let trace = Trace::read(&options.scenario, options.trace_format)?;
    let mut notes = trace.notes.clone();
    if trace.skipped > 0 {
        notes.push(format!(
            "{} of {} records were passed over",
            trace.skipped, trace.records
        ));
    }
    let first = trace.calls.first().map_or(0, |call| call.at);
    let mut streams: BTreeMap<String, Vec<RecordedCall>> = BTreeMap::new();
    let mut last: Nanos = 0;
    let (mut refused, mut cut, mut repeats) = (0, 0, 0);
    for call in &trace.calls {
        let name = match call.dependency {
            Some(number) => trace.dependencies.words()[number as usize].clone(),
            None => match &options.dependency {
                Some(name) => name.clone(),
                None => suggest::name_of(&options.scenario, policies.first())?,
            },
        };
        if options.dependency.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        refused += u64::from(call.outcome == Seen::Rejected);
        if call.repeats && call.outcome != Seen::Rejected {
            repeats += 1;
            continue;
        }
        cut += u64::from(call.outcome == Seen::Failure(FailureKind::Timeout));
        if let Some(recorded) = recorded(call, first) {
            last = last.max(recorded.at.saturating_add(recorded.latency));
            streams.entry(name).or_default().push(recorded);
        }
    }
    for name in streams.keys() {
        if let Some(policy) = policies.iter().find(|policy| policy.dependency(name).is_none()) {
            let nearest = policy.nearest(name).map(|near| format!(", perhaps `{near}`"));
            return Err(Unreadable::plain(format!(
                "`{name}` is not in `{}`{}; `--dependency` picks the calls of one",
                policy.file().display(),
                nearest.unwrap_or_default()
            )));
        }
    }
    if streams.is_empty() || last > LONGEST {
        return Err(Unreadable::plain(format!(
            "nothing in `{}` can be replayed: it needs calls that reached their dependency, within 60 days",
            trace.file
        )));
    }
    notes.push("replayed as it came: callers who would have come back, or stayed away, are not in it".into());
    if refused > 0 {
        notes.push(format!(
            "{refused} calls were refused by the policy of that time, or left by their callers before: what they would have met is unknown, so they are left out"
        ));
    }
    if cut > 0 {
        notes.push(format!(
            "{cut} calls were cut by a timeout of that time: how long they would have taken is unknown, so they fail when they did"
        ));
    }
    if repeats > 0 {
        notes.push(format!(
            "{repeats} attempts repeated another of the same call: they are left out, since the guards repeat by themselves; what they repeat gets the first answer again"
        ));
    }
    Ok((described(options, &trace, streams, last), notes))
}

fn described(options: &Simulate, trace: &Trace, streams: BTreeMap<String, Vec<RecordedCall>>, last: Nanos) -> Scenario {
    let step = (last / ROWS / SECOND + 1) * SECOND;
    let name = options
        .scenario
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    // What ends at the last moment has to be in it.
    let duration = (last / step + 1) * step;
    Scenario {
        name: name.unwrap_or_else(|| "recorded".into()),
        about: Some(format!("{} recorded calls, replayed as they came", trace.calls.len())),
        duration,
        step,
        seed: 1,
        instances: options.instances.unwrap_or(1),
        look_at: Vec::new(),
        phases: Vec::new(),
        callers: streams
            .into_iter()
            .map(|(name, calls)| Caller {
                calls: vec![name.clone()],
                name,
                together: false,
                optional: Vec::new(),
                arrivals: Arrivals::Recorded(Arc::from(calls)),
                from: 0,
                to: duration,
                keys: Keys::None,
                stock: None,
                patience: None,
                again: 0,
                leaves: Leaves::Drop,
            })
            .collect(),
        far: BTreeMap::new(),
        pools: Vec::new(),
        starts: BTreeMap::new(),
        fallbacks: BTreeMap::new(),
        named: Vec::new(),
    }
}

/// A call as the far side had it; none for one that never reached it or was given up half-way.
fn recorded(call: &Call, first: i64) -> Option<RecordedCall> {
    let answer = match call.outcome {
        Seen::Success => Answer::Success,
        Seen::Business => Answer::Business,
        Seen::Failure(FailureKind::Connect) => Answer::Connect,
        Seen::Failure(_) => Answer::Failure,
        Seen::Throttled => Answer::Throttled,
        Seen::Ignored | Seen::Rejected => return None,
    };
    Some(RecordedCall {
        at: u64::try_from(call.at - first).ok()?,
        latency: u64::try_from(call.latency.as_nanos()).ok()?,
        answer,
        key: call.key.map(u64::from),
    })
}
