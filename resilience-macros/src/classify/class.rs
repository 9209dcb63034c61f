//! `#[classify(…)]`: what it says.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, ExprPath, Member, Meta, Token, parenthesized};

use crate::code::Code;
use crate::fault::Faults;

/// The words, for those who wrote none of them.
pub(super) const CLASSES: &str = "`business`, `timeout`, `connect`, `server`, `protocol`, `other`, `ignored`, `throttled`, \
                                  `throttled(retry_after = FIELD)`, `transparent` or `with = path`";

/// How a variant or struct classifies.
pub(super) enum Class {
    /// `Outcome::…`
    Plain(Ident),
    /// `Outcome::Failure(FailureKind::…)`
    Kind(Ident),
    Throttled(Option<Member>),
    Transparent,
    With(Code),
}

/// All `#[classify(…)]` of one place.
#[derive(Default)]
pub(super) struct Own {
    pub(super) class: Option<(Span, Class)>,
    pub(super) krate: Option<Code>,
}

/// Reads what can be read; the rest is in `faults`.
pub(super) fn read(attributes: &[Attribute], faults: &mut Faults) -> Own {
    let mut own = Own::default();
    for attribute in super::ours(attributes) {
        let tokens = match &attribute.meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        if tokens.is_empty() {
            faults.over(attribute, format!("`#[classify]` says nothing: write one of {CLASSES}"));
        } else if let Err(error) = (|input: ParseStream<'_>| own.entries(input)).parse2(tokens) {
            faults.push(error);
        }
    }
    own
}

impl Own {
    fn entries(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        while !input.is_empty() {
            let word = input
                .call(Ident::parse_any)
                .map_err(|error| Error::new(error.span(), format!("expected one of {CLASSES}")))?;
            if word == "crate" {
                input.parse::<Token![=]>()?;
                self.krate = Some(Code::parse::<ExprPath>(input)?);
            } else {
                let class = Class::read(&word, input)?;
                if self.class.is_some() {
                    return Err(super::at(
                        &word,
                        "one class for one error: remove this, or the one before",
                    ));
                }
                self.class = Some((word.span(), class));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }
}

impl Class {
    fn read(word: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        let name = |name: &str| Ident::new(name, Span::mixed_site().located_at(word.span()));
        Ok(match word.to_string().as_str() {
            "business" => Self::Plain(name("Business")),
            "ignored" => Self::Plain(name("Ignored")),
            "timeout" => Self::Kind(name("Timeout")),
            "connect" => Self::Kind(name("Connect")),
            "server" => Self::Kind(name("Server")),
            "protocol" => Self::Kind(name("Protocol")),
            "other" => Self::Kind(name("Other")),
            "throttled" => Self::Throttled(retry_after(input)?),
            "transparent" => Self::Transparent,
            "with" if input.peek(Token![=]) => {
                input.parse::<Token![=]>()?;
                Self::With(Code::parse::<ExprPath>(input)?)
            }
            "with" => {
                return Err(super::at(
                    word,
                    "`with` needs a path: `with = path`, a `fn(&fields…) -> Outcome`",
                ));
            }
            "success" => {
                return Err(super::at(
                    word,
                    "an error is no success: `business` is an answer that the caller has to deal with",
                ));
            }
            _ => {
                return Err(super::at(
                    word,
                    format!("there is no class `{word}`; expected one of {CLASSES}"),
                ));
            }
        })
    }
}

fn retry_after(input: ParseStream<'_>) -> syn::Result<Option<Member>> {
    const WAY: &str = "expected `throttled(retry_after = FIELD)`, the name or the index of a field";
    if !input.peek(syn::token::Paren) {
        return Ok(None);
    }
    let inner;
    parenthesized!(inner in input);
    let word = inner
        .call(Ident::parse_any)
        .map_err(|error| Error::new(error.span(), WAY))?;
    if word != "retry_after" || !inner.peek(Token![=]) {
        return Err(super::at(&word, WAY));
    }
    inner.parse::<Token![=]>()?;
    let member = inner.parse::<Member>().map_err(|error| Error::new(error.span(), WAY))?;
    if inner.is_empty() {
        Ok(Some(member))
    } else {
        Err(inner.error(WAY))
    }
}
