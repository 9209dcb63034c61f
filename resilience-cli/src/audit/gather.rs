//! Fills the index: one walk over the items of each file.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Fields, Item, ItemImpl, ItemMod, ItemTrait, Signature, Type, UseTree};

use super::attributes::{self, guard, plain};
use super::comments::Comments;
use super::index::{Function, Index, Module, Place, names};
use super::{macros, types};

/// What is known of a file before it is walked.
pub(crate) struct Standing<'a> {
    pub(crate) file: &'a str,
    pub(crate) package: usize,
    pub(crate) module: Module,
    /// Names of the runtime's crate in this package.
    pub(crate) comments: &'a Comments,
    pub(crate) tests: bool,
}

/// Imports and modules, which must be known before names can be followed.
pub(crate) fn imports(index: &mut Index, module: &Module, items: &[Item], tests: bool) {
    let mut path = module.path.clone();
    while !path.is_empty() {
        index.modules.insert((module.krate.clone(), path.clone()));
        path.pop();
    }
    for item in items {
        match item {
            Item::Use(item) => {
                let mut at = Vec::new();
                tree(index, module, &item.tree, &mut at);
            }
            Item::ExternCrate(item) => {
                if let Some((_, name)) = &item.rename {
                    let imports = index.imports.entry(module.clone()).or_default();
                    imports.names.insert(name.to_string(), vec![item.ident.to_string()]);
                }
            }
            Item::Mod(ItemMod {
                ident, content, attrs, ..
            }) if tests || !is_test(attrs) => {
                let inner = below(module, ident);
                index.modules.insert((inner.krate.clone(), inner.path.clone()));
                if let Some((_, items)) = content {
                    imports(index, &inner, items, tests);
                }
            }
            Item::Type(item) => {
                index.aliases.insert(item.ident.to_string(), Vec::new());
            }
            _ => {}
        }
    }
}

/// Types, which may be named in any file: fields of structs, and aliases.
pub(crate) fn shapes(index: &mut Index, module: &Module, items: &[Item]) {
    for item in items {
        match item {
            Item::Struct(item) => {
                let fields = match &item.fields {
                    Fields::Named(fields) => &fields.named,
                    Fields::Unnamed(fields) => &fields.unnamed,
                    Fields::Unit => continue,
                };
                for (at, field) in fields.iter().enumerate() {
                    let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
                    let mentioned = types::mentioned(index, module, &field.ty);
                    index
                        .fields
                        .entry(item.ident.to_string())
                        .or_default()
                        .insert(name, mentioned);
                }
            }
            Item::Type(item) => {
                let mentioned = types::mentioned(index, module, &item.ty);
                index.aliases.insert(item.ident.to_string(), mentioned);
            }
            Item::Mod(ItemMod {
                ident,
                content: Some((_, items)),
                ..
            }) => shapes(index, &below(module, ident), items),
            _ => {}
        }
    }
}

fn tree(index: &mut Index, module: &Module, tree_: &UseTree, at: &mut Vec<String>) {
    let mut name = |here: String, whole: Vec<String>| {
        index
            .imports
            .entry(module.clone())
            .or_default()
            .names
            .insert(here, whole);
    };
    match tree_ {
        UseTree::Path(path) => {
            at.push(path.ident.to_string());
            tree(index, module, &path.tree, at);
            at.pop();
        }
        UseTree::Name(leaf) if leaf.ident == "self" => {
            if let Some(last) = at.last() {
                name(last.clone(), at.clone());
            }
        }
        UseTree::Name(leaf) => name(leaf.ident.to_string(), with(at, leaf.ident.to_string())),
        UseTree::Rename(leaf) if leaf.ident == "self" => name(leaf.rename.to_string(), at.clone()),
        UseTree::Rename(leaf) => name(leaf.rename.to_string(), with(at, leaf.ident.to_string())),
        UseTree::Glob(_) => index.imports.entry(module.clone()).or_default().globs.push(at.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|one| tree(index, module, one, at)),
    }
}

fn with(path: &[String], last: String) -> Vec<String> {
    path.iter().cloned().chain([last]).collect()
}

fn below(module: &Module, name: &syn::Ident) -> Module {
    Module {
        krate: module.krate.clone(),
        path: with(&module.path, name.to_string()),
    }
}

