//! `init_from` and the file behind it, in a process of its own: edits, bad edits, removal, and the operator's hand.
//!
//! Every step waits for the event that says it is done, never for a time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use resilience_runtime::{Failure, Reason, Runtime};

#[path = "kit/events.rs"]
mod events;
use events::{Events, WITHIN, save};

fn policy(timeout: &str) -> String {
    format!(
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"{timeout}\"\nbulkhead.max_concurrent = 3\n"
    )
}

#[test]
fn an_edit_takes_effect_and_a_bad_one_leaves_everything_as_it_is() {
    let events = Events::listen();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resilience.toml");
    let hand = folder.path().join("resilience.overrides.toml");
    save(&file, &policy("3s"));

    let resilience = resilience_runtime::init_from(&file).unwrap();
    let runtime = resilience.runtime().clone();
    let first = runtime.snapshot().policy.hash;
    let second = resilience_runtime::init_from(&file).unwrap_err().to_string();
    assert!(second.contains("has a resilience runtime already"), "{second}");

    // Renamed over, again and again: a watch on the file itself goes deaf at the second.
    for timeout in ["4s", "5s", "6s"] {
        save(&file, &policy(timeout));
        let reloaded = events.next("policy.reloaded");
        assert!(reloaded.contains(&format!("→ {timeout}")), "{reloaded}");
    }
    let last = runtime.snapshot().policy.hash;
    assert_ne!(first, last);

    // Refused whole, once for its content, and shown.
    save(
        &file,
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = 7\n",
    );
    let refused = events.next("policy.refused");
    assert!(refused.contains("resilience.toml:4:11"), "{refused}");
    let snapshot = runtime.snapshot();
    assert!(snapshot.policy.stale && snapshot.policy.refusal.is_some_and(|why| why.contains("4:11")));
    assert_eq!(snapshot.policy.hash, last);

    // An empty file and a missing one are no policy either.
    save(&file, "");
    events.next("policy.refused");
    fs::remove_file(&file).unwrap();
    events.next("policy.missing");
    assert_eq!(runtime.snapshot().policy.hash, last);

    // A good one afterwards is taken without a restart.
    save(&file, &policy("8s"));
    let reloaded = events.next("policy.reloaded");
    assert!(reloaded.contains("6s → 8s"), "{reloaded}");
    assert!(!runtime.snapshot().policy.stale);

    the_hand(&runtime, &events, &hand);

    // Dropping the handle ends the watching and leaves the policy in force.
    drop(resilience);
    let count = events.count("policy.reloaded");
    save(&file, &policy("9s"));
    assert_eq!((count, events.count("policy.reloaded")), (0, 0));
    assert_eq!(
        runtime.policy().dependency("payrail").unwrap().timeout,
        Some(Duration::from_secs(8))
    );
}

fn the_hand(runtime: &Runtime, events: &Events, file: &Path) {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let guard = runtime.guard("payrail").unwrap();
    let call = || tokio.block_on(guard.call(|| async { Ok::<_, std::io::Error>(1) }));
    assert_eq!(call().ok(), Some(1));

    let until = humantime::format_rfc3339_seconds(SystemTime::now() + Duration::from_secs(3_600));
    save(
        file,
        &format!(
            "[payrail]\nmode = \"isolate\"\nby = \"ops\"\nreason = \"drill\"\nuntil = \"{until}\"\nanswer = \"delayed\"\n"
        ),
    );
    let set = events.next("override.set");
    assert!(
        set.contains("mode=isolate") && set.contains("by=ops") && set.contains("reason=drill"),
        "{set}"
    );
    let Err(Failure::Rejected(rejection)) = call() else {
        panic!("the hand isolates")
    };
    assert_eq!(
        (rejection.reason(), rejection.answer()),
        (Reason::Isolated, Some("delayed"))
    );
    assert!(
        rejection
            .retry_after()
            .is_some_and(|left| left > Duration::from_secs(3_500))
    );

    // A bad overrides file keeps the last good one.
    save(file, "[payrail]\nmode = \"isolate\"\n");
    events.next("policy.refused");
    assert!(call().is_err());

    // An empty one takes the hand off.
    save(file, "# nothing\n");
    let begun = Instant::now();
    while call().is_err() && begun.elapsed() < WITHIN {
        std::thread::yield_now();
    }
    assert_eq!(call().ok(), Some(1));
}
