//! A checked function to tokens. Nothing here can fail.
//!
//! ```text
//! #[breaker("payrail")] #[fallback(Self::cached)]
//! async fn quote(&self, id: String, n: &u32) -> Res<u32> { BODY }
//! ```
//!
//! becomes, with `…` for `::resilience_runtime::private`:
//!
//! ```text
//! async fn quote(&self, mut id: String, n: &u32) -> Res<u32> {          // the user's tokens and braces
//!     enum __ResilienceHere {}                                          // its name says where the function stands
//!     static __RESILIENCE_SITE: …::Site = …::Site::new(…::Spec {
//!         …,                                                            // the policy's text, tracked as the variable is
//!         policy: …::text(include_str!("…"), option_env!("RESILIENCE_POLICY")),
//!     });
//!     …::inventory::submit! { …::SiteRef::new(&__RESILIENCE_SITE) }
//!     let __resilience_ops = …::ops::<Res<u32>, _>();                      // the one bound, at the return type
//!     let mut __resilience_call = …::Call::begin(&__RESILIENCE_SITE);
//!     let __resilience_arg_0 = &mut id;                                 // `&mut`: `Send` then asks for no `Sync`
//!     let __resilience_body = async move {
//!         let id = Clone::clone(&*__resilience_arg_0);                  // not before the body is first polled
//!         let _ = (&n, &self);                                          // in reverse: the plain drop order
//!         if let Some(r) = None::<Res<u32>> { return r; }               // the type is known before the body is
//!         match () { () => { BODY } }                                   // the user's own braces
//!     };
//!     match __resilience_call.only(__resilience_ops, __resilience_body).await {
//!         …::End::Value(value) => value,
//!         end => __resilience_call.fall(__resilience_ops, end).…,       // see `chain`
//!     }
//! }
//! ```
//!
//! A chain of one form that always answers and takes no argument goes into the future instead, and nothing is left to do
//! after it: `…::value(…::Call::begin(&__RESILIENCE_SITE), __resilience_ops, __resilience_body, || EXPR).await`.
//!
//! With `#[retry]` the body is made anew in a loop round `attempt`, and what the last attempt alone may use up waits in
//! an `Option`. What `#[async_trait]` made goes through `Box::pin(async move { … })`, with the user's body in a closure.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::args::{Form, Kind};
use crate::check::Guarded;
use crate::code::{self, Code};

mod arguments;
mod body;
mod chain;
mod statics;

use arguments::Arguments;

/// Generated names and keywords: not the user's, and resolved where the user stands.
pub(crate) fn site() -> Span {
    Span::mixed_site()
}

