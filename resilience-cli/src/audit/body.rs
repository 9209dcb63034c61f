//! What a function does: whom it calls, and whether it uses a client itself.

use std::collections::HashMap;

use syn::visit::{self, Visit};
use syn::{Expr, FnArg, Pat, Type};

use super::clients;
use super::index::{ByHand, Function, Id, Index, Place, names};
use super::types::{Known, bounds, mentioned};

mod infer;
mod walk;

/// What the code of a function does.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) calls: Vec<Call>,
    /// The client that it uses itself, and where it does so first.
    pub(crate) uses: Option<(&'static str, Place)>,
    pub(crate) by_hand: Vec<ByHand>,
    /// A guard is asked for by a name that only the running program knows.
    pub(crate) computed: Option<Place>,
}

/// A call of a function of the tree.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) to: Id,
    /// It runs under a guard that was asked for by hand.
    pub(crate) guarded: bool,
}

/// Reads the code of one function.
pub(crate) fn read(index: &Index, function: &Function) -> Body {
    let mut reader = Reader::new(index, function);
    if let Some((signature, block)) = &function.code {
        reader.parameters(signature);
        reader.visit_block(block);
    }
    reader.body
}

/// What an expression outside the body calls: that of a fallback.
pub(crate) fn called_by(index: &Index, function: &Function, code: &Expr) -> Vec<Id> {
    let mut reader = Reader::new(index, function);
    reader.visit_expr(code);
    reader.body.calls.into_iter().map(|call| call.to).collect()
}

struct Reader<'a> {
    index: &'a Index,
    function: &'a Function,
    /// What is known of the variables.
    known: HashMap<String, Known>,
    /// Type parameters, by what they are bound to.
    bounds: HashMap<String, Vec<Vec<String>>>,
    under_guard: bool,
    body: Body,
}

impl<'a> Reader<'a> {
    fn new(index: &'a Index, function: &'a Function) -> Self {
        Self {
            index,
            function,
            known: HashMap::new(),
            bounds: HashMap::new(),
            under_guard: false,
            body: Body::default(),
        }
    }

    fn parameters(&mut self, signature: &syn::Signature) {
        let module = &self.function.module;
        for parameter in signature.generics.type_params() {
            let found = bounds(self.index, module, &parameter.bounds);
            self.bounds
                .entry(parameter.ident.to_string())
                .or_default()
                .extend(found);
        }
        for predicate in signature
            .generics
            .where_clause
            .iter()
            .flat_map(|clause| &clause.predicates)
        {
            if let syn::WherePredicate::Type(predicate) = predicate {
                let found = bounds(self.index, module, &predicate.bounds);
                let name = super::attributes::text(&predicate.bounded_ty);
                self.bounds.entry(name).or_default().extend(found);
            }
        }
        for input in &signature.inputs {
            if let FnArg::Typed(typed) = input {
                let known = self.of_type(&typed.ty);
                self.bind(&typed.pat, &known);
            }
        }
    }

    fn of_type(&self, ty: &Type) -> Known {
        let mut found = mentioned(self.index, &self.function.module, ty);
        for path in found.clone() {
            if let [name] = path.as_slice() {
                found.extend(self.bounds.get(name).into_iter().flatten().cloned());
            }
        }
        if let Some(owner) = self
            .function
            .owner
            .as_ref()
            .filter(|_| found.iter().any(|path| path == &["Self"]))
        {
            found.push(vec![owner.clone()]);
        }
        Known::of(&found)
    }

    /// Every name of a pattern stands for (a part of) the value.
    fn bind(&mut self, pattern: &Pat, known: &Known) {
        struct Names(Vec<String>);
        impl<'ast> Visit<'ast> for Names {
            fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
                self.0.push(pattern.ident.to_string());
                visit::visit_pat_ident(self, pattern);
            }
        }
        let mut names = Names(Vec::new());
        names.visit_pat(pattern);
        for name in names.0 {
            // A part that goes by the name of a field is that field.
            let field = known.field(self.index, &name);
            let part = if field.client.is_some() || !field.types.is_empty() {
                field
            } else {
                known.clone()
            };
            self.known.insert(name, part);
        }
    }

    fn call(&mut self, targets: Vec<Id>) {
        let guarded = self.under_guard;
        self.body
            .calls
            .extend(targets.into_iter().map(|to| Call { to, guarded }));
    }

    fn uses(&mut self, client: &'static str, at: proc_macro2::Span) {
        if !self.under_guard && self.body.uses.is_none() {
            self.body.uses = Some((client, self.place(at)));
        }
    }

    fn guard_by_hand(&mut self, name: &Expr, at: proc_macro2::Span) {
        let place = self.place(at);
        match name {
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(name),
                ..
            }) => self.body.by_hand.push(ByHand {
                dependency: name.value(),
                how: format!("`guard` in {}", self.function.shown()),
                layer: false,
                place,
                package: self.function.package,
            }),
            _ => self.body.computed = self.body.computed.take().or(Some(place)),
        }
    }

    /// A layer is made of a guard that was asked for by this name.
    fn by_layer(&mut self, dependency: &str) {
        let how = format!("`GuardLayer` in {}", self.function.shown());
        let asked = self.body.by_hand.iter_mut();
        for by_hand in asked.filter(|by_hand| by_hand.dependency == dependency) {
            (by_hand.layer, by_hand.how) = (true, how.clone());
        }
    }

    fn place(&self, span: proc_macro2::Span) -> Place {
        let start = span.start();
        Place {
            file: self.function.place.file.clone(),
            line: start.line,
            column: start.column + 1,
        }
    }

    /// The client that an awaited expression leads to, if awaiting it is more than making that client.
    fn awaited(&self, base: &Expr) -> Option<&'static str> {
        match base {
            Expr::MethodCall(call) if clients::sets_up(&call.method.to_string()) => None,
            Expr::MethodCall(call) => self.infer(base).client.or_else(|| {
                // `users.load(&mut connection)`: whoever gets the client uses it, unless the tree shows what he does.
                let receiver = self.infer(&call.receiver);
                let foreign = self.methods(&receiver, &call.method.to_string()).is_empty();
                let argument = || call.args.iter().find_map(|argument| self.infer(argument).client);
                foreign.then(argument).flatten()
            }),
            Expr::Call(call) => {
                let last = match &*call.func {
                    Expr::Path(path) => names(&path.path).pop(),
                    _ => None,
                };
                self.infer(base)
                    .client
                    .filter(|_| !last.is_some_and(|last| clients::sets_up(&last)))
            }
            _ => self.infer(base).client,
        }
    }
}
