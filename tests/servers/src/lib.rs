//! Real servers for tests and examples: started on a free port in a folder of their own, stopped when dropped.
//!
//! They are what this machine has installed. One that is missing is `None`, with a word on stderr, and who needed it
//! passes over; where `RESILIENCE_REQUIRE_SERVERS=1` says that all of them must be there, it is a panic. All functions
//! block, for as long as the server needs.

mod postgres;
mod process;
mod redis;

use std::io::{self, Write as _};
use std::path::PathBuf;

pub use postgres::Postgres;
pub use redis::Redis;

/// The program of this name, from `PATH` or from the folders named.
fn installed(program: &str, elsewhere: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(elsewhere)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("RESILIENCE_REQUIRE_SERVERS").is_some_and(|value| !value.is_empty());
        assert!(
            !required,
            "`{program}` is not installed, and RESILIENCE_REQUIRE_SERVERS is set"
        );
        // Written, not printed: a test harness swallows what a test that passes prints.
        let word = format!("passed over: `{program}` is not installed on this machine\n");
        let _ = io::stderr().write_all(word.as_bytes());
    }
    found
}
