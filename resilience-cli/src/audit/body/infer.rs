//! What is known of the value of an expression: not its type, but whether it leads to a client.

use syn::Expr;

use super::Reader;
use crate::audit::index::{Id, names};
use crate::audit::types::Known;
use crate::audit::{attributes, clients};

impl Reader<'_> {
    /// What is known of the value of an expression.
    pub(super) fn infer(&self, expr: &Expr) -> Known {
        match expr {
            Expr::Path(path) if path.path.is_ident("self") => Known {
                types: self
                    .function
                    .owner
                    .iter()
                    .chain(&self.function.of_trait)
                    .cloned()
                    .collect(),
                ..Known::default()
            },
            Expr::Path(path) => {
                let name = path.path.get_ident().map(ToString::to_string);
                name.and_then(|name| self.known.get(&name).cloned()).unwrap_or_default()
            }
            Expr::Field(field) => {
                let base = self.infer(&field.base);
                let found = base.field(self.index, &attributes::text(&field.member));
                // What was taken out of a wrapper: `state.0`.
                let unwrapped = matches!(field.member, syn::Member::Unnamed(_)) && found.types.is_empty();
                if unwrapped { base } else { found }
            }
            Expr::MethodCall(call) => self.infer_method(call),
            Expr::Call(call) => self.infer_call(call),
            Expr::Await(inner) => self.infer(&inner.base),
            Expr::Try(inner) => self.infer(&inner.expr),
            Expr::Reference(inner) => self.infer(&inner.expr),
            Expr::Paren(inner) => self.infer(&inner.expr),
            Expr::Group(inner) => self.infer(&inner.expr),
            Expr::Unary(inner) => self.infer(&inner.expr),
            Expr::Struct(made) => Known::of(&[self.resolve(&made.path)]),
            Expr::Macro(call) => Known {
                client: clients::of_call(&self.resolve(&call.mac.path)),
                ..Known::default()
            },
            _ => Known::default(),
        }
    }

    pub(super) fn infer_method(&self, call: &syn::ExprMethodCall) -> Known {
        let receiver = self.infer(&call.receiver);
        if call.method == "guard" {
            let name = match call.args.first() {
                Some(Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(name),
                    ..
                })) => Some(name.value()),
                _ => None,
            };
            return Known {
                guard: true,
                dependency: name,
                ..Known::default()
            };
        }
        // What a client makes, a request or a connection, leads to the far side as well.
        if let Some(client) = receiver.client {
            return Known::client(client);
        }
        match self.methods(&receiver, &call.method.to_string()).first() {
            Some(target) => self.returned(*target),
            None => receiver,
        }
    }

    pub(super) fn infer_call(&self, call: &syn::ExprCall) -> Known {
        let Expr::Path(path) = &*call.func else {
            return Known::default();
        };
        let whole = self.resolve(&path.path);
        if let Some(client) = clients::of_call(&whole) {
            return Known::client(client);
        }
        if let Some(target) = self.functions(&path.path).first() {
            return self.returned(*target);
        }
        // `Arc::new(client)`, `timeout(limit, client.get(url).send())`
        let client = call.args.iter().find_map(|argument| self.infer(argument).client);
        Known {
            client,
            types: whole.iter().rev().nth(1).cloned().into_iter().collect(),
            ..Known::default()
        }
    }

    /// What a function of the tree returns.
    pub(super) fn returned(&self, target: Id) -> Known {
        let function = &self.index.functions[target];
        let Some((signature, _)) = &function.code else {
            return Known::default();
        };
        match &signature.output {
            syn::ReturnType::Type(_, ty) => Reader::new(self.index, function).of_type(ty),
            syn::ReturnType::Default => Known::default(),
        }
    }

    pub(super) fn resolve(&self, path: &syn::Path) -> Vec<String> {
        self.index.resolve(&self.function.module, &names(path))
    }

    /// The functions of the tree that a path may mean.
    pub(super) fn functions(&self, path: &syn::Path) -> Vec<Id> {
        let mut whole = self.resolve(path);
        if whole.first().is_some_and(|first| first == "Self") {
            whole = self
                .function
                .owner
                .iter()
                .cloned()
                .chain(whole.into_iter().skip(1))
                .collect();
        }
        self.index.functions_of(&self.function.module, &whole)
    }

    pub(super) fn methods(&self, receiver: &Known, name: &str) -> Vec<Id> {
        self.index.methods_of(&receiver.types, name)
    }
}
