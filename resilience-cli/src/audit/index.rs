//! What the source says, before anything is concluded: functions, imports, fields, and macros.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syn::{Block, Signature};

use super::attributes::Guard;

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// So many imports are followed: names that are imported in a circle lead nowhere.
const STEPS: u8 = 8;

/// A function of the tree, by its number.
pub(crate) type Id = usize;

/// A module of a crate: where names are looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Module {
    pub(crate) krate: String,
    pub(crate) path: Vec<String>,
}

/// The imports of a module.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// The name here, and the path it stands for.
    pub(crate) names: HashMap<String, Vec<String>>,
    /// `use sqlx::*`
    pub(crate) globs: Vec<Vec<String>>,
}

/// A function, a method, or a function that a macro makes.
#[derive(Clone)]
pub(crate) struct Function {
    /// `charge`; `$name` in a macro.
    pub(crate) name: String,
    /// The type it is a method of, and the trait.
    pub(crate) owner: Option<String>,
    pub(crate) of_trait: Option<String>,
    pub(crate) place: Place,
    pub(crate) module: Module,
    /// The folder of its package, for the policy.
    pub(crate) package: usize,
    pub(crate) guard: Option<Guard>,
    /// Nothing where only tokens could be read.
    pub(crate) code: Option<(Signature, Block)>,
    /// The reason of a comment `// resilience: unguarded, because …`.
    pub(crate) unguarded_because: Option<String>,
    /// The macro whose rules make it.
    pub(crate) by_macro: Option<String>,
}

impl Function {
    /// `Clients::charge`
    pub(crate) fn shown(&self) -> String {
        let owner = self.owner.as_ref().map_or(String::new(), |owner| format!("{owner}::"));
        let by = self
            .by_macro
            .as_ref()
            .map_or(String::new(), |by| format!(" (in `{by}!`)"));
        format!("{owner}{}{by}", self.name)
    }
}

/// A use of a dependency that no attribute makes: `runtime.guard("payrail")`, or a name handed to a macro.
#[derive(Debug, Clone)]
pub(crate) struct ByHand {
    pub(crate) dependency: String,
    pub(crate) how: String,
    /// A tower layer is made of it.
    pub(crate) layer: bool,
    pub(crate) place: Place,
    pub(crate) package: usize,
}

/// Everything that was found in the tree.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) functions: Vec<Function>,
    pub(crate) by_name: HashMap<String, Vec<Id>>,
    pub(crate) imports: HashMap<Module, Imports>,
    pub(crate) modules: BTreeSet<(String, Vec<String>)>,
    /// The libraries of the tree, by the names that other crates import them under.
    pub(crate) crates: HashMap<String, String>,
    /// The types named in each field of each struct; the fields of a tuple are `0`, `1`.
    pub(crate) fields: HashMap<String, BTreeMap<String, Vec<Vec<String>>>>,
    /// `type Db = sqlx::PgPool`
    pub(crate) aliases: HashMap<String, Vec<Vec<String>>>,
    /// Macros whose rules name a dependency by a fragment, so that their callers name it.
    pub(crate) naming_macros: BTreeSet<String>,
    /// Texts handed to a macro: its name, the text, where.
    pub(crate) handed: Vec<(String, ByHand)>,
    /// Comments that opt out and give no reason.
    pub(crate) unreasoned: Vec<Place>,
}

impl Index {
    pub(crate) fn add(&mut self, function: Function) -> Id {
        let id = self.functions.len();
        self.by_name.entry(function.name.clone()).or_default().push(id);
        self.functions.push(function);
        id
    }

    /// What a path of names means in a module: `Client` is `reqwest::Client` where it was imported so.
    pub(crate) fn resolve(&self, module: &Module, path: &[String]) -> Vec<String> {
        self.follow(module, path, STEPS)
    }

