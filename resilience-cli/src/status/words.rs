//! A dependency in words: its state, why, for how long, and what there is to do.

use std::time::Duration;

use resilience_policy::format_duration;
use resilience_policy::overrides::utc;

use super::advice;
use super::seen::{Dependency, Override, Results};
use crate::check::plural;

/// How bad it is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Open,
    HalfOpen,
    Isolated,
    Held,
    Full,
    Unprotected,
    Degraded,
    Uneasy,
    Well,
}

impl Rank {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HalfOpen => "half_open",
            Self::Isolated => "isolated",
            Self::Held => "held",
            Self::Full => "full",
            Self::Unprotected => "unprotected",
            Self::Degraded => "degraded",
            Self::Uneasy => "uneasy",
            Self::Well => "well",
        }
    }

    /// Whether calls are turned away by a state or a hand, and not only for want of room.
    pub(super) fn refuses(self) -> bool {
        self <= Self::Held
    }

    pub(super) fn is_quiet(self) -> bool {
        self == Self::Well
    }
}

/// A dependency in words.
pub(super) struct Told<'a> {
    pub(super) name: &'a str,
    pub(super) seen: &'a Dependency,
    pub(super) rank: Rank,
    pub(super) state: String,
    pub(super) lines: Vec<String>,
    pub(super) advice: Vec<String>,
    /// For how long it has been so.
    pub(super) for_s: Option<f64>,
}

/// `now` is when the snapshot was true.
pub(super) fn tell<'a>(name: &'a str, seen: &'a Dependency, now: f64) -> Told<'a> {
    let rank = rank(seen);
    let not_closed = matches!(rank, Rank::Open | Rank::HalfOpen);
    let for_s = seen
        .open_for
        .filter(|_| not_closed)
        .or_else(|| Some((now - seen.since?).max(0.0)));
    let about = seen.about.as_ref().map_or(String::new(), |about| format!(" ({about})"));
    let lasting = for_s
        .filter(|_| not_closed)
        .map_or(String::new(), |time| format!(", for {}", lasting(time)));
    let mut told = Told {
        name,
        seen,
        rank,
        state: format!("{}{lasting}{about}", state(seen, rank)),
        lines: Vec::new(),
        advice: Vec::new(),
        for_s,
    };
    told.lines.extend(why(seen, rank));
    told.lines
        .extend(seen.overridden.as_ref().map(|hand| by_hand(hand, now)));
    told.lines.extend(figures(seen));
    told.advice = advice::advice(name, seen, rank);
    told
}

fn rank(seen: &Dependency) -> Rank {
    let full = seen.limit.is_some_and(|limit| seen.in_flight >= limit);
    match (seen.mode.as_str(), seen.state.as_deref()) {
        ("isolate", _) => Rank::Isolated,
        ("observe" | "off", _) => Rank::Unprotected,
        (_, Some("open")) => Rank::Open,
        (_, Some("half_open")) => Rank::HalfOpen,
        _ if seen.retry_after.is_some_and(|left| left > 0.0) => Rank::Held,
        _ if full => Rank::Full,
        _ if seen.degraded_ratio > 0.0 => Rank::Degraded,
        _ if seen.flapping || seen.waiting > 0 || seen.overridden.is_some() => Rank::Uneasy,
        _ => Rank::Well,
    }
}

fn state(seen: &Dependency, rank: Rank) -> String {
    let beneath = seen.state.as_deref().filter(|state| *state != "closed");
    match rank {
        Rank::Open => "open, every call is refused".into(),
        Rank::HalfOpen => "half open, a few calls try it and the others are refused".into(),
        Rank::Isolated => "isolated by hand, every call is refused".into(),
        Rank::Held => "held back, as it asked by Retry-After".into(),
        Rank::Full => "full, every slot is taken".into(),
        Rank::Unprotected => {
            let does = if seen.mode == "off" {
                "the guards do nothing"
            } else {
                "the guards look on and refuse nothing"
            };
            let beneath = beneath.map_or(String::new(), |state| {
                format!("; the breaker would be {}", state.replace('_', " "))
            });
            format!("mode {}, {does}{beneath}", seen.mode)
        }
        Rank::Degraded => format!(
            "closed, but {} of the last minute's calls were answered by a fallback",
            share(seen.degraded_ratio)
        ),
        Rank::Uneasy | Rank::Well if seen.state.is_none() => "no breaker, calls pass".into(),
        Rank::Uneasy | Rank::Well => "closed, calls pass".into(),
    }
}

