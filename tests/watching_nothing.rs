//! `init` where there is no policy file yet, in a process of its own.

use std::time::Duration;

use resilience_runtime::Runtime;

#[path = "kit/events.rs"]
mod events;
use events::{Events, save};

#[test]
fn a_file_that_appears_where_there_was_none_is_taken() {
    let events = Events::listen();
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let _resilience = resilience_runtime::init().unwrap();
    assert!(Runtime::current().policy().dependency("payrail").is_none());

    save(
        &folder.path().join("resilience.toml"),
        "version = 1\n[dependency.payrail]\nfail = \"closed\"\ntimeout = \"3s\"\n",
    );
    events.next("policy.reloaded");
    let timeout = Runtime::current().policy().dependency("payrail").unwrap().timeout;
    assert_eq!(timeout, Some(Duration::from_secs(3)));
}
