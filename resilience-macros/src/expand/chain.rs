//! The fallback chain, which runs only where the end is a failure or a rejection.
//!
//! ```text
//! let mut chain = Box::new(call.fall(ops, end));                    // plain where no form is awaited
//! if chain.offers(0) {                                              // path
//!     let pass_0 = Clone::clone(&id);                               // the last form that needs it takes it
//!     let run = Box::pin(async move { Self::cached(self, pass_0, n).await });
//!     if let Some(answer) = chain.answer(run).await { return answer; }
//! }
//! if let Some(answer) = chain.stale(1, stale_1) { return answer; }  // stale(key = …)
//! chain.none(2)                                                     // none = "…"
//! ```
//!
//! The future of a fallback, and the chain that waits for it, are boxed: a call that needs none then carries no room for
//! them. Every token of the call is located at the path, where rustc's own errors about it belong.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};

use super::arguments::Arguments;
use super::{located, site};
use crate::args::{Form, Given, StaleKey};
use crate::check::Guarded;
use crate::code::Code;

/// The name of a stale form's key.
pub(super) fn stale_key(form: usize) -> Ident {
    format_ident!("__resilience_stale_{form}", span = site())
}

impl Guarded {
    /// Each stale form with what its key is made from.
    pub(super) fn keys_of_stale(&self) -> Vec<(usize, Option<&Code>)> {
        let keys = self.forms.iter().enumerate().filter_map(|(at, form)| match form {
            Form::Stale(_, StaleKey::Given(key)) => Some((at, Some(key))),
            Form::Stale(..) => Some((at, None)),
            _ => None,
        });
        keys.collect()
    }

