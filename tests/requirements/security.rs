//! What an attacker, a careless client or a careless fallback cannot do.

use resilience_runtime::{Classify, Outcome, Policy, Runtime, breaker, bulkhead, fallback, testing};

use crate::kit::{FarError, Script, parse, secs};

/// A guard of what must not be let in by mistake.
#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "who cannot be checked is not let in")]
async fn may_enter(script: &Script) -> Result<bool, FarError> {
    script.run().await.map(|_| true)
}

const LOGIN: &str = "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"1s\"\n\
                     breaker.window = \"4 calls\"\nbulkhead.max_concurrent = 1\nfallback.max_stale = \"24h\"\n";

#[tokio::test(start_paused = true)]
async fn sc_r01_whatever_happens_a_check_that_did_not_succeed_lets_nobody_in() {
    for steps in ["F", "C", "T", "X", "O", "H", "B", "I", "Q", "Q30s"] {
        Runtime::new(parse(LOGIN))
            .scope(async {
                // It was let in before: that is not remembered.
                assert_eq!(may_enter(&Script::new("S")).await, Ok(true));
                let script = Script::new(steps);
                for _ in 0..6 {
                    assert!(may_enter(&script).await.is_err(), "{steps}");
                }
                testing::trip("payrail");
                assert!(may_enter(&Script::new("S")).await.is_err(), "{steps}");
            })
            .await;
    }
}

#[breaker("seatmap")]
#[fallback(stale(key = (tenant, account)))]
async fn balance(script: &Script, tenant: &str, account: u32) -> Result<String, FarError> {
    script.run().await.map(|run| format!("{tenant} {account}: {run}"))
}

/// The same arguments of another function.
#[breaker("seatmap")]
#[fallback(stale(key = (tenant, account)))]
async fn history(script: &Script, tenant: &str, account: u32) -> Result<String, FarError> {
    script
        .run()
        .await
        .map(|run| format!("history of {tenant} {account}: {run}"))
}

#[tokio::test(start_paused = true)]
async fn sc_r02_a_cached_answer_belongs_to_its_tenant_and_its_function() {
    Runtime::new(parse(
        "version = 1\n[dependency.seatmap]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker = {}\n",
    ))
    .scope(async {
        let (well, dead) = (Script::new("S"), Script::new("F"));
        balance(&well, "acme", 1).await.unwrap();
        balance(&well, "zeta", 1).await.unwrap();
        assert_eq!(balance(&dead, "acme", 1).await, Ok("acme 1: 1".to_owned()));
        assert_eq!(balance(&dead, "zeta", 1).await, Ok("zeta 1: 2".to_owned()));
        for (tenant, account) in [("acme", 2), ("acm", 1), ("acme1", 1), ("", 1), ("ACME", 1)] {
            assert!(balance(&dead, tenant, account).await.is_err(), "{tenant} {account}");
        }
        assert!(history(&dead, "acme", 1).await.is_err());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn sc_r07_sc_r08_neither_stolen_cards_nor_malformed_requests_open_a_breaker() {
    let (runtime, guard) = crate::kit::guard("timeout = \"1s\"\nbreaker = { window = \"20 calls\" }");
    let script = Script::new("B");
    for _ in 0..1_000 {
        assert_eq!(crate::kit::call(&guard, &script).await, "business");
    }
    assert_eq!((crate::kit::state(&runtime), script.starts()), ("closed", 1_000));
    for status in [400, 401, 402, 403, 404, 409, 422] {
        let status = http::StatusCode::from_u16(status).unwrap();
        assert_eq!(status.classify(), Outcome::Business, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc_r09_at_low_traffic_a_minimum_keeps_one_users_burst_from_opening_it_for_all() {
    for (minimum, state) in [(10, "open"), (20, "closed")] {
        let lines = format!(
            "timeout = \"1s\"\nbreaker = {{ window = \"20 calls\", minimum_calls = {minimum}, cooldown = \"30s\" }}"
        );
        let (runtime, guard) = crate::kit::guard(&lines);
        let script = Script::new("F S F S F S F S F S");
        for _ in 0..10 {
            crate::kit::call(&guard, &script).await;
            tokio::time::advance(secs(1)).await;
        }
        assert_eq!(crate::kit::state(&runtime), state, "{minimum}");
    }
}

#[test]
fn sc_r05_a_check_cannot_fail_open_by_an_operators_edit_unseen() {
    let open = Policy::from_toml(&LOGIN.replace("closed", "open")).unwrap();
    let report = Runtime::new(parse(LOGIN)).reload(open).unwrap();
    let told: Vec<_> = report
        .changes()
        .iter()
        .map(|change| (change.key(), change.old(), change.new()))
        .collect();
    assert!(
        told.iter().any(|(key, _, _)| *key == "dependency.payrail.fail"),
        "{told:?}"
    );
}
