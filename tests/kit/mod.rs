//! What the behaviour tests share: a far side that does as it is told, policies in a line, virtual time.
#![allow(dead_code)] // every test binary uses a part of it

mod far;
mod time;

#[allow(unused_imports)] // as above
pub(crate) use far::{FarError, Gate, Script};
#[allow(unused_imports)]
pub(crate) use time::{Clock, ms, poll_once, secs, settle, spawn_all, together};

use std::collections::BTreeMap;

use resilience_runtime::{Failure, Guard, Policy, Runtime};

/// The policy of one dependency named `far`: `lines` are keys of its table, written with dots
/// (`breaker.window = "20 calls"`). It fails closed.
pub(crate) fn policy(lines: &str) -> Policy {
    parse(&format!("version = 1\n[dependency.far]\nfail = \"closed\"\n{lines}\n"))
}

/// A policy from its whole text.
pub(crate) fn parse(text: &str) -> Policy {
    Policy::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A runtime of [`policy`].
pub(crate) fn runtime(lines: &str) -> Runtime {
    Runtime::new(policy(lines))
}

/// A runtime of [`policy`] and the guard of its dependency.
pub(crate) fn guard(lines: &str) -> (Runtime, Guard) {
    let runtime = runtime(lines);
    let guard = runtime.guard("far").unwrap();
    (runtime, guard)
}

/// A breaker over the last 20 calls that opens at half of them for 30 s, exactly, under a timeout of 3 s.
pub(crate) const LAST_TWENTY: &str = r#"
timeout = "3s"
breaker.window = "20 calls"
breaker.minimum_calls = 20
breaker.failure_rate = 0.5
breaker.cooldown = "30s"
breaker.cooldown_jitter = 0.0
"#;

/// How a call ended, in a word: `ok`, the word of the far side's error, or the reason of the rejection.
pub(crate) fn seen<T>(result: &Result<T, Failure<FarError>>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(Failure::Error(error)) => error.word(),
        Err(Failure::Rejected(rejection)) => rejection.reason().as_str(),
    }
}

/// One call of `guard` with the script's next step as its body.
pub(crate) async fn call(guard: &Guard, script: &Script) -> &'static str {
    seen(&guard.call(|| script.run()).await)
}

/// As many calls one after the other, and how they ended.
pub(crate) async fn calls(guard: &Guard, script: &Script, count: usize) -> Vec<&'static str> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(call(guard, script).await);
    }
    all
}

/// How often each word occurs.
pub(crate) fn tally(words: &[&'static str]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(*word).or_default() += 1;
    }
    counts
}

/// The state of `far`'s breaker, as the snapshot says it.
pub(crate) fn state(runtime: &Runtime) -> &'static str {
    state_of(runtime, "far")
}

/// The same of any dependency.
pub(crate) fn state_of(runtime: &Runtime, dependency: &str) -> &'static str {
    runtime.snapshot().dependency(dependency).unwrap().state.unwrap()
}

/// Results in the window of `far`'s breaker.
pub(crate) fn window(runtime: &Runtime) -> u32 {
    runtime.snapshot().dependency("far").unwrap().calls
}

/// Slots of `far` that are taken, and calls that wait for one.
pub(crate) fn slots(runtime: &Runtime) -> (u64, u32) {
    let snapshot = runtime.snapshot();
    let far = snapshot.dependency("far").unwrap();
    (far.in_flight, far.waiting)
}
