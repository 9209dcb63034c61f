//! `#[derive(Classify)]`: the class of an error, said where the error is declared.
//!
//! ```text
//! #[derive(Classify)]
//! enum PayError {
//!     #[classify(business)] Declined,
//!     #[classify(throttled(retry_after = 0))] TooMany(Duration),
//!     #[classify(transparent)] Http { source: reqwest::Error },
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! impl ::resilience_runtime::Classify for PayError {
//!     fn classify(&self) -> ::resilience_runtime::Outcome {
//!         match self {
//!             PayError::Declined { .. } => ::resilience_runtime::Outcome::Business,
//!             PayError::TooMany { 0: field, .. } => ::resilience_runtime::Outcome::Throttled {
//!                 retry_after: ::resilience_runtime::private::RetryAfter::retry_after(field),
//!             },
//!             PayError::Http { source: field, .. } => ::resilience_runtime::Classify::classify(field),
//!         }
//!     }
//! }
//! ```

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Attribute, Data, DataEnum, DeriveInput, Error, Fields, Generics, Member, Type, WherePredicate};

use crate::fault::Faults;
use crate::{code, krate};

mod class;

use class::Class;

/// The implementation, or all that is wrong with the declaration.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut faults = Faults::default();
    let tokens = implementation(&input, &mut faults);
    match tokens {
        Some(tokens) if faults.is_empty() => tokens,
        _ => faults.beside(&TokenStream::new()),
    }
}

fn implementation(input: &DeriveInput, faults: &mut Faults) -> Option<TokenStream> {
    let span = Span::mixed_site();
    let own = class::read(&input.attrs, faults);
    let krate = own.krate.map_or_else(krate::default, ToTokens::into_token_stream);
    let this = &input.ident;
    let mut derived = Derived {
        krate,
        generics: &input.generics,
        bounds: Vec::new(),
        faults,
    };
    let arms = match &input.data {
        Data::Enum(data) => {
            if let Some((class, _)) = own.class {
                derived
                    .faults
                    .at(class, "`classify` goes on each variant of an enum, not on the enum");
            }
            variants(this, data, &mut derived)
        }
        Data::Struct(data) => {
            if not_on_fields(&data.fields, "struct", derived.faults) {
                return None;
            }
            match own.class {
                Some((at, class)) => arm(&this.to_token_stream(), &data.fields, &class, at, &mut derived),
                None if derived.faults.is_empty() => {
                    let message = format!(
                        "`{this}` has no class: write `#[classify(…)]` above it, with one of {}",
                        class::CLASSES
                    );
                    derived.faults.at(this.span(), message);
                    return None;
                }
                None => return None,
            }
        }
        Data::Union(data) => {
            derived.faults.at(
                data.union_token.span,
                "a union cannot be classified: nothing says which field holds",
            );
            return None;
        }
    };
    let Derived { krate, bounds, .. } = derived;
    // A reference is never empty, what it leads to may be.
    let matched = if arms.is_empty() {
        quote_spanned!(span=> *self)
    } else {
        quote_spanned!(span=> self)
    };
    let (generics, arguments, _) = input.generics.split_for_impl();
    let written = input.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let clause = written.chain(&bounds);
    Some(quote_spanned! {span=>
        #[automatically_derived]
        impl #generics #krate::Classify for #this #arguments where #(#clause,)* {
            fn classify(&self) -> #krate::Outcome {
                match #matched { #arms }
            }
        }
    })
}

fn variants(this: &Ident, data: &DataEnum, derived: &mut Derived<'_>) -> TokenStream {
    let mut arms = TokenStream::new();
    let mut unclassed = Vec::new();
    for variant in &data.variants {
        not_on_fields(&variant.fields, "variant", derived.faults);
        let mut faults = Faults::default();
        let own = class::read(&variant.attrs, &mut faults);
        if let Some((at, class)) = own.class {
            let name = &variant.ident;
            let path = quote_spanned!(Span::mixed_site()=> #this::#name);
            arms.extend(arm(&path, &variant.fields, &class, at, derived));
        } else if faults.is_empty() {
            unclassed.push(&variant.ident);
        }
        derived.faults.append(faults);
    }
    if let Some(first) = unclassed.first() {
        derived.faults.at(first.span(), missing(this, &unclassed));
    }
    arms
}

/// Passed over in silence, `#[classify(retry_after)]` on a field would lose the time that it means to give.
fn not_on_fields(fields: &Fields, owner: &str, faults: &mut Faults) -> bool {
    let mut found = false;
    for attribute in fields.iter().flat_map(|field| ours(&field.attrs)) {
        found = true;
        faults.over(
            attribute,
            format!("`classify` goes on the {owner}, not on a field; `throttled(retry_after = FIELD)` there names one"),
        );
    }
    found
}

fn missing(this: &Ident, variants: &[&Ident]) -> String {
    let names: Vec<String> = variants.iter().map(|name| format!("`{name}`")).collect();
    let have = if names.len() == 1 { "has" } else { "have" };
    format!(
        "{} of `{this}` {have} no class: write `#[classify(…)]` above each, with one of {}",
        names.join(", "),
        class::CLASSES
    )
}

/// What the arms need to know and add to.
struct Derived<'a> {
    krate: TokenStream,
    generics: &'a Generics,
    bounds: Vec<WherePredicate>,
    faults: &'a mut Faults,
}

