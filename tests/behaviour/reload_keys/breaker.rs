//! Keys of the breaker.

use super::{Row, row};
use crate::kit::Gate;
use crate::stand::words;

const NINE: &str = "timeout = \"1h\"\nbreaker.window = \"9 calls\"\nbreaker.minimum_calls = 2\n";
/// Two failures open it.
const TWO: &str = "timeout = \"1h\"\nbreaker.window = \"2 calls\"\nbreaker.minimum_calls = 2\n";

macro_rules! beside {
    ($($line:literal)+) => { concat!("timeout = \"1h\"\n", $($line, "\n"),+) };
}

#[allow(clippy::too_many_lines)] // a row for each key
pub(super) fn rows() -> Vec<Row> {
    vec![
        row!(Window WindowEmpty "far", "timeout = \"1h\"\nbreaker.minimum_calls = 1\nbreaker.failure_rate = false",
            "breaker.window = \"9 calls\"" => "breaker.window = \"8 calls\"", |live| {
            live.one("F").await;
            assert_eq!(live.read().calls, 1);
            live.change();
            assert_eq!(live.read().calls, 0);
        }),
        row!(MinimumCalls AtOnce "far", "timeout = \"1h\"\nbreaker.window = \"9 calls\"",
            "breaker.minimum_calls = 9" => "breaker.minimum_calls = 2", |live| {
            live.each("F F").await;
            live.change();
            assert_eq!((live.state(), live.read().calls), ("closed", 2));
            live.one("F").await;
            assert_eq!(live.state(), "open");
        }),
        row!(FailureRate AtOnce "far", NINE, "breaker.failure_rate = 1.0" => "breaker.failure_rate = 0.5", |live| {
            live.each("S F F").await;
            live.change();
            assert_eq!(live.state(), "closed");
            live.one("S").await;
            assert_eq!(live.state(), "open");
        }),
        row!(SlowAfter AtOnce "far",
            beside!("breaker.window = \"9 calls\"" "breaker.minimum_calls = 2" "breaker.failure_rate = false" "breaker.slow_rate = 0.3"),
            "breaker.slow_after = \"400ms\"" => "breaker.slow_after = \"100ms\"", |live| {
            live.each("S/200ms S/200ms").await;
            live.change();
            live.one("S/200ms").await;
            assert_eq!(live.state(), "open");
        }),
        row!(SlowRate AtOnce "far",
            beside!("breaker.window = \"9 calls\"" "breaker.minimum_calls = 2" "breaker.failure_rate = false" "breaker.slow_after = \"100ms\""),
            "breaker.slow_rate = 1.0" => "breaker.slow_rate = 0.3", |live| {
            live.each("S S/200ms").await;
            live.change();
            assert_eq!(live.state(), "closed");
            live.one("S").await;
            assert_eq!(live.state(), "open");
        }),
        row!(BadRate AtOnce "far",
            beside!("breaker.window = \"9 calls\"" "breaker.minimum_calls = 2" "breaker.failure_rate = false" "breaker.slow_after = \"100ms\""),
            "breaker.bad_rate = 1.0" => "breaker.bad_rate = 0.6", |live| {
            live.each("S S/200ms F").await;
            live.change();
            assert_eq!(live.state(), "closed");
            live.one("F").await;
            assert_eq!(live.state(), "open");
        }),
        row!(ConsecutiveFailures AtOnce "far", "timeout = \"1h\"\nbreaker.window = \"9 calls\"\nbreaker.minimum_calls = 9",
            "breaker.consecutive_failures = 9" => "breaker.consecutive_failures = 2", |live| {
            live.each("F F").await;
            live.change();
            live.one("F").await;
            assert_eq!(live.state(), "open");
        }),
        row!(InFlight AtOnce "far", NINE, "breaker.in_flight = 9" => "breaker.in_flight = 3", |live| {
            let gate = Gate::new("S");
            let mut running = live.begun(&gate, 3).await;
            live.change();
            assert_eq!(live.state(), "closed");
            running.extend(live.begun(&gate, 1).await);
            assert_eq!((live.state(), gate.running()), ("open", 4));
            gate.open(4);
        }),
        row!(Cooldown Cooldown "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown_jitter = 0.0"),
            "breaker.cooldown = \"30s\"" => "breaker.cooldown = \"10s\"", |live| {
            live.each("F F").await;
            live.at_ms(5_000).await;
            live.change();
            live.at_ms(9_999).await;
            assert_eq!(live.one("S").await, "open");
            live.at_ms(10_000).await;
            assert_eq!(live.one("S").await, "ok");
        }),
        row!(CooldownMax Cooldown "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown_jitter = 0.0" "breaker.cooldown = \"30s\""),
            "breaker.cooldown_max = \"5m\"" => "breaker.cooldown_max = \"40s\"", |live| {
            live.each("F F").await;
            live.at_ms(30_000).await;
            live.one("F").await;
            live.change();
            live.at_ms(69_999).await;
            assert_eq!(live.one("S").await, "open");
            live.at_ms(70_000).await;
            assert_eq!(live.one("S").await, "ok");
        }),
        row!(CooldownFactor Cooldown "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown_jitter = 0.0" "breaker.cooldown = \"30s\""),
            "breaker.cooldown_factor = 2.0" => "breaker.cooldown_factor = 3.0", |live| {
            live.each("F F").await;
            live.at_ms(30_000).await;
            live.one("F").await;
            live.change();
            live.at_ms(119_999).await;
            assert_eq!(live.one("S").await, "open");
            live.at_ms(120_000).await;
            assert_eq!(live.one("S").await, "ok");
        }),
        row!(CooldownJitter Cooldown "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown = \"30s\""),
            "breaker.cooldown_jitter = 0.0" => "breaker.cooldown_jitter = 0.5", |live| {
            live.each("F F").await;
            let left = || live.read().retry_after.unwrap();
            assert!((left() - 30.0).abs() < 1e-9);
            live.change();
            let spread = left();
            assert!((15.0..=45.0).contains(&spread) && (spread - 30.0).abs() > 1e-9, "{spread}");
            // The spread is drawn once, at the opening.
            live.runtime.reload(live.policies[0].clone()).unwrap();
            assert!((left() - 30.0).abs() < 1e-9);
        }),
        row!(Probes AtOnce "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown = \"1s\"" "breaker.cooldown_jitter = 0.0" "breaker.probe_successes = 3"),
            "breaker.probes = 1" => "breaker.probes = 3", |live| {
            live.each("F F").await;
            live.at_ms(1_000).await;
            let gate = Gate::new("S");
            let mut running = live.begun(&gate, 2).await;
            assert_eq!(gate.running(), 1);
            live.change();
            running.extend(live.begun(&gate, 3).await);
            assert_eq!(gate.running(), 3);
            gate.open(3);
        }),
        row!(ProbeSuccesses AtOnce "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown = \"1s\"" "breaker.cooldown_jitter = 0.0" "breaker.probes = 1"),
            "breaker.probe_successes = 9" => "breaker.probe_successes = 2", |live| {
            live.each("F F").await;
            live.at_ms(1_000).await;
            live.one("S").await;
            live.change();
            assert_eq!(live.state(), "half_open");
            live.one("S").await;
            assert_eq!(live.state(), "closed");
        }),
        row!(Ramp AtOnce "far",
            beside!("breaker.window = \"2 calls\"" "breaker.cooldown = \"1s\"" "breaker.cooldown_jitter = 0.0"),
            "" => "breaker.ramp = [0.5]", |live| {
            live.each("F F").await;
            live.at_ms(1_000).await;
            assert_eq!(live.state(), "half_open");
            live.change();
            assert_eq!(live.each("S S").await, words("ok ok"));
            // The one probe began the ramp, and the first arrival of the ramp ended it.
            assert_eq!(live.read().cause, Some("ramp_done"));
        }),
        row!(SampleEvery AtOnce "far", TWO, "" => "breaker.sample_every = \"5s\"", |live| {
            live.each("F F").await;
            live.at_ms(5_000).await;
            assert_eq!(live.one("S").await, "open");
            live.change();
            assert_eq!(live.each("S S").await, words("ok open"));
        }),
    ]
}
