//! The file that a command is about.

use std::path::{Path, PathBuf};

use resilience_policy::{Inspection, Policy, PolicyError, inspect, lookup};

/// A file and what became of it.
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    pub(crate) inspection: Inspection,
}

/// Finds and reads the file as a running service would.
pub(crate) fn open(argument: Option<&Path>, env: bool) -> Result<Source, PolicyError> {
    let file = lookup::at_run_time(argument)?.unwrap_or_else(|| PathBuf::from(lookup::FILE));
    let bytes = lookup::bytes(&file)?;
    let environment = if env {
        resilience_policy::environment()
    } else {
        Vec::new()
    };
    let inspection = inspect(&bytes, &file, &environment);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Source { file, text, inspection })
}

/// The overrides file of a policy, which stands beside it.
pub(crate) fn overrides_file(policy: &Policy, file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(&policy.runtime().overrides)
}
