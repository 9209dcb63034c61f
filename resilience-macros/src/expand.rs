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
//!     const _: Option<&str> = option_env!("RESILIENCE_POLICY");         // an edit of the variable is noticed
//!     static __RESILIENCE_SITE: …::Site = …::Site::new(…::Spec { … });  // the policy's text is in it
//!     …::inventory::submit! { …::SiteRef::new(&__RESILIENCE_SITE) }
//!     let __resilience_ops = …::ops::<Res<u32>, _>();                      // the one bound, at the return type
//!     let mut __resilience_call = …::Call::begin(&__RESILIENCE_SITE);
//!     let __resilience_arg_0 = &mut id;                                 // `&mut`: `Send` then asks for no `Sync`
//!     let __resilience_body = async move {
//!         let id = Clone::clone(&*__resilience_arg_0);                  // not before the body is first polled
//!         let _ = (&n, &self);                                          // in reverse: the plain drop order
//!         if false { let r: Res<u32> = loop {}; return r; }             // the type is known before the body is
//!         match () { () => { BODY } }                                   // the user's own braces
//!     };
//!     match __resilience_call.only(__resilience_ops, __resilience_body).await {
//!         …::End::Value(value) => value,
//!         end => {
//!             let mut chain = __resilience_call.fall(__resilience_ops, end);
//!             …                                                         // see `chain`
//!         }
//!     }
//! }
//! ```
//!
//! With `#[retry]` the body is made anew in a loop round `attempt`, and what the last attempt alone may use up waits in
//! an `Option`. What `#[async_trait]` made goes through `Box::pin(async move { … })`, with the user's body in a closure.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ReturnType;

use crate::args::{Form, Kind};
use crate::check::Guarded;
use crate::code::{self, Code};