/// Whether code is there for tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        let only_in_tests = || attributes::text(&attribute.meta) == "cfg(test)";
        last.is_some_and(|last| last.ident == "test") || only_in_tests()
    })
}

/// The modules that only tests have, and whose files say nothing of it.
pub(crate) fn test_modules(module: &Module, items: &[Item], found: &mut Vec<Module>) {
    for item in items {
        if let Item::Mod(ItemMod {
            ident, content, attrs, ..
        }) = item
        {
            let inner = below(module, ident);
            match content {
                None if is_test(attrs) => found.push(inner),
                Some((_, items)) => test_modules(&inner, items, found),
                None => {}
            }
        }
    }
}

/// The functions of a file.
pub(crate) fn functions(index: &mut Index, standing: &Standing<'_>, items: &[Item]) {
    let mut walk = Walk {
        index,
        standing,
        module: standing.module.clone(),
        owner: None,
        of_trait: None,
    };
    for item in items {
        walk.visit_item(item);
    }
}

pub(super) struct Walk<'a> {
    pub(super) index: &'a mut Index,
    pub(super) standing: &'a Standing<'a>,
    pub(super) module: Module,
    owner: Option<String>,
    of_trait: Option<String>,
}

impl Walk<'_> {
    pub(super) fn place(&self, span: Span) -> Place {
        let start = span.start();
        Place {
            file: self.standing.file.to_owned(),
            line: start.line,
            column: start.column + 1,
        }
    }

    /// Which of our attributes a path is, by the names it was imported under.
    pub(super) fn kind_of(&self, path: &syn::Path) -> Option<String> {
        let whole = self.index.resolve(&self.module, &names(path));
        let last = whole.last()?;
        let ours = last == "fallback" || attributes::LAYERS.contains(&last.as_str());
        ours.then(|| last.clone())
    }

    fn function(&mut self, attrs: &[Attribute], signature: &Signature, block: Option<&Block>, whole: Span) {
        if is_test(attrs) && !self.standing.tests {
            return;
        }
        let guard = guard(&plain(attrs), |path| self.kind_of(path));
        let lines = whole.start().line..=whole.end().line;
        let function = Function {
            name: signature.ident.to_string(),
            owner: self.owner.clone(),
            of_trait: self.of_trait.clone(),
            place: self.place(signature.ident.span()),
            module: self.module.clone(),
            package: self.standing.package,
            guard,
            code: block.map(|block| (signature.clone(), block.clone())),
            unguarded_because: self.standing.comments.reason(&lines),
            by_macro: None,
        };
        self.index.add(function);
        if let Some(block) = block {
            // Functions inside are functions of their own.
            let (owner, of_trait) = (self.owner.take(), self.of_trait.take());
            visit::visit_block(self, block);
            (self.owner, self.of_trait) = (owner, of_trait);
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_test(&item.attrs) && !self.standing.tests {
            return;
        }
        let inner = below(&self.module, &item.ident);
        let outer = std::mem::replace(&mut self.module, inner);
        visit::visit_item_mod(self, item);
        self.module = outer;
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if is_test(&item.attrs) && !self.standing.tests {
            return;
        }
        let outer = (self.owner.take(), self.of_trait.take());
        self.owner = owner(&item.self_ty);
        self.of_trait = item
            .trait_
            .as_ref()
            .and_then(|(path, _)| path.segments.last())
            .map(|last| last.ident.to_string());
        visit::visit_item_impl(self, item);
        (self.owner, self.of_trait) = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        let outer = (
            self.owner.replace(item.ident.to_string()),
            self.of_trait.replace(item.ident.to_string()),
        );
        visit::visit_item_trait(self, item);
        (self.owner, self.of_trait) = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block), item.span());
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block), item.span());
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.attrs, &item.sig, item.default.as_ref(), item.span());
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match &item.ident {
            Some(name) if item.mac.path.is_ident("macro_rules") => {
                macros::rules(self, &name.to_string(), &item.mac.tokens);
            }
            _ => visit::visit_item_macro(self, item),
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        macros::invocation(self, mac);
    }
}

/// The name of the type that an `impl` is for.
fn owner(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Reference(inner) => owner(&inner.elem),
        Type::Paren(inner) => owner(&inner.elem),
        _ => None,
    }
}
