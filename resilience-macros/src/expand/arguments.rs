//! What becomes of each argument: moved into the body, cloned for it, reborrowed, or left for a fallback.
//!
//! A clone is made only where the body could use up what a fallback or a further attempt needs again, and only once the
//! body is polled: a call that is rejected before that clones nothing.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Signature;

use super::{located, site};
use crate::args::Form;
use crate::function::{Function, Parameter, Passing, Receiver};

mod argument;
mod hand_on;

use argument::{Argument, Fate};

/// The plan for one function.
pub(crate) struct Arguments<'f> {
    receiver: Option<This<'f>>,
    each: Vec<Argument<'f>>,
    retries: bool,
}

/// `self`.
struct This<'f> {
    receiver: &'f Receiver,
    /// The last form that needs it.
    last: Option<usize>,
    /// By value, and needed again after the body had it: a clone waits beside the body. `self` cannot be bound anew, so
    /// it is assigned to.
    kept: bool,
}

impl<'f> Arguments<'f> {
    /// Decides for each argument. `hidden` are names that must not be hidden by a parameter.
    pub(crate) fn plan(function: &'f Function, forms: &[Form], hidden: &[String], retries: bool) -> Self {
        let receiver = function.receiver.as_ref().map(|receiver| {
            let last = last_need(forms, |form| form.needs_self(&receiver.token));
            let again = receiver.used && (retries || last.is_some());
            This {
                receiver,
                last,
                kept: again && receiver.passing == Passing::Value,
            }
        });
        let each = function.parameters.iter().enumerate().map(|(at, parameter)| {
            let last = last_need(forms, |form| {
                form.called().is_some()
                    || parameter
                        .names
                        .iter()
                        .any(|name| form.expression().is_some_and(|code| code.mentions(name)))
            });
            Argument::plan(at, parameter, last, hidden, retries)
        });
        Self {
            receiver,
            each: each.collect(),
            retries,
        }
    }

