//! The policy that is in the binary: the texts of its packages as of the build, united.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use resilience_policy::names::Names;
use resilience_policy::{Policy, PolicyError};

use super::Runtime;
use crate::dependency::Entry;
use crate::event::TARGET;
use crate::site::{self, Site};

struct CompiledIn {
    united: Runtime,
    /// Filled only when the texts disagree: each function then keeps its own text's numbers.
    alone: Names<Runtime>,
}

static COMPILED_IN: LazyLock<CompiledIn> = LazyLock::new(|| match policy(&[]) {
    Ok(policy) => CompiledIn {
        united: Runtime::new(policy),
        alone: Names::default(),
    },
    Err(error) => {
        ::tracing::warn!(
            target: TARGET, error = %error,
            "the policies compiled into this binary disagree: each function keeps the numbers of its own",
        );
        apart(&texts())
    }
});

/// Each package by itself. Who asks by name finds every name: of those that disagree the first package's.
fn apart(texts: &Texts) -> CompiledIn {
    let mut alone = Names::default();
    for (package, (file, text)) in texts.each() {
        if let Ok(policy) = Policy::parse(text.as_bytes(), Path::new(file), &[]) {
            alone.insert(package.clone(), Runtime::new(policy));
        }
    }
    let united = alone.values().next().cloned().unwrap_or_else(empty);
    for runtime in alone.values() {
        united.adopt(runtime);
    }
    CompiledIn { united, alone }
}

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
    united(&texts(), environment)
}

fn united(texts: &Texts, environment: &[(String, String)]) -> Result<Policy, PolicyError> {
    let read = |file: &str, text: &str, environment: &[_]| Policy::parse(text.as_bytes(), Path::new(file), environment);
    let plain: Vec<Policy> = texts
        .values()
        .map(|(file, text)| read(file, text, &[]))
        .collect::<Result<_, _>>()?;
    let mut parts = Vec::new();
    for ((package, (file, text)), own) in texts.each().zip(&plain) {
        // A variable is for the texts that have its name; one that none of them has is a fault of each.
        let concerned = |(variable, _): &&(String, String)| {
            names(own, variable) || !plain.iter().any(|other| names(other, variable))
        };
        let environment: Vec<_> = environment.iter().filter(concerned).cloned().collect();
        parts.push((package.as_str(), read(file, text, &environment)?));
    }
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).1);
    }
    if parts.is_empty() {
        return Policy::from_toml("version = 1\n");
    }
    Policy::unite(&parts)
}

/// Whether the variable speaks of a dependency or operation of this policy, or of what every policy has.
fn names(policy: &Policy, variable: &str) -> bool {
    let lower = variable.to_ascii_lowercase();
    let name = match lower.split("__").collect::<Vec<_>>()[..] {
        [_, "runtime" | "defaults", ..] => return true,
        [_, dependency, "operation", operation, ..] => format!("{dependency}.{operation}"),
        [_, dependency, ..] => dependency.to_owned(),
        _ => return false,
    };
    policy.dependencies().any(|known| known.name.replace('-', "_") == name)
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

/// By package: the file's name and its text.
type Texts = Names<(&'static str, &'static str)>;

fn texts() -> Texts {
    let mut texts = Names::default();
    for site in site::all() {
        let spec = site.spec();
        if !texts.has(spec.package) {
            texts.insert(spec.package.to_owned(), (spec.policy_file, spec.policy));
        }
    }
    texts
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
    use super::{Texts, apart, united};

    const A: &str =
        "version = 1\n[dependency.a-1]\nfail = \"open\"\ntimeout = \"1s\"\n[dependency.both]\nfail = \"open\"\n";
    const B: &str = "version = 1\n[dependency.b]\nfail = \"open\"\n[dependency.b.operation.get]\n[dependency.both]\nfail = \"open\"\n";

    fn texts() -> Texts {
        let mut texts = Texts::default();
        for (package, text) in [("a", A), ("b", B)] {
            texts.insert(package.to_owned(), ("resilience.toml", text));
        }
        texts
    }

    fn variable(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(format!("RESILIENCE__{name}"), value.to_owned())]
    }

    #[test]
    fn packages_that_disagree_are_all_found_by_name() {
        let apart = apart(&texts());
        for name in ["a-1", "b", "b.get", "both"] {
            assert!(apart.united.guard(name).is_ok(), "{name}");
            assert!(apart.united.available(name), "{name}");
            assert!(apart.united.snapshot().dependency(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_variable_is_for_the_packages_whose_text_has_its_name() {
        let timeout = |variables: &[_], name: &str| {
            let policy = united(&texts(), variables).unwrap();
            let timeout = policy.dependency(name).unwrap().timeout;
            timeout.map(|time| time.as_millis())
        };
        assert_eq!(timeout(&variable("A_1__TIMEOUT", "5ms"), "a-1"), Some(5));
        assert_eq!(timeout(&variable("B__TIMEOUT", "6ms"), "b"), Some(6));
        assert_eq!(
            timeout(&variable("B__OPERATION__GET__TIMEOUT", "7ms"), "b.get"),
            Some(7)
        );
        assert_eq!(timeout(&variable("BOTH__TIMEOUT", "8ms"), "both"), Some(8));
        assert_eq!(timeout(&variable("DEFAULTS__TIMEOUT", "9ms"), "both"), Some(9));
    }

    #[test]
    fn a_variable_that_no_package_has_a_name_for_is_a_fault() {
        let error = united(&texts(), &variable("C__TIMEOUT", "5ms")).unwrap_err();
        assert_eq!(error.faults().len(), 1, "{error}");
        assert!(united(&texts(), &variable("B__TIMEOUT", "5")).is_err());
    }

    #[test]
    fn the_texts_of_ours_load() {
        let _ = super::empty();
        assert_eq!(&*super::bare().name, "unknown");
    }
}
