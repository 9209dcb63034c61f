//! A scenario: who calls, how the far side is, and for how long. Times are nanoseconds since its beginning.

mod draft;
mod pieces;
mod read;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use read::read;
pub(crate) use values::shown;

/// Nanoseconds.
pub(crate) type Nanos = u64;
pub(crate) const SECOND: Nanos = 1_000_000_000;

/// A checked scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) duration: Nanos,
    /// The width of a row of "seconds".
    pub(crate) step: Nanos,
    pub(crate) seed: u64,
    pub(crate) instances: u32,
    /// Sorted.
    pub(crate) look_at: Vec<Nanos>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) callers: Vec<Caller>,
    /// By dependency, or by the name of a caller without one; in the order of the file.
    pub(crate) far: BTreeMap<String, Vec<FarSide>>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) starts: BTreeMap<String, Start>,
    pub(crate) fallbacks: BTreeMap<String, Fallback>,
    /// Where names of dependencies stand, to be looked up in each policy.
    pub(crate) named: Vec<Named>,
}

/// A stretch that is summed up by itself, its end excluded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phase {
    pub(crate) name: String,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

/// A stream of calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Caller {
    pub(crate) name: String,
    /// One, or several for a call that makes several; none for an unguarded path.
    pub(crate) calls: Vec<String>,
    pub(crate) together: bool,
    /// Those of `calls` whose rejection or failure leaves the call ok.
    pub(crate) optional: Vec<String>,
    pub(crate) arrivals: Arrivals,
    pub(crate) from: Nanos,
    /// Excluded.
    pub(crate) to: Nanos,
    pub(crate) keys: Keys,
    pub(crate) stock: Option<u64>,
    pub(crate) patience: Option<Nanos>,
    pub(crate) again: u32,
    pub(crate) leaves: Leaves,
}

/// When the calls of a stream begin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arrivals {
    /// So many a second, evenly spaced.
    Rate(f64),
    /// So many a second, by chance.
    Poisson(f64),
    Every(Nanos),
    /// So many at once.
    Burst(u64),
    /// As they were recorded. Each brings its own latency and answer, in place of those of the far side.
    Recorded(Arc<[RecordedCall]>),
}

/// One call of recorded traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecordedCall {
    pub(crate) at: Nanos,
    pub(crate) latency: Nanos,
    pub(crate) answer: Answer,
    pub(crate) key: Option<u64>,
}

/// Which key a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    /// Dealt in turn over so many.
    Turn(u64),
    /// Drawn from so many, the n-th with weight 1 ÷ n.
    Rank(u64),
    Fixed(u64),
}

/// What becomes of a call whose caller has lost patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    Drop,
    Orphan,
}

/// What the far side answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Success,
    Business,
    /// `F`: a server failure.
    Failure,
    /// `C`: refused.
    Connect,
    Throttled,
    Never,
}

/// How the far side is from a moment on. Each entry says all of it: what it leaves out is at its default.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FarSide {
    pub(crate) from: Nanos,
    pub(crate) latency: Latency,
    /// Calls that run already take the new latency, from their own start.
    pub(crate) stretch: bool,
    pub(crate) answers: Answers,
    /// In turn over calls, refused or not, and not over attempts.
    pub(crate) by_arrival: bool,
    pub(crate) retry_after: Option<Nanos>,
    pub(crate) per_second: Option<u64>,
    pub(crate) overload: Answer,
    pub(crate) operation: Option<String>,
    pub(crate) instance: Option<u32>,
    pub(crate) key: Option<u64>,
}

/// How long an answer takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Latency {
    Fixed(Nanos),
    /// By chance, lognormal.
    Spread {
        median: Nanos,
        p99: Nanos,
    },
    /// By answer; what is not listed takes no time.
    ByAnswer(Vec<(Answer, Nanos)>),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answers {
    /// In turn; never empty.
    Turn(Vec<Answer>),
    /// By chance, with these shares; the rest are successes.
    Chance(Vec<(Answer, f64)>),
}

/// Connections of each instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) of: Vec<String>,
    pub(crate) size: u64,
    pub(crate) max_waiting: Option<u64>,
    pub(crate) max_wait: Option<Nanos>,
    /// A connection is taken before the breaker and the timeout.
    pub(crate) outside: bool,
}

/// How a dependency's breaker is at 0 s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) successes: u32,
    pub(crate) open: bool,
}

/// What a fallback does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fallback {
    pub(crate) does: Does,
    pub(crate) one_per_key: bool,
}

/// The work of a fallback.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Does {
    Call(String),
    Take(Nanos),
}

/// A dependency's name in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) span: std::ops::Range<usize>,
    /// It may also be a caller who calls no dependency.
    pub(crate) or_caller: bool,
}

impl Answer {
    pub(crate) const ALL: [(char, Self); 6] = [
        ('S', Self::Success),
        ('B', Self::Business),
        ('F', Self::Failure),
        ('C', Self::Connect),
        ('T', Self::Throttled),
        ('N', Self::Never),
    ];

    pub(crate) fn of(letter: char) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find_map(|(known, answer)| (known == letter).then_some(answer))
    }
}

impl Default for FarSide {
    fn default() -> Self {
        Self {
            from: 0,
            latency: Latency::Fixed(0),
            stretch: false,
            answers: Answers::Turn(vec![Answer::Success]),
            by_arrival: false,
            retry_after: None,
            per_second: None,
            overload: Answer::Failure,
            operation: None,
            instance: None,
            key: None,
        }
    }
}
