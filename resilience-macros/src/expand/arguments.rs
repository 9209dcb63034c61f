//! What becomes of each argument: moved into the body, cloned for it, reborrowed, or left for a fallback.
//!
//! A clone is made only where the body could use up what a fallback or a further attempt needs again, and only once the
//! body is polled: a call that is rejected before that clones nothing.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, FnArg, Pat, PatIdent, Token};

use super::{located, site};
use crate::args::Form;
use crate::code::Code;
use crate::function::{Function, Parameter, Passing, Receiver};

mod hand_on;

/// The plan for one function.
pub(crate) struct Arguments<'f> {
    receiver: Option<This<'f>>,
    arguments: Vec<Argument<'f>>,
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

struct Argument<'f> {
    parameter: &'f Parameter,
    at: usize,
    /// The user's name, or ours where the parameter is a pattern that has to stay whole, or hides the fallback's name.
    name: Ident,
    displaced: bool,
    fate: Fate,
    /// The last form that needs it.
    last: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The body does not speak of it.
    Outside,
    /// The body gets it as it is: it is not needed again, or a copied reference.
    Captured,
    /// By value, and a fallback needs it: the body gets a clone.
    Cloned,
    /// By value, and another attempt may need it: the last attempt gets it, those before get clones.
    Slot,
    /// By `&mut`, and needed again.
    Reborrowed,
}

impl<'f> Arguments<'f> {
    /// Decides for each argument. `hidden` are names that must not be hidden by a parameter.
    pub(crate) fn plan(function: &'f Function, forms: &[Form], hidden: &[String], retries: bool) -> Self {
        let receiver = function.receiver.as_ref().map(|receiver| {
            let word = Ident::new("self", receiver.token.span);
            let last = last_need(forms, |form| match form.called() {
                Some(path) if path.begins_with_self_type() => true,
                _ => form.expression().is_some_and(|code| code.mentions(&word)),
            });
            let again = receiver.used && (retries || last.is_some());
            This { receiver, last, kept: again && receiver.passing == Passing::Value }
        });
        let arguments = function.parameters.iter().enumerate().map(|(at, parameter)| {
            let last = last_need(forms, |form| {
                form.called().is_some()
                    || parameter.names.iter().any(|name| form.expression().is_some_and(|code| code.mentions(name)))
            });
            Argument::plan(at, parameter, last, hidden, retries)
        });
        Self { arguments: arguments.collect(), receiver, retries }
    }

