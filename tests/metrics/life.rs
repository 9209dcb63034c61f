//! Recorders, runtimes and policies come and go.

use std::pin::pin;

use metrics::set_default_local_recorder;

use crate::exposition::{Page, recorder};
use crate::kit::{self, Gate, Script, poll_once};

const FAR: (&str, &str) = ("dependency", "far");

#[tokio::test(start_paused = true)]
async fn a_recorder_that_is_installed_later_is_told_everything() {
    let (runtime, guard) = kit::guard("timeout = \"1s\"");
    kit::calls(&guard, &Script::new("S"), 3).await;
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    runtime.refresh_metrics();
    let page = Page::of(&recorder.handle());
    assert_eq!(
        page.get("resilience_calls_total", &[FAR, ("outcome", "success")]),
        Some(3.0)
    );
    assert_eq!(
        page.get("resilience_calls_total", &[FAR, ("outcome", "cancelled")]),
        Some(0.0)
    );
    let second = crate::exposition::recorder();
    let _instead = set_default_local_recorder(&second);
    kit::calls(&guard, &Script::new("S"), 1).await;
    let page = Page::of(&second.handle());
    assert_eq!(
        page.get("resilience_calls_total", &[FAR, ("outcome", "success")]),
        Some(4.0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_timed_only_if_somebody_records_at_its_begin_and_at_its_end() {
    let recorder = recorder();
    let told = || {
        let page = Page::of(&recorder.handle());
        let calls = page.get("resilience_calls_total", &[FAR, ("outcome", "success")]);
        (calls, page.measured("far"))
    };
    let (runtime, guard) = kit::guard("timeout = \"1s\"");
    let gate = Gate::new("S");
    let mut before = pin!(guard.call(|| gate.run()));
    assert!(poll_once(before.as_mut()).is_pending());
    let installed = set_default_local_recorder(&recorder);
    runtime.refresh_metrics();
    let mut within = pin!(guard.call(|| gate.run()));
    assert!(poll_once(within.as_mut()).is_pending());
    let mut after = pin!(guard.call(|| gate.run()));
    assert!(poll_once(after.as_mut()).is_pending());
    gate.open(1);
    assert!(poll_once(before.as_mut()).is_ready());
    assert_eq!(told(), (Some(1.0), 0.0), "nobody asked when it began");
    gate.open(1);
    assert!(poll_once(within.as_mut()).is_ready());
    assert_eq!(told(), (Some(2.0), 1.0));
    drop(installed);
    gate.open(1);
    assert!(poll_once(after.as_mut()).is_ready());
    assert_eq!(told(), (Some(2.0), 1.0), "nobody records any more");
}

#[tokio::test(start_paused = true)]
async fn met_13_two_runtimes_of_one_process_add_up() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (_first, one) = kit::guard("timeout = \"1s\"");
    let (_second, two) = kit::guard("timeout = \"1s\"");
    kit::calls(&one, &Script::new("S"), 3).await;
    kit::calls(&two, &Script::new("S"), 2).await;
    let page = Page::of(&recorder.handle());
    assert_eq!(
        page.get("resilience_calls_total", &[FAR, ("outcome", "success")]),
        Some(5.0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_reload_shows_the_new_names_the_new_hash_and_what_was_refused() {
    let recorder = recorder();
    let _installed = set_default_local_recorder(&recorder);
    let (runtime, guard) = kit::guard("timeout = \"1s\"\nbreaker = {}");
    kit::call(&guard, &Script::new("S")).await;
    let before = runtime.snapshot().policy.hash;
    let text = "version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"2s\"\nbreaker = {}\n[dependency.near]\nfail = \"open\"\n";
    runtime.reload(kit::parse(text)).unwrap();
    runtime.reload(kit::parse("version = 1\n")).unwrap_err();
    let page = Page::of(&recorder.handle());
    let after = runtime.snapshot().policy.hash;
    assert_ne!(before, after);
    assert_eq!(page.get("resilience_policy_info", &[("hash", &before)]), Some(0.0));
    assert_eq!(page.get("resilience_policy_info", &[("hash", &after)]), Some(1.0));
    for (result, count) in [("accepted", 1.0), ("refused", 1.0)] {
        assert_eq!(
            page.get("resilience_policy_reloads_total", &[("result", result)]),
            Some(count)
        );
    }
    assert_eq!(page.get("resilience_policy_stale", &[]), Some(1.0));
    let near = [("dependency", "near"), ("outcome", "success")];
    assert_eq!(page.get("resilience_calls_total", &near), Some(0.0));
    runtime.reload(kit::parse(&text.replace("near", "other"))).unwrap();
    let page = Page::of(&recorder.handle());
    assert_eq!(page.get("resilience_policy_stale", &[]), Some(0.0));
    assert_eq!(
        page.get("resilience_mode", &[("dependency", "near"), ("mode", "enforce")]),
        Some(0.0),
        "it is no more"
    );
    assert_eq!(
        page.get("resilience_calls_total", &[FAR, ("outcome", "success")]),
        Some(1.0)
    );
}

#[tokio::test(start_paused = true)]
async fn met_02_without_a_recorder_a_call_is_what_it_was() {
    let (runtime, guard) = kit::guard("timeout = \"1s\"\nbreaker = {}");
    assert_eq!(kit::calls(&guard, &Script::new("S F"), 2).await, ["ok", "server"]);
    runtime.refresh_metrics();
    assert_eq!(
        runtime
            .snapshot()
            .dependency("far")
            .unwrap()
            .outcomes
            .values()
            .sum::<u64>(),
        2
    );
}
