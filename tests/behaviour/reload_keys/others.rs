//! Keys of the dependency itself, of chaos, of this process, and those that nothing runs on.

use resilience_runtime::Failure;

use super::{Live, Row, row};
use crate::kit::{Gate, secs};
use crate::stand::words;

impl Live {
    /// What a snapshot says beside the policy's own words and numbers, which did change.
    fn state_alone(&self) -> serde_json::Value {
        let mut all = serde_json::to_value(self.runtime.snapshot().dependencies).unwrap();
        for dependency in all.as_object_mut().unwrap().values_mut() {
            for of_the_policy in ["about", "agreed", "numbers"] {
                dependency.as_object_mut().unwrap().remove(of_the_policy);
            }
        }
        all
    }

    /// A key that nothing runs on: what runs, waits, is counted and is known is what it was.
    pub(super) async fn nothing_moves(&self) {
        let gate = Gate::new("S");
        let running = self.begun(&gate, 1).await;
        let before = self.state_alone();
        self.change();
        assert_eq!(before, self.state_alone());
        gate.open(1);
        for call in running {
            assert_eq!(call.await.unwrap().0, "ok");
        }
    }
}

#[allow(clippy::too_many_lines)] // a row for each key
pub(super) fn rows() -> Vec<Row> {
    vec![
        row!(Instance Restart "far", "", "runtime.instance = \"a\"" => "runtime.instance = \"b\"", |live| {
            live.change();
            assert_eq!(live.runtime.snapshot().instance, "a");
        }),
        // That the other file is taken is shown with real files, in `tests/rig`.
        row!(Overrides AtOnce "far", "", "runtime.overrides = \"a.toml\"" => "runtime.overrides = \"b.toml\"", |live| {
            live.change();
            assert!(live.runtime.policy().runtime().overrides.ends_with("b.toml"));
        }),
        // What the exchange makes of them is shown with a real Redis, in `resilience-admin`.
        row!(FleetRedis Exchange "far", "", "fleet.redis = \"redis://a/\"" => "fleet.redis = \"redis://b/\"", |live| {
            live.change();
            assert_eq!(live.runtime.policy().fleet().unwrap().redis, "redis://b/");
        }),
        row!(FleetName Exchange "far", "", "fleet = { redis = \"redis://a/\", name = \"a\" }" => "fleet = { redis = \"redis://a/\", name = \"b\" }", |live| {
            live.nothing_moves().await;
            assert_eq!(live.runtime.policy().fleet().unwrap().name.as_deref(), Some("b"));
        }),
        row!(FleetEvidence Exchange "far", "", "fleet = { redis = \"redis://a/\", evidence = \"view\" }" => "fleet = { redis = \"redis://a/\", evidence = \"pooled\" }", |live| {
            live.nothing_moves().await;
            assert_eq!(live.runtime.policy().fleet().unwrap().evidence.as_str(), "pooled");
        }),
        row!(FleetInterval Exchange "far", "", "fleet = { redis = \"redis://a/\", interval = \"1s\" }" => "fleet = { redis = \"redis://a/\", interval = \"5s\" }", |live| {
            live.nothing_moves().await;
            assert_eq!(live.runtime.policy().fleet().unwrap().interval, secs(5));
        }),
        row!(ChaosSwitch AtOnce "far", "chaos.failure = 1.0", "runtime.chaos = false" => "runtime.chaos = true", |live| {
            assert_eq!(live.one("S").await, "ok");
            live.change();
            // Nobody of ours can make an error of the caller's: an attempt that chaos took is told as a rejection.
            assert_eq!(live.one("S").await, "isolated");
        }),
        row!(Inherits AtOnce "far", "", "inherits = \"one\"" => "inherits = \"two\"", |live| {
            live.nothing_moves().await;
            assert_eq!(live.runtime.policy().dependency("far").unwrap().about.as_deref(), Some("two"));
        }),
        row!(About Words "far", "", "about = \"a\"" => "about = \"b\"", |live| { live.nothing_moves().await; }),
        row!(Agreed Words "far", "", "agreed = \"a\"" => "agreed = \"b\"", |live| { live.nothing_moves().await; }),
        row!(Uses Words "far", "", "" => "uses = []", |live| { live.nothing_moves().await; }),
        row!(Label AtOnce "far", "mode = \"isolate\"", "label = \"a\"" => "label = \"b\"", |live| {
            let told = || async {
                let Err(Failure::Rejected(told)) = live.guard.call(|| Gate::new("S").run()).await else { panic!("isolated") };
                told.label().map(str::to_owned)
            };
            assert_eq!(told().await.as_deref(), Some("a"));
            live.change();
            assert_eq!(told().await.as_deref(), Some("b"));
        }),
        row!(Mode AtOnce "far", "", "mode = \"enforce\"" => "mode = \"isolate\"", |live| {
            let gate = Gate::new("S");
            let running = live.begun(&gate, 1).await;
            live.change();
            assert_eq!(live.one("S").await, "isolated");
            gate.open(1);
            for call in running {
                assert_eq!(call.await.unwrap().0, "ok");
            }
        }),
        row!(Timeout AtOnce "far", "", "timeout = \"1s\"" => "timeout = \"3s\"", |live| {
            let running = live.begin(&Gate::new("S"));
            live.at_ms(500).await;
            live.change();
            assert_eq!((running.await.unwrap(), live.timed("H").await), (("timed_out", 1_000), ("timed_out", 3_000)));
        }),
        row!(Deadline NextCall "far", "", "deadline = \"1s\"" => "deadline = \"3s\"", |live| {
            let running = live.begin(&Gate::new("S"));
            live.at_ms(500).await;
            live.change();
            let exceeded = "deadline_exceeded";
            assert_eq!((running.await.unwrap(), live.timed("H").await), ((exceeded, 1_000), (exceeded, 3_000)));
        }),
        row!(Throttle AtOnce "far", "", "throttle = \"call\"" => "throttle = \"dependency\"", |live| {
            assert_eq!(live.each("Q20s S").await, words("throttled ok"));
            live.change();
            assert_eq!(live.each("Q20s S").await, words("throttled held"));
        }),
        row!(MaxHold AtOnce "far", "throttle = \"dependency\"", "max_hold = \"60s\"" => "max_hold = \"5s\"", |live| {
            live.change();
            assert_eq!(live.each("Q20s S").await, words("throttled held"));
            live.at_ms(5_000).await;
            assert_eq!(live.one("S").await, "ok");
        }),
        row!(Failures AtOnce "far", "timeout = \"1h\"\nbreaker = { window = \"9 calls\" }",
            "failures = [\"server\"]" => "failures = [\"connect\"]", |live| {
            live.each("F C").await;
            assert_eq!(live.read().calls, 1);
            live.change();
            live.each("F F C").await;
            assert_eq!(live.read().calls, 2);
        }),
        row!(CallsPerSecond Words "far", "", "traffic.calls_per_second = 1.0" => "traffic.calls_per_second = 2.0", |live| { live.nothing_moves().await; }),
        row!(Instances Words "far", "", "traffic.instances = 1" => "traffic.instances = 2", |live| { live.nothing_moves().await; }),
        row!(Latency Words "far", "", "traffic.latency = \"1s\"" => "traffic.latency = \"2s\"", |live| { live.nothing_moves().await; }),
        row!(LatencyP99 Words "far", "", "traffic.latency_p99 = \"1s\"" => "traffic.latency_p99 = \"2s\"", |live| { live.nothing_moves().await; }),
        row!(Capacity Words "far", "", "traffic.capacity = 1" => "traffic.capacity = 2", |live| { live.nothing_moves().await; }),
        row!(ChaosFailure AtOnce "far", "", "chaos.failure = 0.0" => "chaos.failure = 1.0", |live| {
            assert_eq!(live.one("S").await, "ok");
            live.change();
            // Nobody of ours can make an error of the caller's: an attempt that chaos took is told as a rejection.
            assert_eq!(live.one("S").await, "isolated");
        }),
        row!(ChaosLatency AtOnce "far", "chaos.latency_share = 1.0", "chaos.latency = \"1s\"" => "chaos.latency = \"3s\"", |live| {
            assert_eq!(live.timed("S").await, ("ok", secs(1).as_millis()));
            live.change();
            assert_eq!(live.timed("S").await, ("ok", secs(3).as_millis()));
        }),
        row!(ChaosLatencyShare AtOnce "far", "chaos.latency = \"1s\"", "chaos.latency_share = 0.0" => "chaos.latency_share = 1.0", |live| {
            assert_eq!(live.timed("S").await, ("ok", 0));
            live.change();
            assert_eq!(live.timed("S").await, ("ok", 1_000));
        }),
        row!(ResourceCapacity Words "far", "", "resource.db.capacity = 1" => "resource.db.capacity = 2", |live| { live.nothing_moves().await; }),
    ]
}