mod arguments;
mod chain;

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
        let names = paths.chain(&self.classify).filter_map(|path| match path.segments()?.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Everything between the function's braces.
    fn woven(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let site = self.site();
        let keys = self.stale_keys(arguments);
        let begin = self.begin(arguments);
        let once = arguments.once();
        let run = if self.retries() { self.attempts(arguments, body) } else { self.only(arguments, body) };
        quote! { #site #keys #begin #once #run }
    }

    /// The static that says at link time that this function exists.
    fn site(&self) -> TokenStream {
        let krate = &self.krate;
        let dependency = Literal::string(&self.dependency);
        let function = Literal::string(&syn::ext::IdentExt::unraw(&self.function.signature.ident).to_string());
        let policy_file = Literal::string(self.source.name());
        let policy = self.source.text();
        let layers = self.layers.iter().map(|kind| {
            let name = format_ident!("LAYER_{}", kind.name().to_uppercase(), span = site());
            quote_spanned!(site()=> #krate::private::#name)
        });
        let forms = self.forms.iter().map(|form| {
            let form = form_spec(form);
            quote_spanned!(site()=> #krate::private::Form::#form)
        });
        let plain = self.classify.is_some() && matches!(self.forms.last(), Some(Form::Value(_)));
        quote_spanned! {site()=>
            const _: ::core::option::Option<&'static ::core::primitive::str> = ::core::option_env!("RESILIENCE_POLICY");
            static __RESILIENCE_SITE: #krate::private::Site = #krate::private::Site::new(#krate::private::Spec {
                dependency: #dependency,
                function: #function,
                module: ::core::module_path!(),
                file: ::core::file!(),
                line: ::core::line!(),
                package: ::core::env!("CARGO_PKG_NAME"),
                policy_file: #policy_file,
                policy: #policy,
                layers: #(#layers)|*,
                forms: &[#(#forms),*],
                plain: #plain,
            });
            #krate::private::inventory::submit! { #krate::private::SiteRef::new(&__RESILIENCE_SITE) }
        }
    }

    /// The abilities of the return type: the one place that asks something of it.
    fn ops(&self) -> TokenStream {
        let krate = &self.krate;
        let output = &self.function.output;
        let refuses = matches!(self.forms.last(), Some(Form::Refuse(_)));
        let ops = format_ident!("{}", if refuses { "ops_refusing" } else { "ops" }, span = located(output.span));
        let of = format_ident!("{ops}_of", span = located(output.span));
        let ty = &output.ty;
        let at = located(output.span);
        let made = match (&self.classify, output.opaque) {
            (None, false) => quote_spanned!(at=> #krate::private::#ops::<#ty, _>()),
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

    /// `let mut call = …`, at the function's first poll.
    fn begin(&self, arguments: &Arguments<'_>) -> TokenStream {
        let krate = &self.krate;
        let begin = match &self.key {
            None => quote_spanned!(site()=> #krate::private::Call::begin(&__RESILIENCE_SITE)),
            Some(key) => {
                let references = arguments.by_reference(key);
                quote_spanned! {site()=> {
                    #references
                    #krate::private::Call::begin_keyed(&__RESILIENCE_SITE, &(#key))
                }}
            }
        };
        quote_spanned!(site()=> let mut __resilience_call = #begin;)
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
        let (made_first, made_after) = if self.function.output.opaque { (made, inside) } else { (inside, made) };
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
        if self.function.output.opaque && !self.retries() { (body, self.ops()) } else { (self.ops(), body) }
    }

    /// The user's body as a future that has not begun.
    fn body(&self, arguments: &Arguments<'_>, body: &Group) -> TokenStream {
        let bind = arguments.bind();
        let output = &self.function.output.ty;
        let run = if self.function.boxed {
            let ty = self.boxed_type();
            // A closure, so that `return` in the user's body stays inside.
            quote_spanned!(site()=> (move || -> #ty #body)().await)
        } else {
            quote_spanned! {site()=>
                #[allow(unreachable_code, clippy::all, clippy::pedantic, clippy::nursery)]
                if false {
                    let __resilience_return: #output = loop {};
                    return __resilience_return;
                }
                // Bare braces would be linted, and braces of ours would carry our edition.
                match () { () => #body }
            }
        };
        let keyword = if arguments.borrows_self() { quote_spanned!(site()=> async) } else { quote_spanned!(site()=> async move) };
        quote_spanned!(site()=> #keyword { #bind #run })
    }

    /// The written return type, with its lifetimes left open: an attempt borrows for less than the call.
    fn boxed_type(&self) -> TokenStream {
        match &self.function.signature.output {
            ReturnType::Type(_, ty) => open_lifetimes(ty.to_token_stream()),
            ReturnType::Default => quote_spanned!(site()=> ()),
        }
    }

    /// The keys of stale answers, found before the body can use up the arguments.
    fn stale_keys(&self, arguments: &Arguments<'_>) -> TokenStream {
        let krate = &self.krate;
        let mut tokens = TokenStream::new();
        for (at, key) in self.keys_of_stale() {
            let name = chain::stale_key(at);
            let of = match key {
                Some(key) => {
                    let references = arguments.by_reference(key);
                    quote_spanned!(site()=> { #references #krate::private::stale_key(&__RESILIENCE_SITE, &(#key)) })
                }
                None => quote_spanned!(site()=> #krate::private::stale_key(&__RESILIENCE_SITE, &())),
            };
            tokens.extend(quote_spanned!(site()=> let #name = #of;));
        }
        tokens
    }

    /// A good answer is kept for the stale forms.
    fn keep(&self) -> TokenStream {
        let keys = self.keys_of_stale().into_iter().map(|(at, _)| chain::stale_key(at));
        quote_spanned!(site()=> #(__resilience_call.keep(__resilience_ops, #keys, &__resilience_value);)*)
    }
}

/// `path` as `Path("path")`.
fn form_spec(form: &Form) -> TokenStream {
    let text = |code: &Code| Literal::string(&code.text());
    match form {
        Form::Value(_) => quote_spanned!(site()=> Value),
        Form::Path(path, _) => {
            let text = text(path);
            quote_spanned!(site()=> Path(#text))
        }
        Form::With(given, _) => {
            let text = text(&given.code);
            quote_spanned!(site()=> With(#text))
        }
        Form::Stale(..) => quote_spanned!(site()=> Stale),
        Form::Refuse(given) => {
            let text = text(&given.code);
            quote_spanned!(site()=> Refuse(#text))
        }
        Form::None(_, reason) => {
            let text = Literal::string(&reason.value());
            quote_spanned!(site()=> None(#text))
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