/// One arm: the pattern takes what the class needs and no more.
fn arm(path: &TokenStream, fields: &Fields, class: &Class, at: Span, derived: &mut Derived<'_>) -> TokenStream {
    let Derived {
        krate,
        generics,
        bounds,
        faults,
    } = derived;
    let span = Span::mixed_site();
    let field = Ident::new("__resilience_field", span);
    match class {
        Class::Plain(outcome) => quote_spanned!(span=> #path { .. } => #krate::Outcome::#outcome,),
        Class::Kind(kind) => {
            quote_spanned!(span=> #path { .. } => #krate::Outcome::Failure(#krate::FailureKind::#kind),)
        }
        Class::Throttled(None) => {
            quote_spanned!(span=> #path { .. } => #krate::Outcome::Throttled { retry_after: ::core::option::Option::None },)
        }
        Class::Throttled(Some(member)) => {
            if !fields.members().any(|known| known == *member) {
                faults.at(member_span(member), no_field(fields, member));
            }
            let place = quote_spanned!(member_span(member).resolved_at(span)=> #krate::private::RetryAfter::retry_after(#field));
            quote_spanned!(span=> #path { #member: #field, .. } => #krate::Outcome::Throttled { retry_after: #place },)
        }
        Class::Transparent => {
            let mut members = fields.iter().zip(fields.members());
            let (Some((only, member)), None) = (members.next(), members.next()) else {
                faults.at(
                    at,
                    format!(
                        "`transparent` takes the class of the one field, and there are {}",
                        fields.len()
                    ),
                );
                return TokenStream::new();
            };
            let ty = &only.ty;
            if is_generic(ty, generics) {
                bounds.extend(syn::parse2::<WherePredicate>(
                    quote_spanned!(span=> #ty: #krate::Classify),
                ));
            }
            let place = span.located_at(
                ty.to_token_stream()
                    .into_iter()
                    .next()
                    .map_or(span, |token| token.span()),
            );
            quote_spanned!(place=> #path { #member: #field } => #krate::Classify::classify(#field),)
        }
        Class::With(path_of) => {
            let names: Vec<Ident> = (0..fields.len())
                .map(|at| format_ident!("__resilience_field_{at}", span = span))
                .collect();
            let members = fields.members();
            let place = span.located_at(path_of.ends().0);
            quote_spanned!(place=> #path { #(#members: #names),* } => #path_of(#(#names),*),)
        }
    }
}

fn no_field(fields: &Fields, member: &Member) -> String {
    let name = |member: &Member| match member {
        Member::Named(name) => format!("`{name}`"),
        Member::Unnamed(index) => format!("`{}`", index.index),
    };
    let known: Vec<String> = fields.members().map(|known| name(&known)).collect();
    let has = if known.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    };
    format!("there is no field {}; {has}", name(member))
}

fn member_span(member: &Member) -> Span {
    match member {
        Member::Named(name) => name.span(),
        Member::Unnamed(index) => index.span,
    }
}

/// Whether the type speaks of a parameter: any other is checked where it is used.
fn is_generic(ty: &Type, generics: &Generics) -> bool {
    generics
        .type_params()
        .any(|parameter| code::mentions(ty.to_token_stream(), &parameter.ident))
}

/// The attributes that are ours.
fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("classify"))
}

/// An error at a word.
fn at(word: &Ident, message: impl std::fmt::Display) -> Error {
    Error::new(word.span(), message)
}

#[cfg(test)]
mod tests;
