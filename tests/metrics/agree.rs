//! Metrics and snapshot say the same, after whatever happened.

use metrics::set_default_local_recorder;
use proptest::prelude::*;
use resilience_runtime::{Mode, Override};

use crate::exposition::{Page, recorder};
use crate::kit::{self, Script, ms, secs};
use crate::names::EVERY_LAYER;

#[derive(Debug, Clone)]
enum Act {
    Call(&'static str),
    Pass(u64),
    Hand(Mode),
    Free,
    Reload(bool),
}

fn act() -> impl Strategy<Value = Act> {
    const STEPS: &[&str] = &[
        "S", "B", "F", "C", "T", "X", "O", "Q", "Q1s", "I", "S/5s", "S/30ms", "F/1500ms",
    ];
    prop_oneof![
        8 => prop::sample::select(STEPS).prop_map(Act::Call),
        3 => (1_u64..15_000).prop_map(Act::Pass),
        1 => prop::sample::select(Mode::ALL).prop_map(Act::Hand),
        1 => Just(Act::Free),
        1 => any::<bool>().prop_map(Act::Reload),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn metrics_and_snapshot_agree_after_every_act(acts in prop::collection::vec(act(), 1..60)) {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        tokio.block_on(async {
            let recorder = recorder();
            let _installed = set_default_local_recorder(&recorder);
            let (runtime, guard) = kit::guard(EVERY_LAYER);
            for act in acts {
                match act {
                    Act::Call(step) => {
                        kit::call(&guard, &Script::new(step)).await;
                    }
                    Act::Pass(time) => tokio::time::advance(ms(time)).await,
                    Act::Hand(mode) => runtime.set_mode("far", Override::new(mode, "test", "chance", secs(60))).unwrap(),
                    Act::Free => {
                        let _ = runtime.clear_mode("far");
                    }
                    Act::Reload(wide) => {
                        let lines = if wide { EVERY_LAYER.replace("4 calls", "6 calls") } else { EVERY_LAYER.to_owned() };
                        runtime.reload(kit::policy(&lines)).unwrap();
                    }
                }
                let snapshot = runtime.snapshot();
                let page = Page::of(&recorder.handle());
                let far = snapshot.dependency("far").unwrap();
                let same = |name: &str, labels: &[(&str, &str)], value: f64| {
                    let seen = page.sum(name, labels);
                    assert!((seen - value).abs() < 1e-6, "{name} {labels:?}: {seen}, and the snapshot says {value}");
                };
                #[allow(clippy::cast_precision_loss)] // a few dozen
                let number = |count: &u64| *count as f64;
                for (outcome, count) in &far.outcomes {
                    same("resilience_calls_total", &[("outcome", outcome)], number(count));
                }
                for (served, count) in &far.served {
                    same("resilience_calls_total", &[("served", served)], number(count));
                }
                for (reason, count) in &far.rejections {
                    same("resilience_rejections_total", &[("reason", reason)], number(count));
                }
                for (outcome, count) in &far.probes {
                    same("resilience_probes_total", &[("outcome", outcome)], number(count));
                }
                same("resilience_attempts_total", &[], number(&far.attempts.values().sum()));
                same("resilience_retries_total", &[], number(&far.retries));
                for state in ["closed", "open", "half_open"] {
                    let is = f64::from(u8::from(far.state == Some(state)));
                    same("resilience_breaker_state", &[("state", state)], is);
                }
                same("resilience_mode", &[("mode", far.mode)], 1.0);
                same("resilience_mode", &[], 1.0);
                same("resilience_breaker_open_seconds", &[], far.open_for.unwrap_or(0.0));
                same("resilience_failure_rate", &[], far.failure_rate.unwrap_or(0.0));
                same("resilience_slow_rate", &[], far.slow_rate.unwrap_or(0.0));
                same("resilience_bulkhead_in_flight", &[], number(&far.in_flight));
                same("resilience_retry_budget", &[], far.retry_budget.unwrap_or(0.0));
                same("resilience_degraded_ratio", &[], far.degraded_ratio);
                same("resilience_policy_info", &[("hash", &snapshot.policy.hash)], 1.0);
                same("resilience_policy_info", &[], 1.0);
                same("resilience_policy_reloads_total", &[("result", "accepted")], number(&snapshot.policy.reloads.accepted));
            }
        });
    }
}
