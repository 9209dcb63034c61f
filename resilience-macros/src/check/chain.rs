//! The rules of the fallback chain.

use quote::ToTokens;
use resilience_policy::Dependency;

use super::{decided, is_closed, lacks_key};
use crate::args::Form;
use crate::fault::Faults;
use crate::function::{Function, Passing};
use crate::policy::Source;

/// What holds whatever the policy says.
pub(super) fn check(function: &Function, forms: &[Form], retries: bool, faults: &mut Faults) {
    lent_twice(function, forms, retries, faults);
    if let Some(at) = forms.iter().position(Form::always_answers) {
        for form in &forms[at + 1..] {
            let message = format!(
                "never reached: `{}` above always answers; put this form before it",
                forms[at].name()
            );
            faults.over(form.head(), message);
        }
    }
    for form in forms {
        if let Some(path) = form.called()
            && path.segments().is_some_and(|segments| is_itself(function, &segments))
        {
            let name = &function.signature.ident;
            let message = format!(
                "the fallback of `{name}` is `{name}` itself: name another function \
                 (one of the same name elsewhere by its full path, `crate::…::{name}`)"
            );
            faults.over(path, message);
        }
        if let Form::Stale(word, key) = form
            && lacks_key(function, key)
        {
            let message = "the answer depends on the arguments: `stale(key = EXPR)` says for which it may be served again, \
                           `stale(shared)` that one answer serves all callers";
            faults.over(word.to_token_stream(), message);
        }
    }
}

/// The box that `#[async_trait]` makes takes `&mut self` away for good.
fn lent_twice(function: &Function, forms: &[Form], retries: bool, faults: &mut Faults) {
    let Some(receiver) = &function.receiver else { return };
    if !function.boxed || !receiver.used || receiver.passing != Passing::Exclusive {
        return;
    }
    let again = forms.iter().any(|form| form.needs_self(&receiver.token));
    if retries || again {
        let why = if retries { "`#[retry]`" } else { "a fallback" };
        let message = format!(
            "`#[async_trait]` boxes `&mut self` together with the body, and {why} needs it again: take `&self`, \
             or use an `async fn` in the trait"
        );
        faults.at(receiver.token.span(), message);
    }
}

/// What the dependency's decision rules out.
pub(super) fn decide(forms: &[Form], dependency: &Dependency, source: &Source, faults: &mut Faults) {
    if !is_closed(dependency) {
        return;
    }
    for form in forms.iter().filter(|form| form.makes_up()) {
        let message = format!(
            "`{}` has `fail = \"closed\"` ({}), and `{}` could make up a success: refuse with `refuse = path` or \
             `none = \"reason\"`, or decide for `fail = \"open\"` there",
            dependency.name,
            decided(dependency, source),
            form.name()
        );
        faults.over(form.head(), message);
    }
}

/// Whether a path leads back to the function. A longer path could name another of the same name.
fn is_itself(function: &Function, segments: &[String]) -> bool {
    use syn::ext::IdentExt;
    let name = function.signature.ident.unraw().to_string();
    let method = function.receiver.is_some();
    match segments {
        // A method is not found by its bare name.
        [only] => *only == name && !method,
        [scope, last] if scope == "self" => *last == name && !method,
        [scope, last] if scope == "Self" => *last == name,
        _ => false,
    }
}
