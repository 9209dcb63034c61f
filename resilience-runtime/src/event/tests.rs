//! Names and fields, which operators' tools read.

use super::*;

/// Names and fields are what operators' searches and alerts are written against.
#[allow(clippy::too_many_lines)] // an entry for each event
#[test]
fn names_and_fields_are_those_that_are_promised() {
    let events = [
        Event::Transition {
            dependency: "payrail",
            instance: "api-01",
            from: "closed",
            to: "open",
            cause: "failure_rate",
            failure_rate: Some(0.5),
            slow_rate: Some(0.0),
            calls: 20,
            cooldown_ms: Some(30_000),
            threshold: &"breaker.failure_rate = 0.5 at resilience.toml:7",
            counts: &"10 success, 10 timeout",
            kinds: &"timeout",
            policy_hash: "7f3a91",
            evidence: Some(&"own 3 of 3, fleet of 8 instances 21 of 24"),
        },
        Event::Rejected {
            dependency: "payrail",
            function: "charge",
            reason: "open",
            retry_after_ms: None,
            observed: false,
        },
        Event::Sample {
            dependency: "payrail",
            outcome: "success",
            slow: false,
        },
        Event::HoldCut {
            dependency: "payrail",
            asked_ms: 120_000,
            obeyed_ms: 60_000,
        },
        Event::FallbackFailed {
            dependency: "recs",
            function: "recs",
            kind: "path",
            why: &"late",
            first: "open",
            shed: false,
        },
        Event::Reloaded {
            file: "resilience.toml",
            hash: "7f3a91",
            changes: 1,
            detail: &"",
        },
        Event::Refused {
            file: "resilience.toml",
            error: &"empty",
        },
        Event::Missing {
            file: "resilience.toml",
        },
        Event::FleetUnread {
            file: "resilience.toml",
        },
        Event::OverrideSet {
            dependency: "payrail",
            mode: "isolate",
            by: "ops",
            reason: "drill",
            seconds: 60,
        },
        Event::OverrideExpiring {
            dependency: "payrail",
            mode: "isolate",
            by: "ops",
            seconds: 60,
        },
        Event::OverrideExpired {
            dependency: "payrail",
            mode: "isolate",
            by: "ops",
        },
    ];
    let seen: Vec<_> = events
        .iter()
        .map(|event| {
            let fields: Vec<_> = event.fields().iter().map(|(name, _)| *name).collect();
            format!("{}: {}", event.name(), fields.join(" "))
        })
        .collect();
    assert_eq!(
        seen,
        [
            "breaker.transition: dependency instance from to cause calls failure_rate slow_rate cooldown_ms threshold \
             counts kinds policy_hash evidence",
            "call.rejected: dependency function reason observed",
            "breaker.sample: dependency outcome slow",
            "hold.cut: dependency asked_ms obeyed_ms",
            "fallback.failed: dependency function kind why first shed",
            "policy.reloaded: file hash changes detail",
            "policy.refused: file error",
            "policy.missing: file",
            "fleet.unread: file",
            "override.set: dependency mode by reason seconds",
            "override.expiring: dependency mode by seconds",
            "override.expired: dependency mode by",
        ]
    );
}
