//! The attribute macros of `resilience-runtime`, which re-exports them: depend on that crate, not on this one.
//!
//! An attribute names a dependency and switches a layer on. It holds no number: every number stands in the policy file,
//! `resilience.toml`, which is read when the function is compiled. An edit of the file recompiles what read it.
//!
//! The order of the layers is fixed, in whatever order the attributes stand:
//!
//! ```text
//! fallback ( deadline ( bulkhead ( retry ( breaker ( timeout ( body ))))))
//! ```
//!
//! # What they stand on
//!
//! An `async fn`: free, a method with any kind of `self`, in an impl or as a default body in a trait, generic or not, or
//! what `#[async_trait]` makes of one. Foreign attributes such as `#[tracing::instrument]` may stand between and beside;
//! what they add is run once for each attempt, inside the layers.
//!
//! # The return type
//!
//! A `Result<T, E>` with `E: From<Rejection> + Classify`; with a chain that ends in `refuse`, `E: Classify` is enough.
//! `classify = path` on any one layer takes the place of `Classify`, and is the way for a function that does not return
//! a `Result`: its chain then ends in `value`.
//!
//! # Options of every layer
//!
//! - `"dep"`: the dependency, or `"dep.operation"`. One attribute of a function has to name it, the others may.
//! - `classify = path`: a `fn(&R) -> Outcome` for the return type `R`.
//! - `crate = path`: where the runtime is, if another crate re-exports it. A rename in `Cargo.toml` is found without.
//!
//! # Errors
//!
//! Every misuse is a compile error at the token it is about, with the way out; all of a function's are shown at once,
//! and the function itself stays known to its callers.

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

/// Stops calling a dependency that does not work, and bounds each attempt by the policy's `timeout`.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[breaker("payrail")]
/// #[fallback(none = "a payment has to be made or refused")]
/// async fn charge(&self, order: &Order) -> Result<Receipt, PayError> {
///     self.http.post(&self.url).json(order).send().await?.json().await.map_err(PayError::from)
/// }
/// ```
///
/// The dependency's breaker is one for all functions that name it. An attempt that it rejects never polls the body.
///
/// Options: `classify = path`, `crate = path`.
///
/// # Errors
///
/// It is a compile error if the policy file, or its `[dependency.….breaker]`, is missing, if the name is not in it, or
/// if the function has no `#[fallback]`.
#[proc_macro_attribute]
pub fn breaker(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("breaker", &args.into(), item.into()).into()
}

/// Bounds how many tasks one dependency can hold at a time.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[bulkhead("search", key = tenant)]
/// #[fallback(value = Vec::new())]
/// async fn search(&self, tenant: TenantId, words: &str) -> Result<Vec<Hit>, SearchError> { /* … */ }
/// ```
///
/// A call keeps its slot until it ends, the pauses between its attempts included.
///
/// Options: `key = EXPR` counts slots per key too, `per_key` of them, from references to the arguments, `EXPR: Hash`;
/// `classify = path`, `crate = path`.
///
/// # Errors
///
/// It is a compile error if the policy lacks `[dependency.….bulkhead]`, or `per_key` where there is a `key`.
#[proc_macro_attribute]
pub fn bulkhead(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("bulkhead", &args.into(), item.into()).into()
}

/// Runs the body again after a failure, within the policy's attempts and budget.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[breaker("search")]
/// #[retry]
/// #[fallback(stale(key = words))]
/// async fn search(&self, words: String) -> Result<Hits, SearchError> { /* … */ }
/// ```
///
/// References are reborrowed for each attempt; an argument by value is cloned for every attempt that may be followed by
/// another. Guard only what may safely be done twice.
///
/// Options: `classify = path`, `crate = path`.
///
/// # Errors
///
/// It is a compile error if the policy lacks `[dependency.….retry]`, or if an argument that the body takes by value
/// cannot be cloned.
#[proc_macro_attribute]
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("retry", &args.into(), item.into()).into()
}

