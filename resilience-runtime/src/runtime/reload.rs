//! A new policy takes the place of the old one, whole or not at all.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use resilience_policy::{Change, Fault, Policy, PolicyError, grouped};

use super::{InForce, Runtime};
use crate::clock;
use crate::missing::Missing;

/// From so many dependencies on a change that is the same for all of them is told once.
const GROUPED: usize = 4;
/// What a line of the log holds at most; the report itself has every change.
const SHOWN: usize = 50;

impl Runtime {
    /// Puts `policy` in force. State is kept: open stays open, its end moves to opened-at plus the new cooldown;
    /// counts, slots, holds and budgets stay; a smaller bulkhead drains; a changed window starts empty. Calls that
    /// run end on the numbers they began with.
    ///
    /// # Errors
    ///
    /// When the policy lost a dependency or a table that is in use; nothing of it is then applied.
    #[inline]
    pub fn reload(&self, policy: Policy) -> Result<ReloadReport, ReloadError> {
        let missing = self.required(&policy);
        if !missing.is_empty() {
            return Err(self.refused(&policy, Why::Missing(missing)));
        }
        let changes = self.policy().diff(&policy);
        let emptied = self.assemble(&policy);
        self.inner.policy.store(Arc::new(InForce {
            policy,
            loaded_at: clock::wall(),
        }));
        self.set_refusal(None);
        self.lock_reloads().accept(clock::wall());
        #[cfg(feature = "metrics")]
        self.refresh_metrics();
        let report = ReloadReport { changes, emptied };
        super::reloaded(self, &report);
        Ok(report)
    }

    /// The same for what stands in the watched file. One that has lost every dependency was hardly meant so: a
    /// template that was not filled in, a deployment that went wrong.
    #[inline]
    pub(crate) fn take(&self, policy: Policy) -> Result<ReloadReport, ReloadError> {
        let had = self.policy().dependencies().filter(|one| one.parent.is_none()).count();
        if had > 0 && policy.dependencies().next().is_none() {
            return Err(self.refused(&policy, Why::Emptied(had)));
        }
        self.reload(policy)
    }

    #[inline]
    fn refused(&self, policy: &Policy, why: Why) -> ReloadError {
        let error = ReloadError {
            file: policy.file().to_owned(),
            why,
        };
        self.refuse(error.to_string());
        error
    }
}

/// How often a policy took the place of another, and how often one was refused.
#[derive(Debug, Clone)]
pub(crate) struct Reloads {
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    /// When the last ones took place, oldest first.
    pub(crate) at: Vec<SystemTime>,
}

impl Default for Reloads {
    #[inline]
    fn default() -> Self {
        Self {
            accepted: 0,
            refused: 0,
            at: Vec::with_capacity(Self::KEPT),
        }
    }
}

impl Reloads {
    /// Moments that are kept.
    const KEPT: usize = 32;

    #[inline]
    fn accept(&mut self, at: SystemTime) {
        self.accepted += 1;
        if self.at.len() == Self::KEPT {
            self.at.remove(0);
        }
        self.at.push(at);
    }
}

/// What a reload changed.
#[derive(Debug, Clone)]
pub struct ReloadReport {
    changes: Vec<Change>,
    emptied: Vec<String>,
}

impl ReloadReport {
    /// Each effective value that changed.
    #[inline]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

impl fmt::Display for ReloadReport {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes.is_empty() {
            return f.write_str("no effective change");
        }
        let groups = grouped(&self.changes);
        for (place, group) in groups.iter().take(SHOWN).enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            let [first, ..] = group[..] else { continue };
            if group.len() < GROUPED {
                for (place, change) in group.iter().enumerate() {
                    let part = if place > 0 { "; " } else { "" };
                    write!(f, "{part}{}: {} → {}", change.key(), change.old(), change.new())?;
                    if let Some(line) = change.line() {
                        write!(f, ", line {line}")?;
                    }
                }
            } else {
                let (many, path) = (group.len(), first.path());
                let path = if path.is_empty() { "" } else { &format!("{path}: ") };
                write!(f, "{many} dependencies: {path}{} → {}", first.old(), first.new())?;
            }
            write!(f, " ({})", first.effect())?;
        }
        if groups.len() > SHOWN {
            write!(f, "; … and {} more", groups.len() - SHOWN)?;
        }
        for name in &self.emptied {
            write!(f, "; the window of `{name}` starts empty")?;
        }
        Ok(())
    }
}

/// Why a reload was refused. What was in force stays.
pub struct ReloadError {
    file: PathBuf,
    why: Why,
}

enum Why {
    Faults(PolicyError),
    Missing(Vec<Missing>),
    /// It has no dependency left of so many.
    Emptied(usize),
}

impl ReloadError {
    /// The faults of the file, if it could not be loaded.
    #[inline]
    pub fn faults(&self) -> &[Fault] {
        match &self.why {
            Why::Faults(error) => error.faults(),
            _ => &[],
        }
    }

    /// What is in use and missing in the new policy.
    #[inline]
    pub fn missing(&self) -> &[Missing] {
        match &self.why {
            Why::Missing(missing) => missing,
            _ => &[],
        }
    }
}

impl From<PolicyError> for ReloadError {
    #[inline]
    fn from(error: PolicyError) -> Self {
        let file = error
            .faults()
            .first()
            .map(|fault| PathBuf::from(fault.file()))
            .unwrap_or_default();
        Self {
            file,
            why: Why::Faults(error),
        }
    }
}

impl fmt::Display for ReloadError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.why {
            Why::Faults(error) => error.fmt(f),
            Why::Missing(missing) => {
                write!(f, "{file}: lost what is in use, so all of it was refused")?;
                missing.iter().try_for_each(|missing| write!(f, "\n  {missing}"))
            }
            Why::Emptied(had) => {
                let all = if *had == 1 {
                    "the one dependency".to_owned()
                } else {
                    format!("all {had} dependencies")
                };
                write!(
                    f,
                    "{file}: no dependency is left, it removes {all}, so it was refused; to run without any, restart the service"
                )
            }
        }
    }
}

impl fmt::Debug for ReloadError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ReloadError {}
