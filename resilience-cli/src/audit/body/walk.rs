//! The walk over the code of a function.

use syn::visit::{self, Visit};
use syn::{Expr, Pat};

use super::Reader;
use crate::audit::types::Known;
use crate::audit::{clients, macros};

impl<'ast> Visit<'ast> for Reader<'_> {
    // A function inside is a function of its own.
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let known = match (&local.pat, &local.init) {
            (Pat::Type(typed), _) => self.of_type(&typed.ty),
            (_, Some(init)) => self.infer(&init.expr),
            _ => Known::default(),
        };
        self.bind(&local.pat, &known);
    }

    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        self.visit_expr(&condition.expr);
        let known = self.infer(&condition.expr);
        self.bind(&condition.pat, &known);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        self.visit_expr(&choice.expr);
        let known = self.infer(&choice.expr);
        for arm in &choice.arms {
            let outer = self.known.clone();
            self.bind(&arm.pat, &known);
            self.visit_arm(arm);
            self.known = outer;
        }
    }

    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        self.visit_expr(&each.expr);
        let known = self.infer(&each.expr);
        self.bind(&each.pat, &known);
        self.visit_block(&each.body);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let outer = self.known.clone();
        for input in &closure.inputs {
            let known = match input {
                Pat::Type(typed) => self.of_type(&typed.ty),
                _ => Known::default(),
            };
            self.bind(input, &known);
        }
        self.visit_expr(&closure.body);
        self.known = outer;
    }

    fn visit_expr_await(&mut self, awaited: &'ast syn::ExprAwait) {
        if let Some(client) = self.awaited(&awaited.base) {
            self.uses(client, awaited.await_token.span);
        }
        visit::visit_expr_await(self, awaited);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let receiver = self.infer(&call.receiver);
        let method = call.method.to_string();
        if receiver.guard && (method == "call" || method == "call_once") {
            self.visit_expr(&call.receiver);
            let outer = std::mem::replace(&mut self.under_guard, true);
            call.args.iter().for_each(|argument| self.visit_expr(argument));
            self.under_guard = outer;
            return;
        }
        if method == "guard" && call.args.len() == 1 {
            self.guard_by_hand(&call.args[0], call.method.span());
        }
        match receiver.client {
            Some(client) if clients::sends(&method) => self.uses(client, call.method.span()),
            Some(_) => {}
            None => self.call(self.methods(&receiver, &method)),
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(path) = &*call.func {
            let whole = self.resolve(&path.path);
            let blocks = whole.iter().any(|part| part == "blocking" || part == "isahc");
            if let Some(client) =
                clients::of_call(&whole).filter(|_| blocks && clients::of_type(&whole[..whole.len() - 1]).is_none())
            {
                self.uses(client, path.path.segments[0].ident.span());
            }
        }
        visit::visit_expr_call(self, call);
        if let (Expr::Path(path), Some(guard)) = (&*call.func, call.args.first())
            && self
                .resolve(&path.path)
                .ends_with(&["GuardLayer".to_owned(), "new".to_owned()])
            && let Some(dependency) = self.infer(guard).dependency
        {
            self.by_layer(&dependency);
        }
    }

    // Called or handed on, as in `map(charge)`: either way it will run.
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let variable = path
            .path
            .get_ident()
            .is_some_and(|name| self.known.contains_key(&name.to_string()));
        if !variable {
            self.call(self.functions(&path.path));
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let waits = mac.path.segments.last().is_some_and(|last| {
            ["join", "try_join", "select", "select_biased"]
                .iter()
                .any(|name| last.ident == name)
        });
        for expression in macros::expressions(&mac.tokens) {
            let inner = match &expression {
                Expr::Assign(assign) => &*assign.right,
                other => other,
            };
            if let Some(client) = self.infer(inner).client.filter(|_| waits) {
                self.uses(client, mac.path.segments[0].ident.span());
            }
            // It is not of the tree that is walked, and its places are right all the same.
            Reader::visit_owned(self, &expression);
        }
    }
}

impl Reader<'_> {
    fn visit_owned(&mut self, expression: &Expr) {
        Visit::visit_expr(self, expression);
    }
}
