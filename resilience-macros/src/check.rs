//! What was gathered, held against the policy: is it allowed? A [`Guarded`] cannot be wrong.

use proc_macro2::TokenStream;
use resilience_policy::reference::Id;
use resilience_policy::{Dependency, Fail};
use syn::LitStr;

use crate::args::{Form, Given, Kind, Layer, StaleKey};
use crate::code::Code;
use crate::fault::Faults;
use crate::function::{Function, Item};
use crate::gather::Gathered;
use crate::krate;
use crate::policy::Source;

mod chain;
#[cfg(test)]
mod tests;

/// A function whose attributes fit it, each other and the policy.
pub(crate) struct Guarded {
    pub(crate) function: Function,
    pub(crate) dependency: String,
    pub(crate) layers: Vec<Kind>,
    /// `#[bulkhead(key = …)]`
    pub(crate) key: Option<Code>,
    pub(crate) classify: Option<Code>,
    /// Never empty; the last always answers, or is a call or a stale answer.
    pub(crate) forms: Vec<Form>,
    /// The path of the runtime.
    pub(crate) krate: TokenStream,
    pub(crate) source: Source,
}

/// Why an item is given back as it came.
pub(crate) enum Refused {
    /// Its attributes are wrong.
    Function(Faults),
    /// Its attributes have no business there.
    Other(Faults),
}

impl From<Faults> for Refused {
    fn from(faults: Faults) -> Self {
        Self::Function(faults)
    }
}

/// Checks everything that can be checked without types.
///
/// # Errors
/// All faults of the item's attributes.
pub(crate) fn check(
    entries: TokenStream,
    item: &TokenStream,
    find: impl FnOnce() -> Result<Source, String>,
) -> Result<Guarded, Refused> {
    let mut faults = Faults::default();
    let Some(gathered) = Gathered::read(entries, item, &mut faults) else {
        return Err(Refused::Other(faults));
    };
    let Gathered {
        first,
        layers,
        forms,
        has_fallback,
        item,
    } = gathered;
    let function = match item {
        Item::Function(function) => function,
        Item::Other(span, why) => {
            faults.at(span, why);
            return Err(Refused::Other(faults));
        }
    };
    let legible = faults.is_empty();

    twice(&layers, &mut faults);
    let name = dependency(&layers, &mut faults);
    if layers.is_empty() {
        let message = "`#[fallback]` needs something to fall back from: add `#[breaker(\"…\")]`, or another layer";
        faults.at(first.1, message);
    } else if name.is_none() && legible {
        let message = format!(
            "which dependency does `{}` call? Name it once, as in `#[{}(\"payrail\")]`",
            function.signature.ident,
            layers[0].kind.name()
        );
        faults.at(layers[0].span, message);
    }
    if !has_fallback {
        faults.at(first.1, no_fallback(&function, name.map(LitStr::value).as_deref()));
    }
    let retries = layers.iter().any(|layer| layer.kind == Kind::Retry);
    chain::check(&function, &forms, retries, &mut faults);

    let source = match find() {
        Ok(source) => source,
        Err(why) => {
            faults.at(name.map_or(first.1, LitStr::span), why);
            return Err(faults.into());
        }
    };
    if let Some(name) = name {
        match source.policy.dependency(&name.value()) {
            Some(dependency) => {
                tables(&layers, dependency, &source, &mut faults);
                chain::decide(&forms, dependency, &source, &mut faults);
            }
            None => faults.at(name.span(), unknown(&name.value(), &source)),
        }
    }
    let dependency = match name {
        Some(name) if faults.is_empty() => name.value(),
        _ => return Err(faults.into()),
    };
    let kinds = layers.iter().map(|layer| layer.kind).collect();
    let (mut key, mut classify, mut path) = (None, None, None);
    for layer in layers {
        key = key.or(layer.key);
        classify = classify.or(layer.classify);
        path = path.or(layer.krate);
    }
    Ok(Guarded {
        function: *function,
        dependency,
        layers: kinds,
        key: key.map(|key: Given| key.code),
        classify: classify.map(|classify: Given| classify.code),
        forms,
        krate: path.map_or_else(krate::default, |path: Given| {
            quote::ToTokens::into_token_stream(path.code)
        }),
        source,
    })
}

/// An attribute, or an option of the whole function, that is given a second time.
fn twice(layers: &[Layer], faults: &mut Faults) {
    for (at, layer) in layers.iter().enumerate() {
        let before = &layers[..at];
        if before.iter().any(|other| other.kind == layer.kind) {
            faults.at(
                layer.span,
                format!("`#[{}]` stands here twice: remove one", layer.kind.name()),
            );
        }
        let options = [
            (&layer.classify, before.iter().any(|other| other.classify.is_some())),
            (&layer.krate, before.iter().any(|other| other.krate.is_some())),
        ];
        for (option, taken) in options {
            if let (Some(given), true) = (option, taken) {
                faults.at(
                    given.word.span(),
                    format!("`{}` is given already: once is enough for the function", given.word),
                );
            }
        }
    }
}

