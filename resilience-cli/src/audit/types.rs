//! Which types a type mentions, and what these lead to.

use syn::visit::{self, Visit};
use syn::{Type, TypeParamBound, TypePath};

use super::clients;
use super::index::{Index, Module, names};

/// Every path in a type, with its imports followed: `Arc<Mutex<Client>>` mentions three.
pub(crate) fn mentioned(index: &Index, module: &Module, ty: &Type) -> Vec<Vec<String>> {
    let mut walk = Walk {
        index,
        module,
        found: Vec::new(),
    };
    walk.visit_type(ty);
    walk.found
}

/// Every path among the bounds of a type parameter.
pub(crate) fn bounds<'a>(
    index: &Index,
    module: &Module,
    bounds: impl IntoIterator<Item = &'a TypeParamBound>,
) -> Vec<Vec<String>> {
    let mut walk = Walk {
        index,
        module,
        found: Vec::new(),
    };
    bounds.into_iter().for_each(|bound| walk.visit_type_param_bound(bound));
    walk.found
}

struct Walk<'a> {
    index: &'a Index,
    module: &'a Module,
    found: Vec<Vec<String>>,
}

impl Walk<'_> {
    fn path(&mut self, path: &syn::Path) {
        let whole = self.index.resolve(self.module, &names(path));
        if let Some(alias) = whole.last().and_then(|last| self.index.aliases.get(last)) {
            self.found.extend(alias.iter().cloned());
        }
        self.found.push(whole);
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_type_path(&mut self, ty: &'ast TypePath) {
        self.path(&ty.path);
        visit::visit_type_path(self, ty);
    }

    // `impl Executor<'_>` and `dyn GenericClient` are clients, too.
    fn visit_trait_bound(&mut self, bound: &'ast syn::TraitBound) {
        self.path(&bound.path);
        visit::visit_trait_bound(self, bound);
    }
}

/// What is known of a value: the client it is or was made from, and the types of the tree it may be of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) client: Option<&'static str>,
    pub(crate) types: Vec<String>,
    /// A guard that was asked for by hand.
    pub(crate) guard: bool,
    /// By this name.
    pub(crate) dependency: Option<String>,
}

impl Known {
    pub(crate) fn of(mentioned: &[Vec<String>]) -> Self {
        let is = |name: &str| {
            mentioned
                .iter()
                .any(|path| path.last().is_some_and(|last| last == name))
        };
        // A client inside a tower layer of ours is guarded, whoever sends.
        let client = mentioned.iter().find_map(|path| clients::of_type(path));
        Self {
            client: client.filter(|_| !is("GuardService")),
            types: mentioned.iter().filter_map(|path| path.last().cloned()).collect(),
            guard: is("Guard"),
            dependency: None,
        }
    }

    pub(crate) fn client(name: &'static str) -> Self {
        Self {
            client: Some(name),
            ..Self::default()
        }
    }

    /// A field of it, if it is of a struct of the tree that has one of that name.
    pub(crate) fn field(&self, index: &Index, name: &str) -> Self {
        let fields = self.types.iter().filter_map(|ty| index.fields.get(ty));
        fields
            .into_iter()
            .find_map(|fields| fields.get(name))
            .map_or_else(Self::default, |mentioned| Self::of(mentioned))
    }
}
