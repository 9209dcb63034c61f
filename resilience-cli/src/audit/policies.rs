//! The policy that each package of the tree is built with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use resilience_policy::{Inspection, PolicyError, inspect, lookup};

/// A policy file and what became of it.
pub(crate) struct Read {
    pub(crate) file: PathBuf,
    pub(crate) inspection: Inspection,
}

/// The policies, and which of them each package reads.
pub(crate) struct Policies {
    pub(crate) all: Vec<Read>,
    of_package: Vec<Option<usize>>,
    /// Where a policy was looked for and not found.
    pub(crate) not_found: Option<lookup::NotFound>,
}

impl Policies {
    /// The named one for all; else for each package what its attributes read; else what a process here would read.
    pub(crate) fn find(named: Option<&Path>, packages: &[PathBuf]) -> Result<Self, PolicyError> {
        let mut policies = Self {
            all: Vec::new(),
            of_package: Vec::new(),
            not_found: None,
        };
        if let Some(named) = named {
            let one = policies.read(named)?;
            policies.of_package = vec![Some(one); packages.len()];
            return Ok(policies);
        }
        let variable = std::env::var_os(lookup::VARIABLE);
        for package in packages {
            let found = match lookup::at_compile_time(package, variable.as_deref()) {
                Ok(file) => Some(policies.read(&file)?),
                Err(not_found) => {
                    let here = lookup::at_run_time(None)?;
                    if here.is_none() {
                        policies.not_found.get_or_insert(not_found);
                    }
                    here.map(|file| policies.read(&file)).transpose()?
                }
            };
            policies.of_package.push(found);
        }
        Ok(policies)
    }

    fn read(&mut self, file: &Path) -> Result<usize, PolicyError> {
        let here = std::env::current_dir().unwrap_or_default();
        let file = file.strip_prefix(&here).unwrap_or(file);
        if let Some(known) = self.all.iter().position(|one| one.file == file) {
            return Ok(known);
        }
        let bytes = lookup::bytes(file)?;
        let inspection = inspect(&bytes, file, &[]);
        self.all.push(Read {
            file: file.to_path_buf(),
            inspection,
        });
        Ok(self.all.len() - 1)
    }

    /// The policy of a package.
    pub(crate) fn of(&self, package: usize) -> Option<&Read> {
        self.all.get((*self.of_package.get(package)?)?)
    }

    /// The entries of each policy that nothing names, where `said` says which policy each name was meant for.
    pub(crate) fn unused(&self, said: &[(usize, String)]) -> Vec<(&Read, &resilience_policy::Dependency)> {
        let mut found = Vec::new();
        for (at, policy) in self.all.iter().enumerate() {
            let mine = |package: &usize| self.of_package.get(*package).copied().flatten() == Some(at);
            let names = said
                .iter()
                .filter(|(package, _)| mine(package))
                .map(|(_, name)| name.as_str());
            let names: BTreeSet<&str> = names.collect();
            for dependency in policy.inspection.policy.dependencies() {
                let begins = format!("{}.", dependency.name);
                let known = names.contains(&*dependency.name) || names.iter().any(|name| name.starts_with(&begins));
                if !known {
                    found.push((policy, dependency));
                }
            }
        }
        found
    }
}