/// Why it is as it is.
fn why(seen: &Dependency, rank: Rank) -> Vec<String> {
    let mut lines = Vec::new();
    if matches!(rank, Rank::Open | Rank::HalfOpen) {
        lines.push(match &seen.opened {
            Some(opened) => {
                let decided = opened
                    .threshold
                    .as_ref()
                    .map_or(String::new(), |number| format!("; {} decided", number.shown()));
                let kinds = if opened.kinds.is_empty() {
                    String::new()
                } else {
                    format!("; last: {}", opened.kinds.join(", "))
                };
                let rates = rates(opened.failure_rate, opened.slow_rate);
                format!(
                    "opened by {}{rates} of {} calls{decided}{kinds}",
                    words(&opened.cause),
                    opened.calls
                )
            }
            None => match seen.cause.as_deref() {
                Some("cooldown_over") => words("cooldown_over"),
                Some(cause) => format!("opened by {}", words(cause)),
                None => "why it opened is not in the snapshot".into(),
            },
        });
        let pooled = seen.opened.as_ref().and_then(|opened| opened.pooled.as_ref());
        lines.extend(pooled.map(|pooled| {
            let Results { calls, bad } = pooled.own;
            let instances = pooled.instances;
            format!("that is what {instances} instances counted together; here it was {bad} bad of {calls} calls")
        }));
        let cause = seen
            .cause
            .as_deref()
            .filter(|cause| seen.opened.as_ref().is_some_and(|opened| opened.cause != *cause));
        lines.extend(cause.map(|cause| format!("since then: {}", words(cause))));
    }
    let left = seen
        .next_probe_in
        .filter(|_| rank == Rank::Open)
        .map(|left| format!("the next probe is in {}", lasting(left)));
    let told = seen.retry_after.filter(|left| *left > 0.0 && rank != Rank::Isolated);
    let told = told.map(|left| format!("callers are told to come back in {}", lasting(left.ceil())));
    lines.extend([left, told].into_iter().flatten());
    if seen.flapping {
        lines.push(format!(
            "flapping: it left closed {} times in ten minutes",
            seen.openings
        ));
    }
    lines
}

fn by_hand(hand: &Override, now: f64) -> String {
    let until = Duration::try_from_secs_f64(hand.until).unwrap_or_default();
    let answer = hand
        .answer
        .as_ref()
        .map_or(String::new(), |answer| format!(", answer \"{answer}\""));
    format!(
        "mode {} by {}: {}{answer}; until {}, {} from now",
        hand.mode,
        hand.by,
        hand.reason,
        utc(std::time::SystemTime::UNIX_EPOCH + until),
        lasting(hand.until - now)
    )
}

/// What is taken, and what the window holds.
fn figures(seen: &Dependency) -> Vec<String> {
    let slots = match seen.limit {
        Some(limit) => format!("{} of {limit} slots taken", seen.in_flight),
        None => format!("{} calls running", seen.in_flight),
    };
    let line = seen
        .max_waiting
        .filter(|max| *max > 0)
        .map_or(String::new(), |max| format!(", {} of {max} waiting", seen.waiting));
    let window = seen.state.as_ref().map_or(String::new(), |_| {
        let rates = rates(seen.failure_rate, seen.slow_rate);
        format!("; {} calls in the window{rates}", seen.calls)
    });
    let mut lines = vec![format!("{slots}{line}{window}")];
    if let Some(others) = &seen.others {
        let Results { calls, bad } = others.results;
        let count = plural(
            usize::try_from(others.count).unwrap_or(usize::MAX),
            "other instance",
            "other instances",
        );
        lines.push(format!("{count} counted {bad} bad of {calls} calls, judged with these"));
    }
    if seen.degraded_ratio > 0.0 {
        lines.push(format!(
            "{} of the last minute's calls were answered by a fallback",
            share(seen.degraded_ratio)
        ));
    }
    let never_ran = never_ran(seen);
    if !never_ran.is_empty() {
        lines.push(format!(
            "fallbacks that never ran, so nobody knows whether they work: {}",
            never_ran.join(", ")
        ));
    }
    if !seen.functions.is_empty() {
        lines.push(format!("guarded: {}", seen.functions.join(", ")));
    }
    lines
}

/// Function by function where the service tells that, else by kind.
fn never_ran(seen: &Dependency) -> Vec<String> {
    let Some(untried) = &seen.untried else {
        return seen.never_ran.clone();
    };
    let told = untried.iter().map(|one| {
        let function = one.function.rsplit("::").next().unwrap_or_default();
        format!("`{}` of {function}", one.path.as_ref().unwrap_or(&one.kind))
    });
    told.collect()
}

fn rates(failed: Option<f64>, slow: Option<f64>) -> String {
    let failed = failed.map(|rate| format!("{} failed", share(rate)));
    let slow = slow
        .filter(|rate| *rate > 0.0)
        .map(|rate| format!("{} slow", share(rate)));
    let rates: Vec<String> = [failed, slow].into_iter().flatten().collect();
    if rates.is_empty() {
        String::new()
    } else {
        format!(", {}", rates.join(" and "))
    }
}

/// A cause in words.
fn words(cause: &str) -> String {
    match cause {
        "failure_rate" => "its failure rate".into(),
        "slow_rate" => "its share of slow calls".into(),
        "bad_rate" => "its share of failed or slow calls".into(),
        "consecutive_failures" => "failures in a row".into(),
        "in_flight" => "too many calls at once".into(),
        "probe_failed" => "a probe that failed".into(),
        "probe_slow" => "a probe that was slow".into(),
        "probe_timed_out" => "a probe that timed out".into(),
        "cooldown_over" => "its cooldown is over, probes try it".into(),
        "trip" => "a hand".into(),
        other => other.replace('_', " "),
    }
}

fn share(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

/// A time that people read: days, whole seconds, or milliseconds below one.
pub(super) fn lasting(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    let days = time.as_secs() / 86_400;
    if days >= 2 {
        return format!("{days} days");
    }
    let whole = if time < Duration::from_secs(1) {
        Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(0))
    } else {
        Duration::from_secs(time.as_secs())
    };
    format_duration(whole)
}
