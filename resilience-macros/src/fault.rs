//! Faults are values: they are collected, and shown together beside the untouched item.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Error;

use crate::code;

/// Everything that is wrong with one annotated item.
#[derive(Default)]
pub(crate) struct Faults(Vec<Error>);

impl Faults {
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.0.push(Error::new(span, message));
    }

    /// The marker covers all of `tokens`, from the first to the last.
    pub(crate) fn over(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.0.push(Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: Error) {
        self.0.extend(error);
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The item as it came, so that its callers and the editor still know it, and one diagnostic for each fault.
    pub(crate) fn beside(&self, item: &TokenStream) -> TokenStream {
        let errors = self.0.iter().map(Error::to_compile_error);
        let mut tokens = item.clone();
        tokens.extend(errors);
        tokens
    }

    /// The same for a function, with the diagnostics at the start of its body. Beside it, in a module, they would make
    /// rustc keep quiet about unresolved paths of the whole module, which are other mistakes.
    pub(crate) fn inside(&self, item: &TokenStream) -> TokenStream {
        let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
        match tokens.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                let (mut inside, rest) = code::lift_inner_attributes(&body);
                inside.extend(self.0.iter().map(Error::to_compile_error));
                inside.extend(rest.stream());
                let mut body = Group::new(Delimiter::Brace, inside);
                body.set_span(rest.span());
                tokens.push(TokenTree::Group(body));
                tokens.into_iter().collect()
            }
            _ => self.beside(item),
        }
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