    /// The signature, as written where nothing had to change.
    pub(crate) fn signature(&self, function: &Function) -> TokenStream {
        let kept = self.receiver.as_ref().is_some_and(|this| this.kept);
        if !kept && self.arguments.iter().all(|argument| argument.outer_pattern().is_none()) {
            return function.written.to_token_stream();
        }
        let mut signature = function.signature.clone();
        let mut arguments = self.arguments.iter();
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(receiver) if kept => {
                    receiver.mutability.get_or_insert_with(|| Token![mut](site()));
                }
                FnArg::Receiver(_) => {}
                FnArg::Typed(typed) => {
                    if let Some(pattern) = arguments.next().and_then(Argument::outer_pattern) {
                        *typed.pat = pattern;
                    }
                }
            }
        }
        signature.into_token_stream()
    }

    /// Whether the body works on a reborrowed `self`, which a `move` would take away.
    pub(crate) fn borrows_self(&self) -> bool {
        self.receiver.as_ref().is_some_and(|this| {
            let again = this.receiver.used && (self.retries || this.last.is_some());
            again && this.receiver.passing == Passing::Exclusive
        })
    }

    /// Whether an attempt has to know that another may follow.
    pub(crate) fn asks_for_more(&self) -> bool {
        self.retries
            && (self.arguments.iter().any(|argument| argument.fate == Fate::Slot)
                || self.receiver.as_ref().is_some_and(|this| this.kept && this.last.is_none()))
    }

    /// Whether a fallback needs the clone of `self`.
    pub(crate) fn is_needed_after(&self) -> bool {
        self.receiver.as_ref().is_some_and(|this| this.kept && this.last.is_some())
    }

    /// Before the first attempt.
    pub(crate) fn once(&self) -> TokenStream {
        let slots = self.arguments.iter().filter(|argument| argument.fate == Fate::Slot).map(|argument| {
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
            let token = this.receiver.token;
            let at = located(token.span);
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
        for argument in &self.arguments {
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
        for argument in self.arguments.iter().filter(|argument| argument.is_bound_anew(borrows_self)) {
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
        for argument in self.arguments.iter().rev().filter(|argument| {
            argument.fate == Fate::Captured && !argument.is_bound_anew(borrows_self)
        }) {
            let attributes = argument.attributes();
            let names = argument.parameter.used.iter().rev();
            tokens.extend(quote_spanned! {site()=>
                #(#attributes)*
                #[allow(clippy::all, clippy::pedantic, clippy::nursery)]
                let _ = (#(&#names,)*);
            });
        }
        if let Some(this) = self.receiver.as_ref().filter(|this| this.receiver.used && !borrows_self) {
            let token = this.receiver.token;
            tokens.extend(quote_spanned! {site()=>
                #[allow(clippy::all, clippy::pedantic, clippy::nursery)]
                let _ = &#token;
            });
        }
        tokens
    }

    /// After an attempt: `self` is whole again.
    pub(crate) fn restore(&self) -> TokenStream {
        let Some(this) = self.receiver.as_ref().filter(|this| this.kept) else { return TokenStream::new() };
        let token = this.receiver.token;
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

impl<'f> Argument<'f> {
    fn plan(at: usize, parameter: &'f Parameter, last: Option<usize>, hidden: &[String], retries: bool) -> Self {
        let again = retries || last.is_some();
        let fate = match parameter.passing {
            _ if !parameter.is_used() => Fate::Outside,
            Passing::Value if last.is_some() => Fate::Cloned,
            Passing::Value if retries => Fate::Slot,
            Passing::Exclusive if again => Fate::Reborrowed,
            _ => Fate::Captured,
        };
        let hides = parameter.names.iter().any(|name| hidden.iter().any(|hidden| name == hidden));
        let whole = parameter.simple().is_none() && (last.is_some() || matches!(fate, Fate::Slot | Fate::Reborrowed));
        let displaced = hides || whole;
        let name = match parameter.simple() {
            Some((name, _)) if !displaced => name.clone(),
            _ => format_ident!("__resilience_parameter_{at}", span = site()),
        };
        Self { parameter, at, name, displaced, fate, last }
    }

    /// `#[cfg]` and lint levels, for each statement about it. An expectation is fulfilled once, so it is not repeated.
    fn attributes(&self) -> Vec<&Attribute> {
        self.parameter.attributes.iter().filter(|attribute| !attribute.path().is_ident("expect")).collect()
    }

    /// What the attempt borrows.
    fn lent(&self) -> Ident {
        format_ident!("__resilience_argument_{}", self.at, span = site())
    }

    fn slot(&self) -> Ident {
        format_ident!("__resilience_slot_{}", self.at, span = site())
    }

    /// Whether the body's first statements bind the user's pattern.
    fn is_bound_anew(&self, borrows_self: bool) -> bool {
        match self.fate {
            Fate::Outside => false,
            Fate::Captured => self.displaced || borrows_self && self.parameter.simple().is_some(),
            Fate::Cloned | Fate::Slot | Fate::Reborrowed => true,
        }
    }

    /// The parameter's pattern in the signature, if it has to be another than the user's.
    fn outer_pattern(&self) -> Option<Pat> {
        let mutability = (self.fate == Fate::Cloned).then(|| Token![mut](site()));
        let written = self.parameter.simple().and_then(|(_, mutability)| mutability);
        // The user's `mut` goes where the user's name is bound.
        if !self.displaced && (matches!(self.fate, Fate::Outside | Fate::Captured) || mutability.is_none() && written.is_none()) {
            return None;
        }
        Some(Pat::Ident(PatIdent { attrs: Vec::new(), by_ref: None, mutability, ident: self.name.clone(), subpat: None }))
    }

    /// What the user's pattern is bound to.
    fn value(&self) -> TokenStream {
        let lent = self.lent();
        // The one place that asks for `Clone`, shown at the parameter's type.
        let clone = {
            let at = located(self.parameter.span);
            move |what: TokenStream| quote_spanned!(at=> ::core::clone::Clone::clone(&*#what))
        };
        match self.fate {
            Fate::Outside | Fate::Captured => self.name.to_token_stream(),
            Fate::Reborrowed => lent.into_token_stream(),
            Fate::Cloned => clone(lent.into_token_stream()),
            Fate::Slot => {
                let kept = Ident::new("__resilience_kept", site());
                let clone = clone(quote!(#kept));
                quote_spanned! {site()=>
                    match #lent {
                        ::core::option::Option::Some(#kept) if __resilience_more => #clone,
                        #kept => match ::core::option::Option::take(#kept) {
                            ::core::option::Option::Some(#kept) => #kept,
                            ::core::option::Option::None => ::core::unreachable!("the last attempt alone takes it"),
                        },
                    }
                }
            }
        }
    }
}

impl Form {
    /// The expression in which arguments are in scope after the body.
    fn expression(&self) -> Option<&Code> {
        match self {
            Self::Value(given) | Self::Path(_, Some(given)) | Self::With(_, Some(given)) => Some(&given.code),
            _ => None,
        }
    }
}
