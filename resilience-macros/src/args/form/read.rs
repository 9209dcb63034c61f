//! How the parts of a form are read.

use proc_macro2::Ident;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, LitStr, Token, parenthesized};

use super::StaleKey;
use crate::args::{Given, is_argument_end, skip_argument};

/// A word of ours, or any word before `=`: not the path of a function.
pub(super) fn is_word(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    let Ok(word) = fork.call(Ident::parse_any) else {
        return false;
    };
    if fork.peek(Token![=]) && !fork.peek(Token![==]) {
        return true;
    }
    let ours = ["value", "with", "refuse", "none", "stale", "one_per"];
    ours.iter().any(|ours| word == ours) && !fork.peek(Token![::])
}

pub(super) fn literal(input: ParseStream<'_>) -> Error {
    let Ok(literal) = input.parse::<syn::Lit>() else {
        return input.error("expected a path");
    };
    let message = match &literal {
        syn::Lit::Str(text) if syn::parse_str::<syn::ExprPath>(&text.value()).is_ok() => {
            format!(
                "expected the path of a function, not a text: `#[fallback({})]`",
                text.value()
            )
        }
        syn::Lit::Str(_) => format!(
            "a text alone is no fallback: `none = {}` for a reason, `value = EXPR` for an answer",
            quote!(#literal)
        ),
        _ => format!("a fallback answer needs its word: `value = {}`", quote!(#literal)),
    };
    Error::new(literal.span(), message)
}

pub(super) fn reason(word: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let at = if is_argument_end(input) {
        word.span()
    } else {
        input.span()
    };
    let reason: LitStr = input.parse().map_err(|_| {
        skip_argument(input);
        Error::new(at, "`none` takes the reason as a text: `none = \"reason\"`")
    })?;
    if reason.value().trim().is_empty() {
        return Err(Error::new(
            reason.span(),
            "the reason is empty: say in words why there is nothing to fall back on",
        ));
    }
    Ok(reason)
}

pub(super) fn stale(word: &Ident, input: ParseStream<'_>) -> syn::Result<StaleKey> {
    const WAYS: &str = "`stale(key = EXPR)`, or `stale(shared)` where one answer serves all callers";
    if is_argument_end(input) {
        return Ok(StaleKey::Unsaid);
    }
    if !input.peek(syn::token::Paren) {
        return Err(Error::new(word.span(), format!("expected {WAYS}")));
    }
    let inner;
    parenthesized!(inner in input);
    if inner.is_empty() {
        return Ok(StaleKey::Unsaid);
    }
    let option = inner
        .call(Ident::parse_any)
        .map_err(|error| Error::new(error.span(), format!("expected {WAYS}")))?;
    let key = match option.to_string().as_str() {
        "key" if inner.peek(Token![=]) => {
            inner.parse::<Token![=]>()?;
            StaleKey::Given(Given::expression(&option, &inner)?.code)
        }
        "shared" => StaleKey::Shared,
        _ => return Err(Error::new(option.span(), format!("expected {WAYS}"))),
    };
    if inner.peek(Token![,]) {
        inner.parse::<Token![,]>()?;
    }
    if !inner.is_empty() {
        return Err(inner.error(format!("expected nothing more: {WAYS}")));
    }
    Ok(key)
}
