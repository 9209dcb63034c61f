//! One argument: what becomes of it, and the pieces of code that say so.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Attribute;

use crate::expand::{located, site};
use crate::function::{Parameter, Passing};

/// One argument.
pub(super) struct Argument<'f> {
    pub(super) parameter: &'f Parameter,
    pub(super) at: usize,
    /// The user's name, or ours where the parameter is a pattern that has to stay whole, or hides the fallback's name.
    pub(super) name: Ident,
    pub(super) displaced: bool,
    pub(super) fate: Fate,
    /// The last form that needs it.
    pub(super) last: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
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

impl<'f> Argument<'f> {
    pub(super) fn plan(
        at: usize,
        parameter: &'f Parameter,
        last: Option<usize>,
        hidden: &[String],
        retries: bool,
    ) -> Self {
        let again = retries || last.is_some();
        let fate = match parameter.passing {
            // It goes along, as it would in the plain function: nobody is told of an unused `_x`.
            _ if !parameter.is_used() && !again && parameter.names.iter().any(is_quiet) => Fate::Captured,
            _ if !parameter.is_used() => Fate::Outside,
            Passing::Value if last.is_some() => Fate::Cloned,
            Passing::Value if retries => Fate::Slot,
            Passing::Exclusive if again => Fate::Reborrowed,
            _ => Fate::Captured,
        };
        let hides = parameter
            .names
            .iter()
            .any(|name| hidden.iter().any(|hidden| name == hidden));
        let whole = parameter.simple().is_none() && (last.is_some() || matches!(fate, Fate::Slot | Fate::Reborrowed));
        let displaced = hides || whole;
        let name = match parameter.simple() {
            Some((name, _)) if !displaced => name.clone(),
            _ => format_ident!("__resilience_parameter_{at}", span = site()),
        };
        Self {
            parameter,
            at,
            name,
            displaced,
            fate,
            last,
        }
    }

    /// `#[cfg]` and lint levels, for each statement about it. An expectation is fulfilled once, so it is not repeated.
    pub(super) fn attributes(&self) -> Vec<TokenStream> {
        let written = self
            .parameter
            .attributes
            .iter()
            .filter(|attribute| !attribute.path().is_ident("expect"));
        let mut attributes: Vec<_> = written.map(ToTokens::to_token_stream).collect();
        // Handing `_x` on is no use of it that its author should hear about.
        if self.parameter.names.iter().any(is_quiet) {
            attributes.push(quote_spanned!(site()=> #[allow(clippy::used_underscore_binding)]));
        }
        attributes
    }

    /// Its `#[cfg]`s, which is all that may stand before an argument of a call.
    pub(super) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.parameter
            .attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"))
    }

    /// The names that go into the body without being bound anew.
    pub(super) fn captured(&self) -> impl DoubleEndedIterator<Item = &Ident> {
        self.parameter
            .names
            .iter()
            .filter(|name| self.parameter.used.contains(name) || is_quiet(name))
    }

    /// What the attempt borrows.
    pub(super) fn lent(&self) -> Ident {
        format_ident!("__resilience_argument_{}", self.at, span = site())
    }

    pub(super) fn slot(&self) -> Ident {
        format_ident!("__resilience_slot_{}", self.at, span = site())
    }

    /// Whether the body's first statements bind the user's pattern.
    pub(super) fn is_bound_anew(&self, borrows_self: bool) -> bool {
        match self.fate {
            Fate::Outside => false,
            Fate::Captured => self.displaced || borrows_self && self.parameter.simple().is_some(),
            Fate::Cloned | Fate::Slot | Fate::Reborrowed => true,
        }
    }

    /// The parameter's pattern in the signature, if it has to be another than the user's.
    pub(super) fn outer_pattern(&self, borrows_self: bool) -> Option<TokenStream> {
        let mutability = (self.fate == Fate::Cloned).then(|| Ident::new("mut", site()));
        let written = self.parameter.simple().is_some_and(|(_, mutable)| mutable);
        // The user's `mut` goes where the user's name is bound.
        let same = !self.is_bound_anew(borrows_self) || mutability.is_none() && !written;
        if !self.displaced && same {
            return None;
        }
        let name = &self.name;
        Some(quote!(#mutability #name))
    }

    /// What the user's pattern is bound to.
    pub(super) fn value(&self) -> TokenStream {
        let lent = self.lent();
        // The one place that asks for `Clone`, shown at the parameter's type.
        let (first, last) = self.parameter.span;
        let at = located(first);
        let clone = |what: &Ident| {
            let what = Ident::new(&what.to_string(), located(last));
            quote_spanned!(at=> ::core::clone::Clone::clone(&*#what))
        };
        match self.fate {
            Fate::Outside | Fate::Captured => self.name.to_token_stream(),
            Fate::Reborrowed => lent.into_token_stream(),
            Fate::Cloned => clone(&lent),
            Fate::Slot => {
                let kept = Ident::new("__resilience_kept", site());
                let clone = clone(&kept);
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

/// Whether rustc keeps quiet about a variable of this name that nothing uses.
fn is_quiet(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}
