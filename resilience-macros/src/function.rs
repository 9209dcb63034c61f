//! The annotated function: its own tokens, and what the macros have to know of its parameters.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Pat, ReceiverKind, ReturnType, Signature, Token, Type, Visibility};

use crate::code::{self, Code};

mod boxed;

/// An async function, or what `#[async_trait]` makes of one.
pub(crate) struct Function {
    /// Attributes and visibility.
    pub(crate) head: TokenStream,
    pub(crate) signature: Signature,
    /// The signature as it is written.
    pub(crate) written: Code,
    pub(crate) body: Group,
    /// What a call gives in the end.
    pub(crate) output: Output,
    /// Whether the function is not async itself but gives a boxed future.
    pub(crate) boxed: bool,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) parameters: Vec<Parameter>,
}

/// The type that a call gives.
pub(crate) struct Output {
    /// As written, but with `_` in the place of `impl Trait`; `()` at the function's name where there is none.
    pub(crate) ty: TokenStream,
    /// Whether an `impl Trait` was replaced.
    pub(crate) opaque: bool,
    /// Where errors about it belong.
    pub(crate) span: Span,
}

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
    pub(crate) token: Token![self],
    pub(crate) passing: Passing,
    /// Whether the body speaks of it.
    pub(crate) used: bool,
}

/// A parameter.
pub(crate) struct Parameter {
    /// `#[cfg]`s come unevaluated, so what is written per parameter repeats them.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) pattern: Pat,
    /// Where errors about its type belong.
    pub(crate) span: Span,
    pub(crate) passing: Passing,
    /// The names that the pattern binds.
    pub(crate) names: Vec<Ident>,
    /// Those of them that the body speaks of.
    pub(crate) used: Vec<Ident>,
}

impl Parameter {
    /// The name and its `mut`, if the pattern is nothing more.
    pub(crate) fn simple(&self) -> Option<(&Ident, Option<Token![mut]>)> {
        match &self.pattern {
            Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => {
                Some((&pattern.ident, pattern.mutability))
            }
            _ => None,
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        !self.used.is_empty()
    }
}

/// What an attribute was put on.
pub(crate) enum Item {
    Function(Box<Function>),
    /// Not something that can be guarded: where, and why not.
    Other(Span, String),
}

impl Item {
    /// Reads attributes, visibility and signature; the body stays one group of tokens.
    pub(crate) fn read(tokens: &TokenStream, attribute: &str) -> Self {
        let reader = |input: ParseStream<'_>| read(input, attribute);
        Parser::parse2(reader, tokens.clone()).unwrap_or_else(|error| Self::Other(error.span(), error.to_string()))
    }
}

fn read(input: ParseStream<'_>, attribute: &str) -> syn::Result<Item> {
    let ((), head) = Code::parse_with(input, |input| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        // `default` of a specialised impl belongs to the function.
        if input.peek(syn::Ident) && input.fork().parse::<Ident>().is_ok_and(|word| word == "default") {
            input.parse::<Ident>()?;
        }
        Ok(())
    })?;
    if let Some((span, found)) = other_item(input) {
        swallow(input);
        return Ok(Item::Other(span, format!("`#[{attribute}]` goes on an `async fn`, and this is {found}")));
    }
    let (signature, written) = Code::parse_with(input, |input| input.parse::<Signature>())?;
    if input.peek(Token![;]) {
        swallow(input);
        let message = format!(
            "`{}` has no body to guard: put `#[{attribute}]` on the method of each impl, or on a default body here",
            signature.ident
        );
        return Ok(Item::Other(signature.ident.span(), message));
    }
    let Ok(TokenTree::Group(body)) = input.parse::<TokenTree>() else {
        return Err(syn::Error::new(signature.ident.span(), "expected a body"));
    };
    swallow(input);
    if body.delimiter() != Delimiter::Brace {
        return Err(syn::Error::new(signature.ident.span(), "expected a body"));
    }
    let boxed = if signature.asyncness.is_some() { None } else { boxed::output(&signature.output).cloned() };
    if signature.asyncness.is_none() && boxed.is_none() {
        let message = format!(
            "`#[{attribute}]` goes on an `async fn`, and `{}` is not async: write `async fn`",
            signature.ident
        );
        return Ok(Item::Other(signature.fn_token.span, message));
    }
    Ok(Item::Function(Box::new(function(head, signature, written, body, boxed))))
}

fn function(head: Code, signature: Signature, written: Code, body: Group, boxed: Option<Type>) -> Function {
    let output = match (&boxed, &signature.output) {
        (Some(output), _) => Output::of(output),
        (None, ReturnType::Type(_, output)) => Output::of(output),
        (None, ReturnType::Default) => {
            let span = signature.ident.span();
            Output { ty: quote_spanned!(span=> ()), opaque: false, span }
        }
    };
    let mut receiver = None;
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(this) => {
                let word = Ident::new("self", this.self_token.span);
                receiver = Some(Receiver {
                    token: this.self_token,
                    passing: match &this.kind {
                        ReceiverKind::Reference(_, _, None) => Passing::Shared,
                        ReceiverKind::Reference(_, _, Some(_)) => Passing::Exclusive,
                        ReceiverKind::Typed(_, ty) => passing(ty),
                        _ => Passing::Value,
                    },
                    used: code::mentions(body.stream(), &word),
                });
            }
            FnArg::Typed(typed) => {
                let mut names = Vec::new();
                bound_names(&typed.pat, &mut names);
                parameters.push(Parameter {
                    attributes: typed.attrs.clone(),
                    pattern: (*typed.pat).clone(),
                    span: first_span(&typed.ty),
                    passing: passing(&typed.ty),
                    used: names.iter().filter(|name| code::mentions(body.stream(), name)).cloned().collect(),
                    names,
                });
            }
        }
    }
    let head = head.into_token_stream();
    Function { head, signature, written, body, output, boxed: boxed.is_some(), receiver, parameters }
}

