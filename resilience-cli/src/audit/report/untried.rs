//! What the source has and a running service has never used.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Report;
use crate::audit::attributes::Form;
use crate::status::NeverRan;

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
    /// The forms that are written here and that never ran there. A service that tells them by kind only lets one that ran
    /// speak for all of its kind.
    pub(crate) fn untried(&self, seen: &BTreeMap<String, NeverRan>) -> Vec<Untried> {
        let mut found = Vec::new();
        for dependency in &self.dependencies {
            let Some(never) = seen.get(&dependency.name) else {
                continue;
            };
            for id in &dependency.functions {
                let function = &self.index.functions[*id];
                let forms = function.guard.iter().flat_map(|guard| &guard.fallbacks);
                found.extend(
                    forms
                        .filter(|form| never_ran(never, &function.name, form))
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

fn never_ran(never: &NeverRan, function: &str, form: &Form) -> bool {
    let Some(forms) = &never.forms else {
        return never.kinds.iter().any(|kind| kind == form.kind);
    };
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    forms.iter().any(|seen| {
        let name = seen.function.rsplit("::").next().unwrap_or_default();
        let path = seen.path.as_ref().is_none_or(|path| bare(path) == bare(&form.text));
        name == function && seen.kind == form.kind && path
    })
}