    fn follow(&self, module: &Module, path: &[String], steps: u8) -> Vec<String> {
        let Some(first) = path.first().filter(|_| steps > 0) else {
            return path.to_vec();
        };
        let inside = |path: Vec<String>| Module {
            krate: module.krate.clone(),
            path,
        };
        match first.as_str() {
            "crate" => return self.enter(&inside(Vec::new()), &path[1..], steps),
            "self" => return self.enter(module, &path[1..], steps),
            "super" => {
                let above = module.path.len().saturating_sub(1);
                return self.enter(&inside(module.path[..above].to_vec()), &path[1..], steps);
            }
            _ => {}
        }
        let imports = self.imports.get(module);
        if let Some(whole) = imports.and_then(|imports| imports.names.get(first)) {
            let whole: Vec<String> = whole.iter().chain(&path[1..]).cloned().collect();
            // `use crate::a::b` inside `b`'s own parent would turn in a circle without the steps.
            return if whole == path {
                whole
            } else {
                self.follow(module, &whole, steps - 1)
            };
        }
        for glob in imports.map_or(&[][..], |imports| &imports.globs) {
            if glob.first().is_some_and(|root| super::clients::knows(root, first)) {
                return glob.iter().chain(path).cloned().collect();
            }
        }
        if self.modules.contains(&child(module, first)) {
            let mut below = module.path.clone();
            below.push(first.clone());
            return self.enter(&inside(below), &path[1..], steps);
        }
        path.to_vec()
    }

    /// A path whose beginning is a module of the tree: `crate::a::name`, or what `name` is an import of there.
    fn enter(&self, module: &Module, rest: &[String], steps: u8) -> Vec<String> {
        let known = |name: &String| {
            let imported = self
                .imports
                .get(module)
                .is_some_and(|imports| imports.names.contains_key(name));
            imported || self.modules.contains(&child(module, name)) || name == "super"
        };
        if rest.first().is_some_and(known) {
            return self.follow(module, rest, steps - 1);
        }
        let root = std::iter::once("crate".to_owned());
        root.chain(module.path.iter().cloned())
            .chain(rest.iter().cloned())
            .collect()
    }
}

fn child(module: &Module, name: &str) -> (String, Vec<String>) {
    let mut path = module.path.clone();
    path.push(name.to_owned());
    (module.krate.clone(), path)
}

/// The names of a path.
pub(crate) fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Finding functions by what code calls them.
impl Index {
    /// The functions that a path may mean, its imports followed.
    pub(crate) fn functions_of(&self, module: &Module, path: &[String]) -> Vec<Id> {
        self.find(module, path, STEPS)
    }

    fn find(&self, module: &Module, path: &[String], steps: u8) -> Vec<Id> {
        let Some((name, before)) = path.split_last().filter(|_| steps > 0) else {
            return Vec::new();
        };
        if let Some(krate) = before.first().and_then(|first| self.crates.get(first)) {
            let there = Module {
                krate: krate.clone(),
                path: Vec::new(),
            };
            let inside: Vec<String> = std::iter::once("crate".to_owned())
                .chain(path[1..].iter().cloned())
                .collect();
            return self.find(&there, &self.resolve(&there, &inside), steps - 1);
        }
        let all = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        all.iter()
            .copied()
            .filter(|id| self.is_at(&self.functions[*id], module, before))
            .collect()
    }

    fn is_at(&self, function: &Function, module: &Module, before: &[String]) -> bool {
        match (&function.owner, before.split_last()) {
            // `charge(…)`, of this module or of one whose names are all imported.
            (None, None) => function.module == *module || self.imports_all(module, &function.module),
            // `crate::pay::charge(…)`
            (None, Some(_)) => {
                before[0] == "crate" && function.module.krate == module.krate && function.module.path == before[1..]
            }
            // `Clients::charge(…)`
            (Some(owner), Some((last, _))) => owner == last || function.of_trait.as_ref() == Some(last),
            (Some(_), None) => false,
        }
    }

    fn imports_all(&self, here: &Module, of: &Module) -> bool {
        let globs = self.imports.get(here).map_or(&[][..], |imports| &imports.globs);
        here.krate == of.krate
            && globs.iter().any(|glob| {
                let whole = self.resolve(here, glob);
                whole.first().is_some_and(|first| first == "crate") && whole[1..] == of.path
            })
    }

    /// The methods that a call may mean, by the types its receiver may be of.
    pub(crate) fn methods_of(&self, types: &[String], name: &str) -> Vec<Id> {
        let methods = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let methods: Vec<Id> = methods
            .iter()
            .copied()
            .filter(|id| self.functions[*id].owner.is_some())
            .collect();
        // Nothing is known of a value, or only the letter of a type parameter: the only method of this name is meant.
        if types.iter().all(|ty| ty.len() <= 2) {
            return if methods.len() == 1 { methods } else { Vec::new() };
        }
        let of = |id: &Id| {
            let function = &self.functions[*id];
            [&function.owner, &function.of_trait]
                .into_iter()
                .flatten()
                .any(|name| types.contains(name))
        };
        methods.into_iter().filter(of).collect()
    }
}