impl Output {
    fn of(ty: &Type) -> Self {
        let written = ty.to_token_stream();
        let span = first_span(ty);
        let (ty, opaque) = boxed::without_opaque(ty).map_or((written, false), |ty| (ty, true));
        Self { ty, opaque, span }
    }
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

fn first_span(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span())
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

/// What the item is if no function: its keyword, and its name for messages.
fn other_item(input: ParseStream<'_>) -> Option<(Span, &'static str)> {
    let ahead = input.fork();
    let word = ahead.call(<Ident as syn::ext::IdentExt>::parse_any).ok()?;
    let next = |text: &str| ahead.fork().call(<Ident as syn::ext::IdentExt>::parse_any).is_ok_and(|word| word == text);
    let found = match word.to_string().as_str() {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "trait" => "a trait",
        "impl" => "an impl block: put it on the methods",
        "mod" => "a module",
        "static" => "a static",
        "type" => "a type alias",
        "use" => "an import",
        "let" => "a statement",
        "const" if !next("fn") && !next("async") && !next("unsafe") && !next("extern") => "a constant",
        "unsafe" if next("impl") => "an impl block: put it on the methods",
        "unsafe" if next("trait") => "a trait",
        "auto" if next("trait") => "a trait",
        "extern" if next("crate") => "an import",
        _ if ahead.peek(Token![!]) => "a macro call",
        _ => return None,
    };
    Some((word.span(), found))
}

/// The reader has seen enough; what is left is passed on as it is.
fn swallow(input: ParseStream<'_>) {
    while input.parse::<TokenTree>().is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Item {
        Item::read(&text.parse().expect("the test's own tokens"), "breaker")
    }

    fn function(text: &str) -> Box<Function> {
        match read(text) {
            Item::Function(function) => function,
            Item::Other(_, why) => panic!("{why}"),
        }
    }

    fn why(text: &str) -> String {
        match read(text) {
            Item::Function(_) => panic!("this is a function"),
            Item::Other(_, why) => why,
        }
    }

    #[test]
    fn a_body_is_not_read() {
        let function = function("pub(crate) async fn f(a: u8) -> R { let n = a.; }");
        assert_eq!(function.body.stream().to_string(), "let n = a . ;");
    }

    #[test]
    fn the_box_of_async_trait_is_known_by_its_type() {
        let text = "fn f<'a>(&'a self) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Res<u8>> + Send + 'a>> {}";
        let function = function(text);
        assert!(function.boxed);
        assert_eq!(function.output.ty.to_string(), "Res < u8 >");
    }

    #[test]
    fn opaque_parts_of_the_return_type_are_left_open() {
        let function = function("async fn f() -> Res<(impl Debug, Vec<impl Fn() -> u8>)> {}");
        assert!(function.output.opaque);
        assert_eq!(function.output.ty.to_string(), "Res < (_ , Vec < _ >) >");
    }

    #[test]
    fn what_cannot_be_guarded_is_named() {
        assert_eq!(why("pub struct S;"), "`#[breaker]` goes on an `async fn`, and this is a struct");
        assert_eq!(why("impl S {}"), "`#[breaker]` goes on an `async fn`, and this is an impl block: put it on the methods");
        assert_eq!(why("const N: u8 = 1;"), "`#[breaker]` goes on an `async fn`, and this is a constant");
        assert_eq!(why("const fn f() {}"), "`#[breaker]` goes on an `async fn`, and `f` is not async: write `async fn`");
        assert!(why("async fn f(&self);").starts_with("`f` has no body to guard"));
    }

    #[test]
    fn names_of_patterns_and_how_they_are_passed_are_known() {
        let function = function("async fn f(&mut self, (a, mut b): (u8, u8), _: u8, S { c, d: _ }: &S, e: &mut u8) -> R { b + e }");
        let names: Vec<_> = function.parameters.iter().map(|parameter| parameter.names.len()).collect();
        let used: Vec<_> = function.parameters.iter().map(|parameter| parameter.used.len()).collect();
        let passing: Vec<_> = function.parameters.iter().map(|parameter| parameter.passing).collect();
        assert_eq!((names, used), (vec![2, 0, 1, 1], vec![1, 0, 0, 1]));
        assert_eq!(passing, [Passing::Value, Passing::Value, Passing::Shared, Passing::Exclusive]);
        assert_eq!(function.receiver.map(|receiver| receiver.passing), Some(Passing::Exclusive));
    }
}
