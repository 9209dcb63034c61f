//! Ours: the runtime under `resilience.toml`, its guards, and the annotated functions.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use resilience_runtime::{Guard, Policy, Runtime, breaker, bulkhead, fallback, retry};

use crate::work::{Answer, answer, finish};

/// The file's text.
pub const POLICY: &str = include_str!("../resilience.toml");

/// Dependencies that stand beside those of the file, and do nothing.
pub const IDLE: usize = 10_000;

/// The runtime that all rows share, with so many idle dependencies beside those of the file, and how long it took
/// to make.
pub fn runtime(idle: usize) -> (Runtime, Duration) {
    let text = policy(idle);
    let start = Instant::now();
    let runtime = Runtime::new(Policy::from_toml(&text).expect("the file was checked when this was compiled"));
    (runtime, start.elapsed())
}

/// The file's text and so many dependencies more, with a breaker, a bulkhead and a retry each.
pub fn policy(idle: usize) -> String {
    let mut text = POLICY.to_owned();
    for number in 0..idle {
        let name = format!("idle-{number}");
        write!(
            text,
            "\n[dependency.{name}]\nfail = \"closed\"\n[dependency.{name}.breaker]\n[dependency.{name}.bulkhead]\n\
             max_concurrent = 20\n[dependency.{name}.retry]\n"
        )
        .expect("a string takes everything");
    }
    text
}

/// The guard of a name.
pub fn guard(runtime: &Runtime, name: &str) -> Guard {
    runtime.guard(name).expect("the file has every name that is used here")
}

/// One call through a guard.
#[inline]
pub fn call(guard: &Guard) -> bool {
    finish(guard.call_once(answer(false))).is_ok()
}

/// The guard of a name, open from now on.
pub fn open(runtime: &Runtime, name: &str) -> Guard {
    let guard = guard(runtime, name);
    let _failed = finish(guard.call_once(answer(true)));
    assert!(!call(&guard), "one failure opens it");
    guard
}

/// A breaker.
#[breaker("alone")]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn alone(fail: bool) -> Answer {
    answer(fail).await
}

/// Breaker, bulkhead and timeout.
#[breaker("three")]
#[bulkhead]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn three(fail: bool) -> Answer {
    answer(fail).await
}

/// All layers but the deadline.
#[breaker("repeat")]
#[bulkhead]
#[retry]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn repeat(fail: bool) -> Answer {
    answer(fail).await
}

/// All layers.
#[breaker("every")]
#[bulkhead]
#[retry]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn every(fail: bool) -> Answer {
    answer(fail).await
}

/// A bulkhead with slots per key, for one key.
#[bulkhead("keys-1", key = key)]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn keyed_1(key: u64) -> Answer {
    answer(key == u64::MAX).await
}

/// … for a thousand.
#[bulkhead("keys-1000", key = key)]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn keyed_1_000(key: u64) -> Answer {
    answer(key == u64::MAX).await
}

/// … for a hundred thousand.
#[bulkhead("keys-100000", key = key)]
#[fallback(none = "the benchmark wants the call itself")]
pub async fn keyed_100_000(key: u64) -> Answer {
    answer(key == u64::MAX).await
}