/// The one name, and a fault at each that differs.
fn dependency<'l>(layers: &'l [Layer], faults: &mut Faults) -> Option<&'l LitStr> {
    let mut names = layers.iter().filter_map(|layer| layer.dependency.as_ref());
    let first = names.next()?;
    for other in names.filter(|other| other.value() != first.value()) {
        let message = format!(
            "one dependency for one function: it is `{}` already; leave this name out, or guard two functions",
            first.value()
        );
        faults.at(other.span(), message);
    }
    Some(first)
}

fn no_fallback(function: &Function, dependency: Option<&str>) -> String {
    let calls = dependency.map_or(String::new(), |name| format!(" calls `{name}` and"));
    format!(
        "`{}`{calls} has no fallback: add `#[fallback(path)]` with a function that answers instead, \
         or `#[fallback(none = \"reason\")]` where nothing can",
        function.signature.ident
    )
}

fn unknown(name: &str, source: &Source) -> String {
    /// More names than this say less.
    const SHOWN: usize = 8;
    let file = source.file();
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("`{name}` is no name: an attribute names a dependency, and its numbers stand in {file}");
    }
    let nearest = source
        .policy
        .nearest(name)
        .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    let known: Vec<&str> = source
        .policy
        .dependencies()
        .map(|dependency| dependency.name.as_str())
        .collect();
    if known.is_empty() {
        return format!("`{name}` is not in {file}, which has no dependency yet: add `[dependency.{name}]`");
    }
    let shown: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > SHOWN {
        format!(" and {} more", known.len() - SHOWN)
    } else {
        String::new()
    };
    format!("`{name}` is not in {file}{nearest} (it has {}{more})", shown.join(", "))
}

/// Each layer needs its table, or its key.
fn tables(layers: &[Layer], dependency: &Dependency, source: &Source, faults: &mut Faults) {
    for layer in layers {
        let (there, what, needs) = match layer.kind {
            Kind::Breaker => (dependency.breaker.is_some(), "breaker", ", which may be empty"),
            Kind::Bulkhead => (dependency.bulkhead.is_some(), "bulkhead", " with `max_concurrent`"),
            Kind::Retry => (dependency.retry.is_some(), "retry", ", which may be empty"),
            Kind::Timeout => (dependency.timeout.is_some(), "timeout", ""),
            Kind::Fallback => continue,
        };
        let header = header(dependency);
        let place = format!("{}:{}", source.file(), dependency.line);
        if !there && layer.kind == Kind::Timeout {
            let message = format!(
                "`{}` has no `timeout` ({place}): add `timeout = \"…\"` to `[{header}]`",
                dependency.name
            );
            faults.at(layer.span, message);
        } else if !there {
            let message = format!(
                "`{}` has no `{what}` table ({place}): add `[{header}.{what}]`{needs}",
                dependency.name
            );
            faults.at(layer.span, message);
        }
        let per_key = dependency
            .bulkhead
            .as_ref()
            .is_none_or(|bulkhead| bulkhead.per_key.is_some());
        if let (Some(key), false) = (&layer.key, per_key) {
            let message = format!(
                "`{}` has no slots per key ({place}): add `per_key = …` to `[{header}.bulkhead]`, or leave `key` out",
                dependency.name
            );
            faults.at(key.word.span(), message);
        }
    }
}

/// `dependency.payrail`, `dependency.payrail.operation.refund`.
fn header(dependency: &Dependency) -> String {
    match &dependency.parent {
        Some(parent) => {
            let operation = dependency
                .name
                .strip_prefix(parent)
                .map_or("", |rest| rest.trim_start_matches('.'));
            format!("dependency.{parent}.operation.{operation}")
        }
        None => format!("dependency.{}", dependency.name),
    }
}

/// `file:line` of the decision.
fn decided(dependency: &Dependency, source: &Source) -> String {
    let fail = dependency.effective(Id::Fail);
    let line = fail.as_ref().and_then(|value| value.line).unwrap_or(dependency.line);
    let file = fail
        .and_then(|value| value.file)
        .map_or_else(|| source.file(), |file| file.as_ref().into());
    format!("{file}:{line}")
}

fn is_closed(dependency: &Dependency) -> bool {
    dependency.fail == Fail::Closed
}

/// Whether a stale form has to say what its answer depends on.
fn lacks_key(function: &Function, key: &StaleKey) -> bool {
    matches!(key, StaleKey::Unsaid) && (function.receiver.is_some() || !function.parameters.is_empty())
}
