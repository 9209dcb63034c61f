//! What is to be put right, in words.

use resilience_policy::{Fault, PolicyError};

use super::{Gap, Named, Report, written};
use crate::audit::findings::{Circular, Unguarded};
use crate::audit::index::Function;
use crate::audit::tree::{self, Unread};

impl Report<'_> {
    pub(super) fn find_gaps(&mut self, said: &[(usize, String, Named)], unread: Vec<Unread>) {
        let mut gaps: Vec<Gap> = Vec::new();
        for read in &self.policies.all {
            gaps.extend(
                read.inspection
                    .error
                    .as_ref()
                    .map(|error| faulty(&tree::shown(&read.file), error)),
            );
        }
        gaps.extend(self.findings.unguarded.iter().map(|found| self.unguarded(found)));
        gaps.extend(self.findings.circular.iter().map(|found| self.circular(found)));
        for (_, function) in self.guarded() {
            gaps.extend(self.against_policy(function));
        }
        let (unused, uncertain) = self.unused(said);
        gaps.extend(unused);
        self.uncertain = uncertain;
        for place in &self.index.unreasoned {
            let message = "the comment gives no reason: `// resilience: unguarded, because …`".to_owned();
            gaps.push(Gap::new("no_reason", message, place.file.clone(), Some(place.line)));
        }
        for unread in unread {
            let gap = Gap::new("unread", unread.message, unread.file, unread.line);
            gaps.push(Gap {
                column: unread.column,
                ..gap
            });
        }
        self.gaps = gaps;
    }

    /// Entries that no code names; and those that a guard with a computed name may mean.
    fn unused(&self, said: &[(usize, String, Named)]) -> (Vec<Gap>, Vec<Gap>) {
        let names: Vec<(usize, String)> = said.iter().map(|(package, name, _)| (*package, name.clone())).collect();
        let computed = self.findings.bodies.iter().find_map(|body| body.computed.as_ref());
        let mut found = Vec::new();
        for (read, entry) in self.policies.unused(&names) {
            let what = if entry.parent.is_some() {
                "operation"
            } else {
                "dependency"
            };
            let way_out = match computed {
                Some(place) => format!("unless `guard` is asked for it at {}:{}", place.file, place.line),
                None => "remove its entry, or guard what calls it".to_owned(),
            };
            let message = format!("no code names the {what} `{}`: {way_out}", entry.name);
            let gap = Gap::new(
                "unused_entry",
                message,
                tree::shown(&read.file),
                Some(entry.line as usize),
            );
            found.push(Gap {
                dependency: Some(entry.name.clone()),
                ..gap
            });
        }
        if computed.is_some() {
            (Vec::new(), found)
        } else {
            (found, Vec::new())
        }
    }

    /// What would not compile either, said here for who has only the source.
    fn against_policy(&self, function: &Function) -> Vec<Gap> {
        let Some((guard, name)) = function
            .guard
            .as_ref()
            .and_then(|guard| Some((guard, guard.dependency.as_ref()?)))
        else {
            return Vec::new();
        };
        let mut gaps = Vec::new();
        let mut say = |kind, message| {
            gaps.push(Gap {
                dependency: Some(name.clone()),
                ..Gap::at(kind, message, function)
            });
        };
        if guard.fallbacks.is_empty() {
            say(
                "no_fallback",
                "no `#[fallback(…)]` says what its caller gets instead".to_owned(),
            );
        }
        let Some(read) = self.policies.of(function.package) else {
            return gaps;
        };
        let policy = &read.inspection.policy;
        let file = tree::shown(&read.file);
        let Some(entry) = policy.dependency(name) else {
            let near = policy
                .nearest(name)
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            say("unknown_dependency", format!("`{name}` is not in {file}{near}"));
            return gaps;
        };
        let has = |layer: &str| match layer {
            "breaker" => entry.breaker.is_some(),
            "bulkhead" => entry.bulkhead.is_some(),
            "retry" => entry.retry.is_some(),
            _ => entry.timeout.is_some(),
        };
        for layer in guard.layers.iter().filter(|layer| !has(layer)) {
            say(
                "missing_layer",
                format!("`{name}` has no `{layer}` in {file}:{}", entry.line),
            );
        }
        gaps
    }

    fn unguarded(&self, found: &Unguarded) -> Gap {
        let function = &self.index.functions[found.function];
        let through = match found.through.first() {
            Some(_) => format!(" through {}", self.way(&found.through)),
            None => String::new(),
        };
        let message = format!(
            "uses a client of `{}`{through} at {}:{} and no attribute guards it",
            found.client, found.at.file, found.at.line
        );
        let path = found.through.iter().map(|id| self.step(*id)).collect();
        Gap {
            client: Some(found.client),
            path,
            ..Gap::at("unguarded_client", message, function)
        }
    }

    fn circular(&self, found: &Circular) -> Gap {
        let function = &self.index.functions[found.function];
        let form = &function
            .guard
            .as_ref()
            .expect("only guarded functions have fallbacks")
            .fallbacks[found.form];
        let message = format!(
            "the fallback {} leads back to `{}`, which it stands in for: {}",
            written(form),
            found.dependency,
            self.way(&found.path)
        );
        let path = found.path.iter().map(|id| self.step(*id)).collect();
        Gap {
            dependency: Some(found.dependency.clone()),
            path,
            ..Gap::at("circular_fallback", message, function)
        }
    }
}

impl Gap {
    fn new(kind: &'static str, message: String, file: String, line: Option<usize>) -> Self {
        Self {
            kind,
            message,
            file,
            line,
            column: line.map(|_| 1),
            function: None,
            dependency: None,
            client: None,
            path: Vec::new(),
        }
    }

    fn at(kind: &'static str, message: String, function: &Function) -> Self {
        let place = &function.place;
        let gap = Self::new(kind, message, place.file.clone(), Some(place.line));
        Self {
            function: Some(function.shown()),
            column: Some(place.column),
            ..gap
        }
    }
}

fn faulty(file: &str, error: &PolicyError) -> Gap {
    let first = error.faults().first();
    let line = first.and_then(Fault::line).map(|line| line as usize);
    let message = format!(
        "the policy has faults ({}): `resilience check {file}` shows them",
        error.total()
    );
    Gap::new("policy", message, file.to_owned(), line)
}
