//! Faults are values: they are collected, and shown together beside the untouched item.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

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

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
