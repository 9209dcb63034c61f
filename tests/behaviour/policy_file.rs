//! What the policy file means.

use resilience_runtime::{Policy, Runtime};

use crate::kit::{Gate, Script, call, calls, parse, settle};
use crate::stand::{Stand, words};

fn guards(text: &str) -> impl Fn(&str) -> resilience_runtime::Guard {
    let runtime = Runtime::new(parse(text));
    move |name| runtime.guard(name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn cfg_01_02_and_03_the_most_specific_number_wins() {
    let guard = guards(
        r#"
        version = 1
        [defaults]
        retry = { max_attempts = 8, backoff = "0s" }
        [dependency.one]
        fail = "closed"
        retry.max_attempts = 6
        [dependency.one.operation.read]
        retry.max_attempts = 7
        [dependency.one.operation.write]
        timeout = "1s"
        [dependency.two]
        fail = "closed"
        "#,
    );
    for (name, starts) in [("one.read", 7), ("one.write", 6), ("one", 6), ("two", 8)] {
        let body = Script::new("F");
        assert_eq!(call(&guard(name), &body).await, "server");
        assert_eq!(body.starts(), starts, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_04_tables_merge_key_by_key() {
    let guard = guards(
        r#"
        version = 1
        [defaults.retry]
        backoff = "10ms"
        jitter = "none"
        [dependency.far]
        fail = "closed"
        retry.max_attempts = 2
        [dependency.far.operation.foo]
        retry.max_attempts = 3
        [dependency.far.operation.bar]
        retry.backoff = "20ms"
        "#,
    );
    for (name, starts, pauses) in [("far", 2, 10), ("far.foo", 3, 30), ("far.bar", 2, 20)] {
        let (body, clock) = (Script::new("F"), crate::kit::Clock::start());
        call(&guard(name), &body).await;
        assert_eq!((body.starts(), clock.now().as_millis()), (starts, pauses), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_05_a_list_replaces_the_list_it_overrides() {
    let guard = guards(
        r#"
        version = 1
        [defaults]
        timeout = "5s"
        failures = ["server"]
        breaker = { window = "2 calls", cooldown = "1000ms", cooldown_jitter = 0.0 }
        [dependency.far]
        fail = "closed"
        failures = ["connect"]
        "#,
    );
    let far = guard("far");
    let body = Script::new("F F C C S");
    assert_eq!(calls(&far, &body, 5).await, words("2*server 2*connect open"));
    let clock = crate::kit::Clock::start();
    clock.at(crate::kit::ms(999)).await;
    assert_eq!(call(&far, &body).await, "open");
    clock.at(crate::kit::ms(1_000)).await;
    assert_eq!(call(&far, &body).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn cfg_06_a_number_and_its_unit_are_one_value() {
    for limit in ["1s", "1000ms", "1000000us", "0.5s500ms"] {
        let text = format!("version = 1\n[dependency.far]\nfail = \"closed\"\ntimeout = \"{limit}\"\n");
        let Ok(policy) = Policy::from_toml(&text) else {
            assert_eq!(limit, "0.5s500ms", "a fraction of a unit is no duration");
            continue;
        };
        let clock = crate::kit::Clock::start();
        assert_eq!(
            call(&Runtime::new(policy).guard("far").unwrap(), &Script::new("H")).await,
            "timed_out"
        );
        assert_eq!(clock.now().as_millis(), 1_000, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_09_slots_and_line_of_one_are_one_each() {
    let far = Stand::new("bulkhead.max_concurrent = 1");
    let gate = Gate::new("S");
    let held = far.begin(&gate, 2).await;
    assert_eq!((gate.running(), held[1].is_finished()), (1, true));
    let far = Stand::new("bulkhead = { max_concurrent = 1, max_waiting = 1, max_wait = \"1h\" }");
    let held = far.begin(&gate, 3).await;
    assert_eq!(
        (held[1].is_finished(), held[2].is_finished(), far.slots()),
        (false, true, (1, 1))
    );
}

#[tokio::test(start_paused = true)]
async fn cfg_17_a_template_gives_what_its_dependency_does_not_write() {
    let runtime = Runtime::new(parse(
        r#"
        version = 1
        [defaults]
        timeout = "1h"
        [template.d]
        breaker = { window = "1000 calls", probes = 100, cooldown = "1s", cooldown_jitter = 0.0 }
        [template.s]
        breaker = { window = "1337s", probes = 1000, cooldown = "1s", cooldown_jitter = 0.0 }
        [dependency.x]
        fail = "closed"
        inherits = "d"
        breaker.probes = 99
        [dependency.y]
        fail = "closed"
        inherits = "s"
        breaker.probes = 999
        [dependency.z]
        fail = "closed"
        [dependency.z.breaker]
        "#,
    ));
    for (name, window, probes) in [("x", 1_000, 99), ("y", 1_400, 999), ("z", 100, 1)] {
        let guard = runtime.guard(name).unwrap();
        assert!(
            calls(&guard, &Script::new("S"), 1_400)
                .await
                .iter()
                .all(|result| *result == "ok")
        );
        assert_eq!(runtime.snapshot().dependency(name).unwrap().calls, window, "{name}");
        runtime.scope(async { resilience_runtime::testing::trip(name) }).await;
        tokio::time::sleep(crate::kit::secs(40)).await;
        let gate = Gate::new("S");
        let mut tasks = Vec::new();
        for _ in 0..1_100 {
            let (guard, gate) = (guard.clone(), gate.clone());
            tasks.push(tokio::spawn(async move {
                crate::kit::seen(&guard.call(|| gate.run()).await)
            }));
        }
        for _ in 0..64 {
            settle().await;
        }
        assert_eq!(gate.running(), probes, "{name}");
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_18_growth_stays_when_only_its_begin_is_overridden() {
    for (own, cooldowns) in [
        ("breaker.cooldown = \"3s\"", [3, 6, 12]),
        ("breaker.window = \"9 calls\"", [1, 2, 4]),
    ] {
        let runtime = Runtime::new(parse(&format!(
            r#"
            version = 1
            [template.growing]
            timeout = "1s"
            breaker = {{ cooldown = "1s", cooldown_factor = 2.0, cooldown_jitter = 0.0 }}
            [dependency.far]
            fail = "closed"
            inherits = "growing"
            {own}
            "#
        )));
        let far = runtime.guard("far").unwrap();
        runtime.scope(async { resilience_runtime::testing::trip("far") }).await;
        for cooldown in cooldowns {
            tokio::time::sleep(crate::kit::ms(cooldown * 1_000 - 1)).await;
            assert_eq!(call(&far, &Script::new("S")).await, "open", "{own} {cooldown}");
            tokio::time::sleep(crate::kit::ms(1)).await;
            assert_eq!(call(&far, &Script::new("F")).await, "server", "{own} {cooldown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_18_growth_without_a_begin_starts_at_the_built_in_one() {
    let far = Stand::new("timeout = \"1s\"\nbreaker = { cooldown_factor = 2.0, cooldown_jitter = 0.0 }");
    far.trip().await;
    far.at_ms(30_000).await;
    assert_eq!(far.one("F").await, "server");
    far.at_ms(89_999).await;
    assert_eq!(far.one("S").await, "open");
    far.at_ms(90_000).await;
    assert_eq!(far.one("S").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn cfg_20_a_dependency_without_tables_is_a_plain_call() {
    let far = Stand::new("");
    assert_eq!(far.calls(&Script::new("F"), 7).await, words("7*server"));
    assert_eq!(far.one("S/1000ms").await, "ok");
    let read = far.read();
    assert_eq!((read.state, read.limit, read.retry_budget), (None, None, None));
}

#[tokio::test(start_paused = true)]
async fn cfg_21_and_22_a_layer_may_be_on_for_one_operation_alone() {
    let guard = guards(
        r#"
        version = 1
        [dependency.far]
        fail = "closed"
        [dependency.far.operation.again]
        retry = { max_attempts = 2, backoff = "0s" }
        [dependency.far.operation.broken]
        timeout = "9s"
        breaker = { window = "1 calls" }
        [dependency.far.operation.timed]
        timeout = "500ms"
        [dependency.far.operation.slots]
        bulkhead.max_concurrent = 2
        "#,
    );
    let body = Script::new("F");
    assert_eq!(call(&guard("far.again"), &body).await, "server");
    assert_eq!(body.starts(), 2);
    assert_eq!(calls(&guard("far.broken"), &body, 2).await, words("server open"));
    assert_eq!(call(&guard("far.timed"), &Script::new("H")).await, "timed_out");
    let gate = Gate::new("S");
    let (first, second) = (guard("far.slots"), guard("far.slots"));
    let mut held = (
        Box::pin(first.call(|| gate.run())),
        Box::pin(second.call(|| gate.run())),
    );
    assert!(crate::kit::poll_once(held.0.as_mut()).is_pending() && crate::kit::poll_once(held.1.as_mut()).is_pending());
    assert_eq!(call(&guard("far.slots"), &body).await, "bulkhead_full");
    for plain in ["far", "far.timed", "far.slots"] {
        let body = Script::new("F");
        let result = call(&guard(plain), &body).await;
        assert!(result == "server" || plain == "far.slots", "{plain}: {result}");
        assert!(body.starts() <= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn cfg_22_an_inherited_layer_may_be_taken_away() {
    let guard = guards(
        r#"
        version = 1
        [defaults]
        timeout = "1s"
        breaker = { window = "1 calls" }
        retry = { max_attempts = 3, backoff = "0s" }
        [dependency.far]
        fail = "closed"
        breaker = false
        retry = false
        [dependency.other]
        fail = "closed"
        "#,
    );
    let (body, other) = (Script::new("F"), Script::new("F"));
    assert_eq!(calls(&guard("far"), &body, 3).await, words("3*server"));
    assert_eq!(
        (calls(&guard("other"), &other, 1).await, other.starts()),
        (vec!["open"], 1)
    );
}
