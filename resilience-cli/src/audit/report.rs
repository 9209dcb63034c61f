//! The findings in words and places, as every format shows them.

use serde::Serialize;

use super::attributes::Form;
use super::findings::{Findings, Unguarded};
use super::index::{ByHand, Function, Id, Index};
use super::policies::Policies;
use super::tree::{self, Unread};

mod gaps;
mod json;
mod untried;

pub(crate) use untried::Untried;

/// What an audit found.
pub(crate) struct Report<'a> {
    pub(crate) path: String,
    pub(crate) index: &'a Index,
    pub(crate) findings: &'a Findings,
    pub(crate) policies: &'a Policies,
    /// In the order of their names; those that no policy knows among them.
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) gaps: Vec<Gap>,
    /// Entries that no code names for certain, where a guard is asked for by a computed name.
    pub(crate) uncertain: Vec<Gap>,
    pub(crate) on_purpose: Vec<OnPurpose>,
    /// Fallbacks that never ran in the service whose snapshot was given.
    pub(crate) never_ran: Option<Vec<Untried>>,
}

/// A dependency with who names it.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) fail: Option<&'static str>,
    /// Where its entry stands.
    pub(crate) entry: Option<(String, u32)>,
    pub(crate) functions: Vec<Id>,
    pub(crate) by_hand: Vec<ByHand>,
}

/// Something to put right.
#[derive(Debug, Serialize)]
pub(crate) struct Gap {
    /// `unused_entry unguarded_client circular_fallback no_fallback unknown_dependency missing_layer no_reason unread
    /// policy`
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) function: Option<String>,
    pub(crate) dependency: Option<String>,
    pub(crate) client: Option<&'static str>,
    /// The functions on the way, in the order in which they are called.
    pub(crate) path: Vec<Step>,
}

/// A function on the way.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// A client without a guard, with the reason.
#[derive(Debug, Serialize)]
pub(crate) struct OnPurpose {
    pub(crate) function: String,
    pub(crate) client: &'static str,
    pub(crate) reason: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        path: String,
        index: &'a Index,
        findings: &'a Findings,
        policies: &'a Policies,
        unread: Vec<Unread>,
    ) -> Self {
        let mut report = Self {
            path,
            index,
            findings,
            policies,
            dependencies: Vec::new(),
            gaps: Vec::new(),
            uncertain: Vec::new(),
            on_purpose: Vec::new(),
            never_ran: None,
        };
        let named = report.named();
        report.dependencies = report.dependencies(&named);
        report.find_gaps(&named, unread);
        report.on_purpose = findings.on_purpose.iter().map(|found| report.purpose(found)).collect();
        report
    }

    /// Whether there is nothing to put right.
    pub(crate) fn ok(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The guarded functions.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = (Id, &'a Function)> {
        self.index
            .functions
            .iter()
            .enumerate()
            .filter(|(_, function)| function.guard.is_some())
    }

    /// Every name of a dependency in the source, with the package that says it.
    fn named(&self) -> Vec<(usize, String, Named)> {
        let by_attribute = self.guarded().filter_map(|(id, function)| {
            let name = function.guard.as_ref()?.dependency.clone()?;
            Some((function.package, name, Named::By(id)))
        });
        let by_guard = self.findings.bodies.iter().flat_map(|body| &body.by_hand);
        let by_macro = self
            .index
            .handed
            .iter()
            .filter(|(name, _)| self.index.naming_macros.contains(name));
        let by_hand = by_guard.chain(by_macro.map(|(_, by_hand)| by_hand));
        let by_hand = by_hand.map(|by_hand| {
            (
                by_hand.package,
                by_hand.dependency.clone(),
                Named::ByHand(by_hand.clone()),
            )
        });
        by_attribute.chain(by_hand).collect()
    }

    fn dependencies(&self, named: &[(usize, String, Named)]) -> Vec<Dependency> {
        let mut found: std::collections::BTreeMap<String, Dependency> = std::collections::BTreeMap::new();
        for (package, name, by) in named {
            let read = self.policies.of(*package);
            let known = read.and_then(|read| read.inspection.policy.dependency(name).map(|known| (read, known)));
            // A text that a macro was given may mean something else.
            if known.is_none() && matches!(by, Named::ByHand(by_hand) if by_hand.how.ends_with("!`")) {
                continue;
            }
            let entry = found.entry(name.clone()).or_insert_with(|| Dependency {
                name: name.clone(),
                about: known.and_then(|(_, known)| known.about.clone()),
                fail: known.map(|(_, known)| known.fail.as_str()),
                entry: known.map(|(read, known)| (tree::shown(&read.file), known.line)),
                functions: Vec::new(),
                by_hand: Vec::new(),
            });
            match by {
                Named::By(id) => entry.functions.push(*id),
                Named::ByHand(by_hand) => entry.by_hand.push(by_hand.clone()),
            }
        }
        found.into_values().collect()
    }

    /// `a → b → c`
    pub(crate) fn way(&self, path: &[Id]) -> String {
        path.iter()
            .map(|id| self.index.functions[*id].shown())
            .collect::<Vec<_>>()
            .join(" → ")
    }

    fn step(&self, id: Id) -> Step {
        let function = &self.index.functions[id];
        Step {
            function: function.shown(),
            file: function.place.file.clone(),
            line: function.place.line,
        }
    }

    fn purpose(&self, found: &Unguarded) -> OnPurpose {
        let function = &self.index.functions[found.function];
        OnPurpose {
            function: function.shown(),
            client: found.client,
            reason: function.unguarded_because.clone().unwrap_or_default(),
            file: function.place.file.clone(),
            line: function.place.line,
        }
    }
}

/// Who names a dependency.
enum Named {
    By(Id),
    ByHand(ByHand),
}

/// A fallback as the attribute has it: `` `with = seats_from_database` ``.
pub(crate) fn written(form: &Form) -> String {
    format!("`{}`", plain(form))
}

/// The same without the ticks.
pub(crate) fn plain(form: &Form) -> String {
    let one_per = form
        .one_per
        .as_ref()
        .map_or(String::new(), |key| format!(", one_per = {key}"));
    match (form.kind, form.text.as_str()) {
        ("path", path) => format!("{path}{one_per}"),
        ("none", reason) => format!("none = \"{reason}\""),
        ("stale", "") => "stale".to_owned(),
        ("stale", "shared") => "stale(shared)".to_owned(),
        ("stale", key) => format!(
            "stale({})",
            if key.starts_with("key") {
                key.to_owned()
            } else {
                format!("key = {key}")
            }
        ),
        (kind, text) => format!("{kind} = {text}{one_per}"),
    }
}
