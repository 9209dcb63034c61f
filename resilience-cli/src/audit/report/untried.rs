//! What the source has and a running service has never used.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;

/// A form of fallback that never ran: nobody knows whether it works.
#[derive(Debug, Serialize)]
pub(crate) struct Untried {
    pub(crate) dependency: String,
    pub(crate) kind: &'static str,
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl Report<'_> {
    /// The forms that are written here, of the kinds that never ran. A service counts them by dependency and kind, so one
    /// that ran speaks for all of its kind.
    pub(crate) fn untried(&self, kinds: &BTreeMap<String, Vec<String>>) -> Vec<Untried> {
        let mut found = Vec::new();
        for dependency in &self.dependencies {
            let Some(never) = kinds.get(&dependency.name) else {
                continue;
            };
            for id in &dependency.functions {
                let function = &self.index.functions[*id];
                let forms = function.guard.iter().flat_map(|guard| &guard.fallbacks);
                found.extend(
                    forms
                        .filter(|form| never.iter().any(|kind| kind == form.kind))
                        .map(|form| Untried {
                            dependency: dependency.name.clone(),
                            kind: form.kind,
                            function: function.shown(),
                            file: function.place.file.clone(),
                            line: function.place.line,
                        }),
                );
            }
        }
        found
    }
}
