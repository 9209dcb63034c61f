//! Arguments outside the body: in the user's expressions, and as arguments of a fallback.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote_spanned};

use super::{Argument, Arguments};
use crate::code::Code;
use crate::expand::{located, site};
use crate::function::Passing;

impl Arguments<'_> {
    /// Statements that put the arguments which `code` names in scope by reference. Those that are references already
    /// stay as they are.
    pub(crate) fn by_reference(&self, code: &Code) -> TokenStream {
        self.each.iter().map(|argument| argument.by_reference(code)).collect()
    }

    /// Statements that take or clone the arguments for a fallback, and the list to pass. The last form that needs an
    /// argument takes it.
    pub(crate) fn pass(&self, path: &Code, form: usize) -> (TokenStream, TokenStream) {
        let at = located(path.ends().0);
        let mut bound = TokenStream::new();
        let mut passed = TokenStream::new();
        if let Some(this) = self.receiver.as_ref().filter(|_| path.begins_with_self_type()) {
            let mut token = this.receiver.token.clone();
            token.set_span(token.span().located_at(path.ends().0));
            let value = match this.receiver.passing {
                Passing::Shared => token.into_token_stream(),
                _ if this.last == Some(form) => token.into_token_stream(),
                Passing::Exclusive if this.receiver.pinned => {
                    quote_spanned!(at=> ::core::pin::Pin::as_mut(&mut #token))
                }
                Passing::Exclusive => quote_spanned!(at=> &mut *#token),
                Passing::Value => quote_spanned!(at=> ::core::clone::Clone::clone(&#token)),
            };
            bound.extend(quote_spanned!(at=> let __resilience_pass = #value;));
            passed.extend(quote_spanned!(at=> __resilience_pass,));
        }
        for argument in &self.each {
            let attributes = argument.attributes();
            let pass = format_ident!("__resilience_pass_{}", argument.at, span = at);
            let mut name = argument.name.clone();
            name.set_span(name.span().located_at(path.ends().0));
            let value = match argument.parameter.passing {
                Passing::Shared => name.into_token_stream(),
                _ if argument.last == Some(form) => name.into_token_stream(),
                Passing::Exclusive => quote_spanned!(at=> &mut *#name),
                Passing::Value => {
                    let parameter = located(argument.parameter.span.0);
                    quote_spanned!(parameter=> ::core::clone::Clone::clone(&#name))
                }
            };
            bound.extend(quote_spanned!(at=> #(#attributes)* let #pass = #value;));
            let cfgs = argument.cfgs();
            passed.extend(quote_spanned!(at=> #(#cfgs)* #pass,));
        }
        (bound, passed)
    }
}

impl Argument<'_> {
    fn by_reference(&self, code: &Code) -> TokenStream {
        let named: Vec<_> = self.parameter.names.iter().filter(|name| code.mentions(name)).collect();
        if named.is_empty() {
            return TokenStream::new();
        }
        let attributes = self.attributes();
        let whole = &self.name;
        let passing = self.parameter.passing;
        if let Some((name, _)) = self.parameter.simple() {
            let reference = match passing {
                Passing::Value => quote_spanned!(site()=> &#whole),
                Passing::Exclusive => quote_spanned!(site()=> &*#whole),
                Passing::Shared if self.displaced => whole.to_token_stream(),
                Passing::Shared => return TokenStream::new(),
            };
            return quote_spanned!(site()=> #(#attributes)* let #name = #reference;);
        }
        let unpacked = self.displaced.then(|| {
            let pattern = &self.parameter.pattern;
            let value = match passing {
                Passing::Value => {
                    let at = located(self.parameter.span.0);
                    quote_spanned!(at=> ::core::clone::Clone::clone(&#whole))
                }
                Passing::Exclusive => quote_spanned!(site()=> &mut *#whole),
                Passing::Shared => whole.to_token_stream(),
            };
            quote_spanned!(site()=> #(#attributes)* #[allow(unused_variables, unused_mut)] let #pattern = #value;)
        });
        // What a pattern takes out of a shared reference is copied.
        let named = named.into_iter().filter(|_| passing != Passing::Shared);
        let references = named.map(|name| quote_spanned!(site()=> #(#attributes)* let #name = &#name;));
        quote_spanned!(site()=> #unpacked #(#references)*)
    }
}
