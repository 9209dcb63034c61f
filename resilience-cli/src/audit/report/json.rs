//! The audit for programs; `docs/audit.md` has its shape.

use serde_json::{Value, json};

use super::{Dependency, Report};
use crate::audit::tree;

impl Report<'_> {
    /// The stable form.
    pub(crate) fn json(&self) -> Value {
        let policies = self
            .policies
            .all
            .iter()
            .map(|read| json!({ "file": tree::shown(&read.file), "hash": read.inspection.policy.hash() }));
        json!({
            "path": self.path,
            "ok": self.ok(),
            "policies": policies.collect::<Vec<_>>(),
            "dependencies": self.dependencies.iter().map(|one| self.json_of(one)).collect::<Vec<_>>(),
            "gaps": self.gaps,
            "uncertain": self.uncertain,
            "unguarded_on_purpose": self.on_purpose,
            "never_ran": self.never_ran,
        })
    }

    fn json_of(&self, dependency: &Dependency) -> Value {
        let functions = dependency.functions.iter().map(|id| {
            let function = &self.index.functions[*id];
            let guard = function.guard.clone().unwrap_or_default();
            let fallbacks = guard
                .fallbacks
                .iter()
                .map(|form| json!({ "kind": form.kind, "text": form.text, "one_per": form.one_per }));
            json!({
                "function": function.shown(),
                "file": function.place.file,
                "line": function.place.line,
                "column": function.place.column,
                "layers": guard.layers,
                "fallbacks": fallbacks.collect::<Vec<_>>(),
                "condition": guard.condition,
            })
        });
        let by_hand = dependency.by_hand.iter().map(|by_hand| {
            let (place, layer) = (&by_hand.place, by_hand.layer);
            json!({ "how": by_hand.how, "layer": layer, "file": place.file, "line": place.line })
        });
        json!({
            "name": dependency.name,
            "about": dependency.about,
            "fail": dependency.fail,
            "file": dependency.entry.as_ref().map(|(file, _)| file),
            "line": dependency.entry.as_ref().map(|(_, line)| line),
            "functions": functions.collect::<Vec<_>>(),
            "by_hand": by_hand.collect::<Vec<_>>(),
        })
    }
}
