//! What stands between the parentheses of the attributes: can it be read?

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, ExprPath, LitStr, Token};

use crate::code::Code;
use crate::fault::Faults;

mod form;
mod given;

pub(crate) use form::{Form, StaleKey};
pub(crate) use given::Given;

/// The attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Breaker,
    Bulkhead,
    Retry,
    Timeout,
    Fallback,
}

impl Kind {
    pub(crate) const LAYERS: [Self; 4] = [Self::Breaker, Self::Bulkhead, Self::Retry, Self::Timeout];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::Bulkhead => "bulkhead",
            Self::Retry => "retry",
            Self::Timeout => "timeout",
            Self::Fallback => "fallback",
        }
    }

    pub(crate) fn from_name(name: &Ident) -> Option<Self> {
        Self::LAYERS
            .into_iter()
            .chain([Self::Fallback])
            .find(|kind| name == kind.name())
    }
}

/// The arguments of `#[breaker]`, `#[bulkhead]`, `#[retry]` or `#[timeout]`.
pub(crate) struct Layer {
    pub(crate) kind: Kind,
    /// The whole attribute.
    pub(crate) span: Span,
    pub(crate) dependency: Option<LitStr>,
    pub(crate) key: Option<Given>,
    pub(crate) classify: Option<Given>,
    pub(crate) krate: Option<Given>,
}

impl Layer {
    /// Reads what can be read; the rest is in `faults`.
    pub(crate) fn read(kind: Kind, span: Span, args: TokenStream, faults: &mut Faults) -> Self {
        let mut layer = Self {
            kind,
            span,
            dependency: None,
            key: None,
            classify: None,
            krate: None,
        };
        each_argument(args, faults, |input| layer.argument(input));
        layer
    }

    fn argument(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let kind = self.kind.name();
        if let Some(literal) = peek_literal(input) {
            return self.name(literal, input);
        }
        let word = input.call(Ident::parse_any).map_err(|error| {
            Error::new(
                error.span(),
                format!("expected the dependency's name in quotes, as in `#[{kind}(\"payrail\")]`"),
            )
        })?;
        if !input.peek(Token![=]) {
            // The whole path, so that its other tokens are not read as arguments of their own.
            skip_argument(input);
            let message = match word.to_string().as_str() {
                "key" => "`key` takes an expression: `key = EXPR`".to_owned(),
                "classify" | "crate" => format!("`{word}` takes a path: `{word} = path`"),
                _ => format!("the dependency's name stands in quotes: `#[{kind}(\"{word}\")]`"),
            };
            return Err(Error::new(word.span(), message));
        }
        input.parse::<Token![=]>()?;
        match word.to_string().as_str() {
            "key" if self.kind == Kind::Bulkhead => Given::expression(&word, input)?.once(&mut self.key),
            "key" => Err(Error::new(
                word.span(),
                "`key` belongs to `#[bulkhead]`: slots are counted per key there",
            )),
            "classify" => Given::path(&word, input)?.once(&mut self.classify),
            "crate" => Given::path(&word, input)?.once(&mut self.krate),
            _ => {
                let key = if self.kind == Kind::Bulkhead { "`key`, " } else { "" };
                let message = format!(
                    "`#[{kind}]` has no option `{word}`; it has {key}`classify` and `crate`. \
                     Numbers live in the policy file: `[dependency.…]` in `resilience.toml`"
                );
                Err(Error::new(word.span(), message))
            }
        }
    }

    fn name(&mut self, literal: syn::Lit, input: ParseStream<'_>) -> syn::Result<()> {
        let kind = self.kind.name();
        let syn::Lit::Str(name) = literal else {
            let message = format!(
                "`#[{kind}]` takes no number: limits live in the policy file, in `[dependency.….{kind}]` of `resilience.toml`"
            );
            return Err(Error::new(literal.span(), message));
        };
        if !is_argument_end(input) {
            return Err(input.error("expected a comma after the dependency's name"));
        }
        if name.value().trim().is_empty() {
            return Err(Error::new(
                name.span(),
                "the dependency's name is empty: write one of the policy file's",
            ));
        }
        if let Some(first) = &self.dependency {
            let message = format!("one dependency for one function: `{}` is named already", first.value());
            return Err(Error::new(name.span(), message));
        }
        self.dependency = Some(name);
        Ok(())
    }
}

/// A literal is taken out of `input`, also out of the invisible group of a `macro_rules` fragment.
fn peek_literal(input: ParseStream<'_>) -> Option<syn::Lit> {
    let fork = input.fork();
    fork.parse::<syn::Lit>().ok()?;
    // Cannot fail: the fork read the same tokens.
    input.parse().ok()
}

/// Reads arguments up to the end; a faulty one is skipped, so that those behind it are looked at too.
fn each_argument(args: TokenStream, faults: &mut Faults, mut argument: impl FnMut(ParseStream<'_>) -> syn::Result<()>) {
    let reader = |input: ParseStream<'_>| {
        while !input.is_empty() {
            match argument(input) {
                Ok(()) if !is_argument_end(input) => {
                    faults.push(input.error("expected a comma"));
                    skip_argument(input);
                }
                Ok(()) => {}
                Err(error) => {
                    faults.push(error);
                    skip_argument(input);
                }
            }
            if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    };
    if let Err(error) = Parser::parse2(reader, args) {
        faults.push(error);
    }
}

fn is_argument_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

fn skip_argument(input: ParseStream<'_>) {
    while !is_argument_end(input) {
        if input.parse::<proc_macro2::TokenTree>().is_err() {
            return;
        }
    }
}

/// The path of a function, with `Self`, generics and qualified paths.
fn path(input: ParseStream<'_>) -> syn::Result<Code> {
    Code::parse::<ExprPath>(input)
}
