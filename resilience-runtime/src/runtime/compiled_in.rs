//! The policy that is in the binary: the texts of its packages as of the build, united.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use resilience_policy::{Policy, PolicyError};

use super::Runtime;
use crate::dependency::Entry;
use crate::event::TARGET;
use crate::site::{self, Site};

struct CompiledIn {
    united: Runtime,
    /// Filled only when the texts disagree: each function then keeps its own text's numbers.
    alone: BTreeMap<&'static str, Runtime>,
}

static COMPILED_IN: LazyLock<CompiledIn> = LazyLock::new(|| match policy(&[]) {
    Ok(policy) => CompiledIn {
        united: Runtime::new(policy),
        alone: BTreeMap::new(),
    },
    Err(error) => {
        ::tracing::warn!(
            target: TARGET, error = %error,
            "the policies compiled into this binary disagree: each function keeps the numbers of its own",
        );
        let alone: BTreeMap<_, _> = texts()
            .into_iter()
            .filter_map(|(package, (file, text))| {
                let policy = Policy::parse(text.as_bytes(), Path::new(file), &[]).ok()?;
                Some((package, Runtime::new(policy)))
            })
            .collect();
        let united = alone.values().next().cloned().unwrap_or_else(empty);
        CompiledIn { united, alone }
    }
});

/// The runtime of a process that set nothing up.
pub(super) fn runtime() -> &'static Runtime {
    &COMPILED_IN.united
}

/// The united policy of the binary, with overrides from the environment.
///
/// # Errors
///
/// When two packages give one name different values; both are named.
pub(crate) fn policy(environment: &[(String, String)]) -> Result<Policy, PolicyError> {
    let mut parts = Vec::new();
    for (package, (file, text)) in texts() {
        parts.push((package, Policy::parse(text.as_bytes(), Path::new(file), environment)?));
    }
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).1);
    }
    if parts.is_empty() {
        return Policy::from_toml("version = 1\n");
    }
    Policy::unite(&parts)
}

/// The entry of a function in its own binary's policy. The macro found the name in this very text.
pub(crate) fn entry(site: &'static Site) -> Arc<Entry> {
    let compiled_in = &*COMPILED_IN;
    let runtime = compiled_in
        .alone
        .get(site.spec().package)
        .unwrap_or(&compiled_in.united);
    runtime.entry(site.spec().dependency).unwrap_or_else(|unknown| {
        // Only a linker that lost the text of a package leads here; the function then runs bare.
        ::tracing::error!(target: TARGET, function = site.path(), "no numbers for this function: {unknown}");
        bare()
    })
}

fn texts() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    site::all()
        .map(|site| (site.spec().package, (site.spec().policy_file, site.spec().policy)))
        .collect()
}

fn empty() -> Runtime {
    Runtime::new(known_good("version = 1\n"))
}

fn bare() -> Arc<Entry> {
    static BARE: LazyLock<Arc<Entry>> = LazyLock::new(|| {
        let runtime = Runtime::new(known_good(
            "version = 1\n[dependency.unknown]\nfail = \"closed\"\nmode = \"off\"\n",
        ));
        runtime.entry("unknown").expect("it stands in the text above")
    });
    Arc::clone(&BARE)
}

fn known_good(text: &str) -> Policy {
    Policy::from_toml(text).expect("a text of ours that a test loads")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_texts_of_ours_load() {
        let _ = super::empty();
        assert_eq!(&*super::bare().name, "unknown");
    }
}
