//! What follows from the index: who is guarded, who is not, and which fallbacks lead back to what failed.

use std::collections::BTreeSet;

use super::body::{self, Body};
use super::index::{Function, Id, Index, Place};

/// What was found out.
pub(crate) struct Findings {
    /// Clients that are used where no guard is.
    pub(crate) unguarded: Vec<Unguarded>,
    /// The same, with a reason.
    pub(crate) on_purpose: Vec<Unguarded>,
    /// Fallbacks that call the dependency they stand in for.
    pub(crate) circular: Vec<Circular>,
    /// Calls between functions of the tree, and the client that each uses itself.
    pub(crate) bodies: Vec<Body>,
    /// What each form of each function's fallbacks runs.
    pub(crate) fallbacks: Vec<Vec<Vec<Id>>>,
}

/// A function that leads to a client without a guard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unguarded {
    pub(crate) function: Id,
    pub(crate) client: &'static str,
    pub(crate) at: Place,
    /// The functions in between; the last one uses the client.
    pub(crate) through: Vec<Id>,
}

/// A fallback that leads back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Circular {
    pub(crate) function: Id,
    pub(crate) dependency: String,
    /// Which of its fallbacks.
    pub(crate) form: usize,
    /// From the fallback's own function to the one that calls the dependency; empty where the form itself does.
    pub(crate) path: Vec<Id>,
}

pub(crate) fn conclude(index: &Index) -> Findings {
    let bodies: Vec<Body> = index
        .functions
        .iter()
        .map(|function| body::read(index, function))
        .collect();
    let fallbacks: Vec<Vec<Vec<Id>>> = index.functions.iter().map(|function| forms(index, function)).collect();
    let tree = Tree {
        index,
        bodies: &bodies,
        fallbacks: &fallbacks,
        callers: callers(&bodies, &fallbacks),
    };
    let (mut unguarded, mut on_purpose) = (BTreeSet::new(), BTreeSet::new());
    for (id, body) in bodies.iter().enumerate() {
        if let Some((client, at)) = &body.uses {
            let found = Unguarded {
                function: id,
                client,
                at: at.clone(),
                through: Vec::new(),
            };
            tree.blame(found, &mut BTreeSet::new(), &mut |found| {
                let purpose = index.functions[found.function].unguarded_because.is_some();
                if purpose { &mut on_purpose } else { &mut unguarded }.insert(found);
            });
        }
    }
    let circular = (0..index.functions.len()).flat_map(|id| tree.circular(id)).collect();
    let sorted = |found: BTreeSet<Unguarded>| {
        let mut found: Vec<Unguarded> = found.into_iter().collect();
        found.sort_by_key(|one| index.functions[one.function].place.clone());
        found
    };
    let (unguarded, on_purpose) = (sorted(unguarded), sorted(on_purpose));
    Findings {
        unguarded,
        on_purpose,
        circular,
        bodies,
        fallbacks,
    }
}

/// What each form runs; nothing for those that run no function.
fn forms(index: &Index, function: &Function) -> Vec<Vec<Id>> {
    let Some(guard) = &function.guard else {
        return Vec::new();
    };
    let runs = |form: &super::attributes::Form| match (form.kind, &form.code) {
        ("path" | "with" | "refuse" | "value", Some(code)) => body::called_by(index, function, code),
        _ => Vec::new(),
    };
    guard.fallbacks.iter().map(runs).collect()
}

/// Who calls a function, and how.
#[derive(Debug, Clone, Copy)]
struct Caller {
    id: Id,
    /// As a fallback, which has slots and a timeout of its own, or under a guard by hand.
    bounded: bool,
}

fn callers(bodies: &[Body], fallbacks: &[Vec<Vec<Id>>]) -> Vec<Vec<Caller>> {
    let mut callers = vec![Vec::new(); bodies.len()];
    for (id, body) in bodies.iter().enumerate() {
        for call in &body.calls {
            callers[call.to].push(Caller {
                id,
                bounded: call.guarded,
            });
        }
        for target in fallbacks[id].iter().flatten() {
            callers[*target].push(Caller { id, bounded: true });
        }
    }
    callers
}

