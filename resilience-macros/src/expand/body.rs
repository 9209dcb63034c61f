//! The user's body, inside the future that an attempt polls.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ReturnType;

use super::arguments::Arguments;
use super::{located, site};
use crate::check::Guarded;

impl Guarded {
    /// The user's body as a future that has not begun.
    pub(super) fn body(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let bind = arguments.bind();
        let output = &self.function.output.ty;
        let run = if self.function.boxed {
            let ty = self.boxed_type();
            // A closure, so that `return` in the user's body stays inside.
            quote_spanned!(site()=> (move || -> #ty #body)().await)
        } else {
            // Shown at the return type, where rustc says that it learnt the type.
            let at = located(self.function.output.span);
            let stated = quote_spanned! {at=>
                if let ::core::option::Option::Some(__resilience_return) = ::core::option::Option::None::<#output> {
                    return __resilience_return;
                }
            };
            // Bare braces would be linted, and braces of ours would carry our edition.
            quote_spanned!(site()=> #stated match () { () => #body })
        };
        let keyword = if arguments.borrows_self() {
            quote_spanned!(site()=> async)
        } else {
            quote_spanned!(site()=> async move)
        };
        quote_spanned!(site()=> #keyword { #bind #run })
    }

    /// The written return type, with its lifetimes left open: an attempt borrows for less than the call.
    fn boxed_type(&self) -> TokenStream {
        match &self.function.signature.output {
            ReturnType::Type(_, ty) => open_lifetimes(ty.to_token_stream()),
            ReturnType::Default => quote_spanned!(site()=> ()),
        }
    }
}

/// Every lifetime but `'static` as `'_`.
fn open_lifetimes(tokens: TokenStream) -> TokenStream {
    let mut open = false;
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Punct(punct) if punct.as_char() == '\'' => {
            open = true;
            TokenTree::Punct(punct)
        }
        TokenTree::Ident(name) if std::mem::take(&mut open) && name != "static" => {
            TokenTree::Ident(Ident::new("_", name.span()))
        }
        TokenTree::Group(group) => {
            let mut inside = Group::new(group.delimiter(), open_lifetimes(group.stream()));
            inside.set_span(group.span());
            TokenTree::Group(inside)
        }
        other => other,
    });
    replaced.collect()
}
