//! The parameters: how they are passed, what they bind, and what of that the body speaks of.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, GenericArgument, Pat, PathArguments, ReceiverKind, Token, Type};

use crate::code;

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    Value,
    /// By `&`.
    Shared,
    /// By `&mut`.
    Exclusive,
}

/// `self`, in whatever form.
pub(crate) struct Receiver {
    pub(crate) token: Ident,
    /// All of it as written, and as a `mut self`.
    pub(crate) written: TokenStream,
    pub(crate) assignable: TokenStream,
    pub(crate) passing: Passing,
    /// `Pin<&mut Self>`: lent like a `&mut`, by a call of its own.
    pub(crate) pinned: bool,
    /// Whether the body speaks of it.
    pub(crate) used: bool,
}

/// A parameter.
pub(crate) struct Parameter {
    /// `#[cfg]`s come unevaluated, so what is written per parameter repeats them.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) pattern: Pat,
    /// The colon and the type.
    pub(crate) typed: TokenStream,
    /// Where its type begins and ends: errors about it belong there.
    pub(crate) span: (Span, Span),
    pub(crate) passing: Passing,
    /// The names that the pattern binds.
    pub(crate) names: Vec<Ident>,
    /// Those of them that the body speaks of.
    pub(crate) used: Vec<Ident>,
}

impl Parameter {
    /// The name and whether it is `mut`, if the pattern is nothing more.
    pub(crate) fn simple(&self) -> Option<(&Ident, bool)> {
        match &self.pattern {
            Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => {
                Some((&pattern.ident, pattern.mutability.is_some()))
            }
            _ => None,
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        !self.used.is_empty()
    }
}

/// What the signature says of them, in order.
pub(super) fn read(inputs: Punctuated<FnArg, Token![,]>, body: &Group) -> (Option<Receiver>, Vec<Parameter>) {
    let mut receiver = None;
    let mut parameters = Vec::new();
    for input in inputs {
        match input {
            FnArg::Receiver(mut this) => {
                let word = Ident::new("self", this.self_token.span);
                let pinned = matches!(&this.kind, ReceiverKind::Typed(_, ty) if is_pinned_exclusive(ty));
                let written = this.to_token_stream();
                let site = Span::mixed_site();
                this.mutability.get_or_insert_with(|| Token![mut](site));
                receiver = Some(Receiver {
                    token: word.clone(),
                    pinned,
                    passing: match &this.kind {
                        _ if pinned => Passing::Exclusive,
                        ReceiverKind::Reference(_, _, None) => Passing::Shared,
                        ReceiverKind::Reference(_, _, Some(_)) => Passing::Exclusive,
                        ReceiverKind::Typed(_, ty) => passing(ty),
                        _ => Passing::Value,
                    },
                    used: code::mentions(body.stream(), &word),
                    written,
                    assignable: this.to_token_stream(),
                });
            }
            FnArg::Typed(typed) => {
                let mut names = Vec::new();
                bound_names(&typed.pat, &mut names);
                let (colon, ty) = (&typed.colon_token, &typed.ty);
                parameters.push(Parameter {
                    typed: quote!(#colon #ty),
                    span: (first_span(&typed.ty), last_span(&typed.ty)),
                    passing: passing(&typed.ty),
                    used: names
                        .iter()
                        .filter(|name| code::mentions(body.stream(), name))
                        .cloned()
                        .collect(),
                    names,
                    attributes: typed.attrs,
                    pattern: *typed.pat,
                });
            }
        }
    }
    (receiver, parameters)
}

fn passing(ty: &Type) -> Passing {
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => Passing::Exclusive,
        Type::Reference(_) => Passing::Shared,
        Type::Group(group) => passing(&group.elem),
        Type::Paren(paren) => passing(&paren.elem),
        _ => Passing::Value,
    }
}

/// Whether this is `Pin<&mut …>`, by any path to `Pin`.
fn is_pinned_exclusive(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_pinned_exclusive(&group.elem),
        Type::Paren(paren) => is_pinned_exclusive(&paren.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            last.ident == "Pin"
                && matches!(&last.arguments, PathArguments::AngleBracketed(of)
                    if matches!(of.args.first(), Some(GenericArgument::Type(ty)) if passing(ty) == Passing::Exclusive))
        }),
        _ => false,
    }
}

pub(super) fn first_span(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span())
}

fn last_span(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .last()
        .map_or_else(Span::call_site, |token| token.span())
}

fn bound_names(pattern: &Pat, names: &mut Vec<Ident>) {
    match pattern {
        Pat::Ident(pattern) => {
            names.push(pattern.ident.clone());
            if let Some((_, inner)) = &pattern.subpat {
                bound_names(inner, names);
            }
        }
        Pat::Paren(pattern) => bound_names(&pattern.pat, names),
        Pat::Reference(pattern) => bound_names(&pattern.pat, names),
        Pat::Slice(pattern) => pattern.elems.iter().for_each(|inner| bound_names(inner, names)),
        Pat::Struct(pattern) => pattern.fields.iter().for_each(|field| bound_names(&field.pat, names)),
        Pat::Tuple(pattern) => pattern.elems.iter().for_each(|inner| bound_names(inner, names)),
        Pat::TupleStruct(pattern) => pattern.elems.iter().for_each(|inner| bound_names(inner, names)),
        // All alternatives bind the same names.
        Pat::Or(pattern) => pattern.cases.iter().take(1).for_each(|inner| bound_names(inner, names)),
        _ => {}
    }
}
