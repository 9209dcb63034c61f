//! A snapshot from a file, from standard input, or from a service.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The answer of a service that is in trouble has to come soon, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// The snapshot of ten thousand dependencies is smaller.
const LARGEST: u64 = 64 << 20;
/// Where the admin router has its snapshot, below its own root.
const SNAPSHOT: &str = "snapshot";

/// A text, and when it was true.
pub(crate) struct Fetched {
    pub(crate) text: String,
    pub(crate) at: SystemTime,
}

/// Reads `-`, a file, or what an `http://` address answers.
pub(crate) fn fetch(from: &str) -> Result<Fetched, String> {
    if from.starts_with("https://") {
        return Err(format!(
            "`{from}`: only `http://` is spoken here; over TLS: `curl -fsS {from} | resilience status -`"
        ));
    }
    if from.starts_with("http://") {
        let text = get(from)?;
        // The page of the admin router stands at its root, and the snapshot beside it.
        let text = if text.trim_start().starts_with('<') {
            get(&format!("{}/{SNAPSHOT}", from.trim_end_matches('/')))?
        } else {
            text
        };
        return Ok(Fetched {
            text,
            at: SystemTime::now(),
        });
    }
    let unreadable = |error: std::io::Error| format!("`{from}` cannot be read: {error}");
    if from == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(LARGEST)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        return Ok(Fetched {
            text,
            at: SystemTime::now(),
        });
    }
    let path = Path::new(from);
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    // What it says was true when it was written.
    let at = path
        .metadata()
        .and_then(|meta| meta.modified())
        .unwrap_or_else(|_| SystemTime::now());
    Ok(Fetched { text, at })
}

fn get(url: &str) -> Result<String, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        // One's own instances are asked, not the world.
        .proxy(None)
        .build()
        .into();
    let failed = |error: ureq::Error| format!("`{url}` did not answer with a snapshot: {error}");
    let mut answer = agent
        .get(url)
        .header("accept", "application/json")
        .call()
        .map_err(failed)?;
    answer
        .body_mut()
        .with_config()
        .limit(LARGEST)
        .read_to_string()
        .map_err(failed)
}