/// The same, shown at a place of the user's.
pub(crate) fn located(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The function, woven.
pub(crate) fn expand(guarded: &Guarded) -> TokenStream {
    let function = &guarded.function;
    let arguments = Arguments::plan(function, &guarded.forms, &guarded.plain_names(), guarded.retries());
    let (inner_attributes, body) = code::lift_inner_attributes(&function.body);

    let head = &function.head;
    let signature = arguments.signature(function);
    let mut statements = inner_attributes;
    let woven = guarded.woven(&arguments, &body);
    if function.boxed {
        statements.extend(quote_spanned!(site()=> ::std::boxed::Box::pin(async move { #woven })));
    } else {
        statements.extend(woven);
    }
    let mut block = Group::new(Delimiter::Brace, statements);
    block.set_span(function.body.span());
    quote!(#head #signature #block)
}

impl Guarded {
    pub(crate) fn retries(&self) -> bool {
        self.layers.contains(&Kind::Retry)
    }

    /// Functions that are called by a bare name, which a parameter of the same name would hide.
    fn plain_names(&self) -> Vec<String> {
        let paths = self.forms.iter().filter_map(|form| match form {
            Form::Refuse(given) => Some(&given.code),
            form => form.called(),
        });
        let names = paths
            .chain(&self.classify)
            .filter_map(|path| match path.segments()?.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            });
        names.collect()
    }

    /// Everything between the function's braces.
    fn woven(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let statics = self.statics();
        let keys = self.stale_keys(arguments);
        let begin = self.begin(arguments);
        let once = arguments.once();
        if let Some(whole) = self.whole(&begin, arguments, body) {
            return quote! { #statics #once #whole };
        }
        let begin = quote_spanned!(site()=> let mut __resilience_call = #begin;);
        let run = if self.retries() {
            self.attempts(arguments, body)
        } else {
            self.only(arguments, body)
        };
        quote! { #statics #keys #begin #once #run }
    }

    /// The abilities of the return type: the one place that asks something of it.
    fn ops(&self) -> TokenStream {
        let krate = &self.krate;
        let output = &self.function.output;
        let refuses = matches!(self.forms.last(), Some(Form::Refuse(_)));
        let ops = format_ident!(
            "{}",
            if refuses { "ops_refusing" } else { "ops" },
            span = located(output.span)
        );
        let of = format_ident!("{ops}_of", span = located(output.span));
        let ty = &output.ty;
        let at = located(output.span);
        let made = match (&self.classify, output.opaque) {
            (None, false) if refuses => quote_spanned!(at=> #krate::private::#ops::<#ty, _>()),
            (None, false) => quote_spanned!(at=> #krate::private::#ops::<#ty, _, _>()),
            (None, true) => quote_spanned!(at=> #krate::private::#of(&__resilience_body)),
            (Some(classify), opaque) => {
                let pick = if opaque {
                    quote_spanned!(at=> #krate::private::pick_of(&__resilience_body))
                } else {
                    quote_spanned!(at=> #krate::private::pick::<#ty>())
                };
                quote_spanned!(at=> { use #krate::private::PickPlain as _; #pick.#ops(#classify) })
            }
        };
        let marking = self.forms.iter().any(Form::makes_up).then(|| {
            let served = if output.opaque {
                quote_spanned!(at=> #krate::private::served_of(&__resilience_body))
            } else {
                quote_spanned!(at=> #krate::private::served::<#ty>())
            };
            quote_spanned!(at=> .marking({ use #krate::private::MarkNone as _; #served.mark() }))
        });
        quote_spanned!(at=> let __resilience_ops = #made #marking;)
    }

    /// The call, made at the function's first poll.
    fn begin(&self, arguments: &Arguments<'_>) -> TokenStream {
        let krate = &self.krate;
        match &self.key {
            None => quote_spanned!(site()=> #krate::private::Call::begin(&__RESILIENCE_SITE)),
            Some(key) => {
                let references = arguments.by_reference(key);
                let key = key.borrowed();
                quote_spanned! {site()=> {
                    #references
                    #krate::private::Call::begin_keyed(&__RESILIENCE_SITE, #key)
                }}
            }
        }
    }

    /// One attempt, and one form that always answers and takes nothing of the function's: both in one future. Every user
    /// pays for what stands in a function once for each, so the common chain is short.
    fn whole(&self, begin: &TokenStream, arguments: &Arguments<'_>, body: &Group) -> Option<TokenStream> {
        let [form] = self.forms.as_slice() else { return None };
        if arguments.are_needed_again() {
            return None;
        }
        let (ops, made) = self.ops_and_body(arguments, body);
        let (before, call) = if self.key.is_some() {
            // The key is found before the body takes what it borrows.
            let call = quote_spanned!(site()=> __resilience_call);
            (quote_spanned!(site()=> let #call = #begin;), call)
        } else {
            (TokenStream::new(), begin.clone())
        };
        let whole = self.with_only(form, &call)?;
        Some(quote_spanned!(site()=> #before #ops #made #whole.await))
    }

    /// One attempt.
    fn only(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let krate = &self.krate;
        let (ops, made) = self.ops_and_body(arguments, body);
        let keep = self.keep();
        let fall = self.fall(arguments);
        let restore = arguments.restore();
        quote_spanned! {site()=>
            #ops
            #made
            match __resilience_call.only(__resilience_ops, __resilience_body).await {
                #krate::private::End::Value(__resilience_value) => { #keep __resilience_value }
                __resilience_end => { #restore #fall }
            }
        }
    }

    /// A loop round the attempts.
    fn attempts(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let krate = &self.krate;
        let (ops, made) = self.ops_and_body(arguments, body);
        let keep = self.keep();
        let fall = self.fall(arguments);
        let more = arguments
            .asks_for_more()
            .then(|| quote_spanned!(site()=> let __resilience_more = __resilience_call.may_repeat();));
        // With an opaque return type the abilities come from the body, so they leave the loop with the end.
        let (before, inside, leave, take) = if self.function.output.opaque {
            let pair = quote_spanned!(site()=> (__resilience_ops, __resilience_end));
            (TokenStream::new(), ops, pair.clone(), pair)
        } else {
            let end = quote_spanned!(site()=> __resilience_end);
            (ops, TokenStream::new(), end.clone(), end)
        };
        let (made_first, made_after) = if self.function.output.opaque {
            (made, inside)
        } else {
            (inside, made)
        };
        let again = arguments.restore();
        let restore = arguments.restore();
        let restore_end = arguments.is_needed_after().then_some(restore);
        quote_spanned! {site()=>
            #before
            let #take = loop {
                #more
                #made_first
                #made_after
                match __resilience_call.attempt(__resilience_ops, __resilience_body).await {
                    #krate::private::Turn::Again => { #again }
                    #krate::private::Turn::End(__resilience_end) => { #restore_end break #leave; }
                }
            };
            match __resilience_end {
                #krate::private::End::Value(__resilience_value) => { #keep __resilience_value }
                __resilience_end => { #fall }
            }
        }
    }

    /// The statements that make the abilities and the body, in the order in which they need each other.
    fn ops_and_body(&self, arguments: &Arguments<'_>, body: &Group) -> (TokenStream, TokenStream) {
        let each = arguments.each();
        let made = self.body(arguments, body);
        let body = quote_spanned!(site()=> #each let __resilience_body = #made;);
        if self.function.output.opaque && !self.retries() {
            (body, self.ops())
        } else {
            (self.ops(), body)
        }
    }

    /// The keys of stale answers, found before the body can use up the arguments.
    fn stale_keys(&self, arguments: &Arguments<'_>) -> TokenStream {
        let krate = &self.krate;
        let mut tokens = TokenStream::new();
        for (at, key) in self.keys_of_stale() {
            let name = chain::stale_key(at);
            let references = key.map(|key| arguments.by_reference(key));
            let key = key.map_or_else(|| quote_spanned!(site()=> &()), Code::borrowed);
            let of = quote_spanned!(site()=> { #references #krate::private::stale_key(&__RESILIENCE_SITE, #key) });
            tokens.extend(quote_spanned!(site()=> let #name = #of;));
        }
        tokens
    }

    /// A good answer is kept for the stale forms.
    fn keep(&self) -> TokenStream {
        let mut tokens = TokenStream::new();
        for (form, _) in self.keys_of_stale() {
            // What a kept answer has to be able to do is asked for by this form.
            let at = located(self.forms[form].place());
            let key = chain::stale_key(form);
            tokens.extend(quote_spanned!(at=> __resilience_call.keep(__resilience_ops, #key, &__resilience_value);));
        }
        tokens
    }
}
