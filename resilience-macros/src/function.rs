//! The annotated function: its own tokens, and what the macros have to know of its parameters.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, ReturnType, Signature, Token, Type, Visibility};

use crate::code::Code;

mod boxed;
mod other;
mod parameter;

pub(crate) use parameter::{Parameter, Passing, Receiver};

/// An async function, or what `#[async_trait]` makes of one.
pub(crate) struct Function {
    /// Attributes and visibility.
    pub(crate) head: TokenStream,
    /// But for its inputs, which are the receiver and the parameters.
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
    if let Some((span, found)) = other::keyword(input) {
        swallow(input);
        return Ok(Item::Other(
            span,
            format!("`#[{attribute}]` goes on an `async fn`, and this is {found}"),
        ));
    }
    let (signature, written) = Code::parse_with(input, <Signature as Parse>::parse)?;
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
    let boxed = if signature.asyncness.is_some() {
        None
    } else {
        boxed::output(&signature.output).map(Output::of)
    };
    if signature.asyncness.is_none() && boxed.is_none() {
        let message = format!(
            "`#[{attribute}]` goes on an `async fn`, and `{}` is not async: write `async fn`",
            signature.ident
        );
        return Ok(Item::Other(signature.fn_token.span, message));
    }
    Ok(Item::Function(Box::new(function(
        head, signature, written, body, boxed,
    ))))
}

fn function(head: Code, mut signature: Signature, written: Code, body: Group, boxed: Option<Output>) -> Function {
    let is_boxed = boxed.is_some();
    let output = boxed.unwrap_or_else(|| match &signature.output {
        ReturnType::Type(_, output) => Output::of(output),
        ReturnType::Default => {
            let span = signature.ident.span();
            let ty = quote_spanned!(span=> ());
            Output {
                ty,
                opaque: false,
                span,
            }
        }
    });
    let (receiver, parameters) = parameter::read(std::mem::take(&mut signature.inputs), &body);
    let head = head.into_token_stream();
    Function {
        head,
        signature,
        written,
        body,
        output,
        boxed: is_boxed,
        receiver,
        parameters,
    }
}

impl Output {
    fn of(ty: &Type) -> Self {
        let written = ty.to_token_stream();
        let span = parameter::first_span(ty);
        let (ty, opaque) = boxed::without_opaque(ty).map_or((written, false), |ty| (ty, true));
        Self { ty, opaque, span }
    }
}

/// The reader has seen enough; what is left is passed on as it is.
fn swallow(input: ParseStream<'_>) {
    while input.parse::<TokenTree>().is_ok() {}
}

#[cfg(test)]
mod tests;
