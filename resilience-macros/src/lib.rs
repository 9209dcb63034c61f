//! The attribute macros of `resilience-runtime`.
use proc_macro::TokenStream;

mod args;
mod check;
mod classify;
mod code;
mod expand;
mod fault;
mod function;
mod gather;
mod krate;
mod policy;
mod relay;

/// Breaker.
#[proc_macro_attribute]
pub fn breaker(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("breaker", args.into(), item.into()).into()
}

/// Bulkhead.
#[proc_macro_attribute]
pub fn bulkhead(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("bulkhead", args.into(), item.into()).into()
}

/// Retry.
#[proc_macro_attribute]
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("retry", args.into(), item.into()).into()
}

/// Timeout.
#[proc_macro_attribute]
pub fn timeout(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("timeout", args.into(), item.into()).into()
}

/// Fallback.
#[proc_macro_attribute]
pub fn fallback(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("fallback", args.into(), item.into()).into()
}

/// Classify.
#[proc_macro_derive(Classify, attributes(classify))]
pub fn derive_classify(input: TokenStream) -> TokenStream {
    classify::derive(input.into()).into()
}

#[doc(hidden)]
#[proc_macro_attribute]
pub fn __weave(entries: TokenStream, item: TokenStream) -> TokenStream {
    let item = relay::flatten(item.into());
    match check::check(entries.into(), &item, policy::Source::find) {
        Ok(guarded) => expand::expand(&guarded),
        Err(faults) => faults.beside(&item),
    }
    .into()
}
