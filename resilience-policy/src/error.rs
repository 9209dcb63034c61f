//! The one error of the crate: opaque, over faults.

use std::fmt;

use crate::fault::Fault;
use crate::names::sorted;

/// How many faults an error keeps; the rest is counted.
const KEPT: usize = 1000;
/// How many faults are printed as text.
const PRINTED: usize = 50;

/// Every fault of a policy, an overrides file or the environment.
///
/// `Display` and `Debug` print what `resilience check` prints.
#[derive(Clone, PartialEq)]
pub struct PolicyError {
    faults: Vec<Fault>,
    total: usize,
}

impl PolicyError {
    /// Sorted by place, and cut. `faults` is not empty.
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        let mut faults = sorted(faults, |left, right| {
            (&left.file, left.place).cmp(&(&right.file, right.place))
        });
        let total = faults.len();
        faults.truncate(KEPT);
        Self { faults, total }
    }

    pub(crate) fn one(fault: Fault) -> Self {
        Self::new(vec![fault])
    }

    /// Counts faults that were not kept.
    pub(crate) fn and(self, more: usize) -> Self {
        Self {
            total: self.total + more,
            ..self
        }
    }

    /// The faults, by place; at most 1000.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many faults there are, those beyond the first 1000 included.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether the file could not be read at all: too large, not a regular file, unreadable or missing.
    pub fn is_unreadable(&self) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.place.is_none() && matches!(fault.name, "unreadable" | "too_large"))
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, fault) in self.faults.iter().take(PRINTED).enumerate() {
            if count > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        if self.total > PRINTED {
            write!(f, "\n… and {} more", self.total - PRINTED)?;
        }
        Ok(())
    }
}

impl fmt::Debug for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PolicyError {}