    /// The forms one after the other, as an expression of the return type.
    pub(super) fn fall(&self, arguments: &Arguments<'_>) -> TokenStream {
        let last = self.forms.len() - 1;
        let tries: Vec<_> = (0..=last).filter_map(|at| self.tried(at, arguments)).collect();
        let mut chain = quote_spanned!(site()=> __resilience_call.fall(__resilience_ops, __resilience_end));
        if tries.is_empty() {
            return self.end(last, &chain, arguments);
        }
        let end = self.end(last, &quote_spanned!(site()=> __resilience_chain), arguments);
        // What has to outlive an await would be room in every call, needed or not.
        if self.forms.iter().any(|form| form.called().is_some()) {
            chain = quote_spanned!(site()=> ::std::boxed::Box::new(#chain));
        }
        quote_spanned! {site()=>
            let mut __resilience_chain = #chain;
            #(#tries)*
            #end
        }
    }

    /// The call whose chain is this one form, as one future; nothing for a form that may decline.
    pub(super) fn with_only(&self, form: &Form, call: &TokenStream) -> Option<TokenStream> {
        let krate = &self.krate;
        // What a form asks of the return type is asked of the abilities, so they stand where the form does.
        let given = |at| quote_spanned!(at=> #call, __resilience_ops, __resilience_body);
        match form {
            Form::Value(value) => {
                let value = &value.code;
                let at = located(value.ends().0);
                let given = given(at);
                Some(quote_spanned!(at=> #krate::private::value(#given, || #value)))
            }
            Form::Refuse(path) => {
                let path = &path.code;
                let at = located(path.ends().0);
                let given = given(at);
                Some(quote_spanned!(at=> #krate::private::refuse(#given, #path)))
            }
            Form::None(word, _) => {
                let at = located(word.span());
                let given = given(at);
                Some(quote_spanned!(at=> #krate::private::none(#given)))
            }
            Form::Path(..) | Form::With(..) | Form::Stale(..) => None,
        }
    }

    /// A form that may decline.
    fn tried(&self, at: usize, arguments: &Arguments<'_>) -> Option<TokenStream> {
        match &self.forms[at] {
            Form::Path(path, one_per) => Some(self.run(at, path, one_per.as_ref(), false, arguments)),
            Form::With(given, one_per) => Some(self.run(at, &given.code, one_per.as_ref(), true, arguments)),
            Form::Stale(..) => {
                let key = stale_key(at);
                let place = located(self.forms[at].place());
                let answer = quote_spanned!(place=> __resilience_chain.stale(#at, #key));
                Some(quote_spanned! {site()=>
                    if let ::core::option::Option::Some(__resilience_answer) = #answer {
                        return __resilience_answer;
                    }
                })
            }
            Form::Value(_) | Form::Refuse(_) | Form::None(..) => None,
        }
    }

    /// `path` or `with = path`.
    fn run(
        &self,
        form: usize,
        path: &Code,
        one_per: Option<&Given>,
        with: bool,
        arguments: &Arguments<'_>,
    ) -> TokenStream {
        let (first, last) = path.ends();
        let at = located(first);
        let end = located(last);
        let (bound, mut passed) = arguments.pass(path, form);
        if with {
            passed.extend(quote_spanned!(at=> __resilience_failure));
        }
        // The call ends where the path ends, so that a diagnostic covers the path.
        let called = parenthesized(passed, end);
        let shared = one_per.is_some();
        let key = one_per.map(|given| {
            let key = given.code.borrowed();
            let krate = &self.krate;
            let references = arguments.by_reference(&given.code);
            // Found before the arguments are passed on, which may take what the key borrows.
            quote_spanned! {site()=>
                let __resilience_key = { #references #krate::private::stale_key(&__RESILIENCE_SITE, #key) };
            }
        });
        let answer = if shared {
            quote_spanned!(at=> __resilience_chain.one_per(&__resilience_key, __resilience_run))
        } else {
            quote_spanned!(at=> __resilience_chain.answer(__resilience_run))
        };
        // With the type stated, a wrong one is one error at the path, and not one for every bound that follows.
        let ty = (!self.function.output.opaque).then(|| {
            let ty = &self.function.output.ty;
            quote_spanned!(at=> : #ty)
        });
        let run = quote_spanned! {at=>
            let __resilience_run = ::std::boxed::Box::pin(async move {
                let __resilience_given #ty = #path #called.await;
                __resilience_given
            });
            if let ::core::option::Option::Some(__resilience_answer) = #answer.await {
                return __resilience_answer;
            }
        };
        let run = quote_spanned!(at=> #key #bound #run);
        let run = if with {
            quote_spanned! {at=>
                if let ::core::option::Option::Some(__resilience_failure) = __resilience_chain.failure() { #run }
            }
        } else {
            run
        };
        let offers = format_ident!("{}", if shared { "offers_shared" } else { "offers" }, span = at);
        quote_spanned!(at=> if __resilience_chain.#offers(#form) { #run })
    }

    /// The form that always answers, or what is left when the last one declined.
    fn end(&self, last: usize, chain: &TokenStream, arguments: &Arguments<'_>) -> TokenStream {
        match &self.forms[last] {
            Form::Value(given) => {
                let value = &given.code;
                let references = arguments.by_reference(value);
                let at = located(value.ends().0);
                quote_spanned!(at=> { #references #chain.value(#last, || #value) })
            }
            Form::Refuse(given) => {
                let path = &given.code;
                let at = located(path.ends().0);
                quote_spanned!(at=> #chain.refuse(#last, #path))
            }
            Form::None(word, _) => {
                let at = located(word.span());
                quote_spanned!(at=> #chain.none(#last))
            }
            Form::Path(..) | Form::With(..) | Form::Stale(..) => {
                let at = located(self.forms[last].place());
                quote_spanned!(at=> #chain.dry())
            }
        }
    }
}

fn parenthesized(tokens: TokenStream, span: Span) -> TokenStream {
    let mut group = proc_macro2::Group::new(proc_macro2::Delimiter::Parenthesis, tokens);
    group.set_span(span);
    group.into_token_stream()
}