    /// The signature, as written where nothing had to change.
    pub(crate) fn signature(&self, function: &Function) -> TokenStream {
        let kept = self.receiver.as_ref().is_some_and(|this| this.kept);
        let borrows_self = self.borrows_self();
        if !kept
            && self
                .each
                .iter()
                .all(|argument| argument.outer_pattern(borrows_self).is_none())
        {
            return function.written.to_token_stream();
        }
        let receiver = self.receiver.as_ref().map(|this| {
            let Receiver {
                written, assignable, ..
            } = this.receiver;
            (if kept { assignable } else { written }).clone()
        });
        let each = self.each.iter().map(|argument| {
            let Parameter {
                attributes,
                pattern,
                typed,
                ..
            } = argument.parameter;
            let outer = argument.outer_pattern(borrows_self);
            let pattern = outer.unwrap_or_else(|| pattern.to_token_stream());
            quote!(#(#attributes)* #pattern #typed)
        });
        let inputs = receiver.into_iter().chain(each);
        let Signature {
            constness,
            asyncness,
            safety,
            abi,
            fn_token,
            ident,
            generics,
            paren_token,
            output,
            ..
        } = &function.signature;
        let where_clause = &generics.where_clause;
        let mut tokens = quote!(#constness #asyncness #safety #abi #fn_token #ident #generics);
        paren_token.surround(&mut tokens, |tokens| tokens.extend(quote!(#(#inputs),*)));
        tokens.extend(quote!(#output #where_clause));
        tokens
    }

    /// Whether the body works on a reborrowed `self`, which a `move` would take away.
    pub(crate) fn borrows_self(&self) -> bool {
        self.receiver.as_ref().is_some_and(|this| {
            let again = this.receiver.used && (self.retries || this.last.is_some());
            again && this.receiver.passing == Passing::Exclusive
        })
    }

    /// Whether a further attempt or a form needs any of them.
    pub(crate) fn are_needed_again(&self) -> bool {
        self.retries
            || self.each.iter().any(|argument| argument.last.is_some())
            || self.receiver.as_ref().is_some_and(|this| this.last.is_some())
    }

    /// Whether an attempt has to know that another may follow.
    pub(crate) fn asks_for_more(&self) -> bool {
        self.retries
            && (self.each.iter().any(|argument| argument.fate == Fate::Slot)
                || self
                    .receiver
                    .as_ref()
                    .is_some_and(|this| this.kept && this.last.is_none()))
    }

    /// Whether a fallback needs the clone of `self`.
    pub(crate) fn is_needed_after(&self) -> bool {
        self.receiver
            .as_ref()
            .is_some_and(|this| this.kept && this.last.is_some())
    }

    /// Before the first attempt.
    pub(crate) fn once(&self) -> TokenStream {
        let slots = self
            .each
            .iter()
            .filter(|argument| argument.fate == Fate::Slot)
            .map(|argument| {
                let attributes = argument.attributes();
                let (name, slot) = (&argument.name, argument.slot());
                quote_spanned!(site()=> #(#attributes)* let mut #slot = ::core::option::Option::Some(#name);)
            });
        slots.collect()
    }

    /// Before each attempt: what it borrows.
    pub(crate) fn each(&self) -> TokenStream {
        let mut tokens = TokenStream::new();
        if let Some(this) = self.receiver.as_ref().filter(|this| this.kept) {
            let token = &this.receiver.token;
            let at = located(token.span());
            let clone = quote_spanned!(at=> ::core::clone::Clone::clone(&#token));
            tokens.extend(if self.retries && this.last.is_none() {
                quote_spanned! {site()=>
                    let __resilience_self = if __resilience_more {
                        ::core::option::Option::Some(#clone)
                    } else {
                        ::core::option::Option::None
                    };
                }
            } else {
                quote_spanned!(site()=> let __resilience_self = #clone;)
            });
        }
        for argument in &self.each {
            let attributes = argument.attributes();
            let (name, lent) = (&argument.name, argument.lent());
            let borrow = match argument.fate {
                Fate::Outside | Fate::Captured => continue,
                Fate::Cloned => quote_spanned!(site()=> &mut #name),
                Fate::Reborrowed => quote_spanned!(site()=> &mut *#name),
                Fate::Slot => {
                    let slot = argument.slot();
                    quote_spanned!(site()=> &mut #slot)
                }
            };
            tokens.extend(quote_spanned!(site()=> #(#attributes)* let #lent = #borrow;));
        }
        tokens
    }

    /// The first statements of the body: what it gets under the user's names.
    pub(crate) fn bind(&self) -> TokenStream {
        let borrows_self = self.borrows_self();
        let mut tokens = TokenStream::new();
        for argument in self.each.iter().filter(|argument| argument.is_bound_anew(borrows_self)) {
            let attributes = argument.attributes();
            let pattern = &argument.parameter.pattern;
            // Without `move`, this is what moves it in.
            if borrows_self && argument.fate != Fate::Captured {
                let lent = argument.lent();
                tokens.extend(quote_spanned!(site()=> #(#attributes)* let #lent = #lent;));
            }
            let value = argument.value();
            tokens.extend(quote_spanned!(site()=> #(#attributes)* let #pattern = #value;));
        }
        // Captured in the order of this list; in reverse they are dropped as those of the plain function are.
        for argument in self
            .each
            .iter()
            .rev()
            .filter(|argument| argument.fate == Fate::Captured && !argument.is_bound_anew(borrows_self))
        {
            let attributes = argument.attributes();
            let names = argument.captured().rev();
            tokens.extend(quote_spanned! {site()=>
                #(#attributes)*
                let _ = (#(&#names,)*);
            });
        }
        if let Some(this) = self
            .receiver
            .as_ref()
            .filter(|this| this.receiver.used && !borrows_self)
        {
            let token = &this.receiver.token;
            tokens.extend(quote_spanned! {site()=>
                let _ = &#token;
            });
        }
        tokens
    }

    /// After an attempt: `self` is whole again.
    pub(crate) fn restore(&self) -> TokenStream {
        let Some(this) = self.receiver.as_ref().filter(|this| this.kept) else {
            return TokenStream::new();
        };
        let token = &this.receiver.token;
        if self.retries && this.last.is_none() {
            quote_spanned! {site()=>
                match __resilience_self {
                    ::core::option::Option::Some(__resilience_kept) => #token = __resilience_kept,
                    ::core::option::Option::None => ::core::unreachable!("the last attempt alone keeps nothing"),
                }
            }
        } else {
            quote_spanned!(site()=> #token = __resilience_self;)
        }
    }
}

/// The last form that needs an argument.
fn last_need(forms: &[Form], needs: impl Fn(&Form) -> bool) -> Option<usize> {
    forms.iter().rposition(needs)
}
