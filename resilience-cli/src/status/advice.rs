//! What there is to do about a state, and what to leave alone.

use super::seen::Dependency;
use super::words::Rank;

/// One line for each thing to do; the first is the first to think of.
pub(super) fn advice(name: &str, seen: &Dependency, rank: Rank) -> Vec<String> {
    let hand = |mode: &str| format!("`resilience override {name} {mode} --by … --reason … --for 1h`");
    let mut advice = Vec::new();
    match rank {
        Rank::Open | Rank::HalfOpen => {
            let cause = seen
                .opened
                .as_ref()
                .map_or(seen.cause.as_deref(), |opened| Some(opened.cause.as_str()));
            advice.push(format!(
                "if `{name}` is in trouble, do nothing: it is let off, and probes find out when it is back"
            ));
            if let Some(key) = cause.and_then(key_of) {
                advice.push(format!(
                    "if it is well, the threshold is too tight: {}",
                    seen.number(key)
                ));
            }
            advice.push(format!("to let every call through meanwhile: {}", hand("observe")));
        }
        Rank::Isolated if seen.overridden.is_some() => {
            advice.push(format!(
                "it ends by itself; sooner: `resilience override {name} --clear`"
            ));
        }
        Rank::Isolated => advice.push(format!("the policy says so: {}", seen.number("mode"))),
        Rank::Held => advice.push(format!(
            "nothing to change, it asked for this; the longest that is obeyed is {}",
            seen.number("max_hold")
        )),
        Rank::Full => {
            advice.push(format!(
                "more room only if the far side can take more: {}",
                seen.number("bulkhead.max_concurrent")
            ));
            advice.push(format!(
                "if calls take longer than they should: {}",
                seen.number("timeout")
            ));
        }
        Rank::Unprotected if seen.overridden.is_some() => {
            advice.push(format!("back under guard: `resilience override {name} --clear`"));
        }
        Rank::Unprotected => advice.push(format!("back under guard: {}", seen.number("mode"))),
        Rank::Degraded => {
            advice.push("look why the primary fails or refuses: the fallback hides it from users, not from you".into());
        }
        Rank::Uneasy | Rank::Well => {}
    }
    if seen.flapping {
        advice.push(format!(
            "it heals too briefly to close for good: longer {}, or more {}",
            seen.number("breaker.cooldown"),
            seen.number("breaker.probe_successes")
        ));
    }
    advice
}

/// The key that a cause is about.
fn key_of(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "failure_rate" => "breaker.failure_rate",
        "slow_rate" => "breaker.slow_rate",
        "bad_rate" => "breaker.bad_rate",
        "consecutive_failures" => "breaker.consecutive_failures",
        "in_flight" => "breaker.in_flight",
        "probe_slow" => "breaker.slow_after",
        "probe_timed_out" => "timeout",
        _ => return None,
    })
}