struct Tree<'a> {
    index: &'a Index,
    bodies: &'a [Body],
    fallbacks: &'a [Vec<Vec<Id>>],
    callers: Vec<Vec<Caller>>,
}

impl Tree<'_> {
    fn guarded(&self, id: Id) -> bool {
        self.index.functions[id].guard.is_some()
    }

    /// Whether every way to a function leads through a guard.
    fn covered(&self, id: Id, seen: &mut BTreeSet<Id>) -> bool {
        // A circle of calls adds no way in.
        if self.guarded(id) || !seen.insert(id) {
            return true;
        }
        let callers = &self.callers[id];
        !callers.is_empty()
            && callers
                .iter()
                .all(|caller| caller.bounded || self.covered(caller.id, seen))
    }

    /// Whether some way to a function leads through a guard, or through one who has none on purpose.
    fn shared(&self, id: Id, seen: &mut BTreeSet<Id>) -> bool {
        let excused = |caller: Id| self.index.functions[caller].unguarded_because.is_some();
        seen.insert(id)
            && self.callers[id].iter().any(|caller| {
                caller.bounded || self.guarded(caller.id) || excused(caller.id) || self.shared(caller.id, seen)
            })
    }

    /// Names the function that lacks the guard: the one that uses the client, or, where that one is a helper that some
    /// reach through a guard and some do not, those who do not.
    fn blame(&self, found: Unguarded, seen: &mut BTreeSet<Id>, tell: &mut impl FnMut(Unguarded)) {
        let id = found.function;
        if !seen.insert(id) || self.covered(id, &mut BTreeSet::new()) {
            return;
        }
        let excused = self.index.functions[id].unguarded_because.is_some();
        if excused || !self.shared(id, &mut BTreeSet::new()) {
            tell(found);
            return;
        }
        for caller in self.callers[id].iter().filter(|caller| !caller.bounded) {
            let through = std::iter::once(id).chain(found.through.iter().copied()).collect();
            let function = caller.id;
            self.blame(
                Unguarded {
                    function,
                    through,
                    ..found.clone()
                },
                seen,
                tell,
            );
        }
    }

    /// The forms of one function that lead back to its dependency.
    fn circular(&self, id: Id) -> Vec<Circular> {
        let Some(dependency) = self.dependency(id) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (form, targets) in self.fallbacks[id].iter().enumerate() {
            let way = targets
                .iter()
                .find_map(|target| self.way(*target, dependency, &mut BTreeSet::new()));
            if let Some(path) = way {
                found.push(Circular {
                    function: id,
                    dependency: dependency.to_owned(),
                    form,
                    path,
                });
            }
        }
        found
    }

    /// The calls from a function to one that calls the dependency: through bodies, and through the fallbacks of guarded
    /// functions on the way.
    fn way(&self, from: Id, dependency: &str, seen: &mut BTreeSet<Id>) -> Option<Vec<Id>> {
        if !seen.insert(from) {
            return None;
        }
        let by_hand = self.bodies[from]
            .by_hand
            .iter()
            .any(|by_hand| base(&by_hand.dependency) == dependency);
        if by_hand || self.dependency(from) == Some(dependency) {
            return Some(vec![from]);
        }
        let calls = self.bodies[from].calls.iter().map(|call| call.to);
        let next = calls.chain(self.fallbacks[from].iter().flatten().copied());
        next.into_iter().find_map(|next| {
            let rest = self.way(next, dependency, seen)?;
            Some(std::iter::once(from).chain(rest).collect())
        })
    }

    /// What a function guards; an operation is part of its dependency.
    fn dependency(&self, id: Id) -> Option<&str> {
        let guard = self.index.functions[id].guard.as_ref()?;
        guard.dependency.as_deref().map(base)
    }
}

fn base(name: &str) -> &str {
    name.split_once('.').map_or(name, |(dependency, _)| dependency)
}