/// Bounds each attempt by the policy's `timeout`, without a breaker. `#[breaker]` brings it along.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[timeout("redis")]
/// #[fallback(from_database)]
/// async fn profile(&self, id: UserId) -> Result<Profile, StoreError> { /* … */ }
/// ```
///
/// The body of an attempt that is cut short is dropped where it stands.
///
/// Options: `classify = path`, `crate = path`.
///
/// # Errors
///
/// It is a compile error if the dependency has no `timeout` in the policy.
#[proc_macro_attribute]
pub fn timeout(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("timeout", &args.into(), item.into()).into()
}

/// Says what a caller gets when the call is rejected or fails. A guarded function has at least one.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[breaker("prices")]
/// #[fallback(stale(key = item))]
/// #[fallback(Self::list_price)]
/// #[fallback(value = Price::unknown(item))]
/// async fn price(&self, item: ItemId) -> Result<Price, PriceError> { /* … */ }
/// ```
///
/// Several are tried in the order written, until one answers:
///
/// | form | gives |
/// |---|---|
/// | `value = EXPR` | `EXPR` as the success; the arguments it names are in scope by reference |
/// | `path` | `path(same arguments…).await`; `Self::path` gets `self` first |
/// | `with = path` | the same with a last argument `Failure<E>` |
/// | `path` or `with = path`, `one_per = EXPR` | one run per key at a time, whose answer the others get too |
/// | `stale(key = EXPR)`, `stale(shared)` | the last good answer of this function for that key |
/// | `refuse = path` | `path(Rejection) -> E` as the error of a rejected call |
/// | `none = "reason"` | the call's own error; the reason is kept for the docs and for `resilience audit` |
///
/// An argument by value that a form needs is cloned only where the body could have used it up.
///
/// # Errors
///
/// It is a compile error if a form stands behind one that always answers (`value`, `refuse`, `none`), if a function is
/// its own fallback, or if the policy says `fail = "closed"` and the form could make up a success. A path of the wrong
/// shape is rustc's own error, at the path.
#[proc_macro_attribute]
pub fn fallback(args: TokenStream, item: TokenStream) -> TokenStream {
    relay::relay("fallback", &args.into(), item.into()).into()
}

/// Says what an error means where it is declared: implements `Classify`.
///
/// ```ignore (the runtime crate has the examples that run)
/// #[derive(Debug, Classify)]
/// enum PayError {
///     #[classify(business)]
///     Declined { code: String },
///     #[classify(throttled(retry_after = after))]
///     TooMany { after: Option<Duration> },
///     #[classify(ignored)]
///     Rejected(Rejection),
///     #[classify(transparent)]
///     Http(reqwest::Error),
///     #[classify(with = by_code)]
///     Code(u16),
/// }
/// ```
///
/// Each variant of an enum, or the struct, has one class: `business`, `timeout`, `connect`, `server`, `protocol`,
/// `other`, `ignored`, `throttled`, `throttled(retry_after = FIELD)` with the name or index of a `Duration` or
/// `Option<Duration>`, `transparent` for the class of its one field, or `with = path` for a `fn(&fields…) -> Outcome`.
/// `#[classify(crate = path)]` on the type says where the runtime is.
///
/// # Errors
///
/// It is a compile error if a variant has no class; the message lists all of them.
#[proc_macro_derive(Classify, attributes(classify))]
pub fn derive_classify(input: TokenStream) -> TokenStream {
    classify::derive(input.into()).into()
}

/// Written by the other attributes, never by people: it sees all of them, and weaves the function.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __weave(entries: TokenStream, item: TokenStream) -> TokenStream {
    let item = relay::flatten(item.into());
    match check::check(entries.into(), &item, policy::Source::find) {
        Ok(guarded) => expand::expand(&guarded),
        Err(check::Refused::Function(faults)) => faults.inside(&item),
        Err(check::Refused::Other(faults)) => faults.beside(&item),
    }
    .into()
}
