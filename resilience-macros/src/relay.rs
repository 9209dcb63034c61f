//! Each attribute gives the item back untouched and adds its own entry to one hidden attribute, the last of the item.
//!
//! ```text
//! #[breaker("payrail")] #[instrument] #[fallback(spare)] async fn f() {}
//!                       #[instrument] #[fallback(spare)] #[::resilience_runtime::__weave(breaker("payrail"))] async fn f() {}
//!                                     #[fallback(spare)] #[::resilience_runtime::__weave(breaker("payrail"))] async fn f() {}
//!                                                        #[::resilience_runtime::__weave(breaker("payrail"), fallback(spare))] async fn f() {}
//! ```
//!
//! The hidden attribute is the last to run, so it sees every entry, whatever their order, import name or path. No
//! attribute is looked for by its name and none is removed, so no import becomes unused.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

use crate::krate;

/// The name of the hidden attribute.
const WEAVE: &str = "__weave";

/// Adds `kind(args)` to the hidden attribute of `item`.
pub(crate) fn relay(kind: &str, args: &TokenStream, item: TokenStream) -> TokenStream {
    // The span of the attribute itself travels in the name, for the errors that are about the whole attribute.
    let kind = Ident::new(kind, Span::call_site());
    let entry = quote!(#kind(#args));

    let mut item: Vec<TokenTree> = flatten(item).into_iter().collect();
    let attributes = attributes(&item);
    if let Some(index) = attributes.iter().copied().find(|index| is_weave(&item[*index])) {
        if let TokenTree::Group(brackets) = &item[index] {
            item[index] = TokenTree::Group(with_entry(brackets, &entry));
        }
        return item.into_iter().collect();
    }

    let path = krate::written(args_of(&item, &attributes, &entry)).unwrap_or_else(krate::default);
    let weave = Ident::new(WEAVE, Span::call_site());
    let attribute = quote!(#[#path::#weave(#entry)]);
    let rest = item.split_off(attributes.last().map_or(0, |last| last + 1));
    item.into_iter().chain(attribute).chain(rest).collect()
}

/// An item that came through a `macro_rules` fragment arrives in one invisible group.
pub(crate) fn flatten(item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => flatten(group.stream()),
        _ => item,
    }
}

/// Where the bracket groups of the leading attributes stand.
fn attributes(item: &[TokenTree]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let (Some(TokenTree::Punct(pound)), Some(TokenTree::Group(group))) = (item.get(at), item.get(at + 1)) {
        if pound.as_char() != '#' || group.delimiter() != Delimiter::Bracket {
            break;
        }
        found.push(at + 1);
        at += 2;
    }
    found
}

fn is_weave(attribute: &TokenTree) -> bool {
    let TokenTree::Group(brackets) = attribute else {
        return false;
    };
    let path = brackets
        .stream()
        .into_iter()
        .take_while(|token| !matches!(token, TokenTree::Group(_)));
    path.last()
        .is_some_and(|token| matches!(token, TokenTree::Ident(name) if name == WEAVE))
}

/// `[path::__weave(a)]` and `b` give `[path::__weave(a, b)]`.
fn with_entry(brackets: &Group, entry: &TokenStream) -> Group {
    let tokens = brackets.stream().into_iter().map(|token| match token {
        TokenTree::Group(entries) if entries.delimiter() == Delimiter::Parenthesis => {
            let before = entries.stream();
            respanned(
                Group::new(Delimiter::Parenthesis, quote!(#before, #entry)),
                entries.span(),
            )
        }
        other => other,
    });
    let mut group = Group::new(Delimiter::Bracket, tokens.collect());
    group.set_span(brackets.span());
    group
}

fn respanned(mut group: Group, span: Span) -> TokenTree {
    group.set_span(span);
    TokenTree::Group(group)
}

/// The arguments of this attribute and of all that follow it: `crate = path` may stand in any of them, and the hidden
/// attribute has to be found by the first.
fn args_of<'a>(
    item: &'a [TokenTree],
    attributes: &'a [usize],
    entry: &TokenStream,
) -> impl Iterator<Item = TokenStream> + use<'a> {
    let later = attributes.iter().filter_map(|index| match &item[*index] {
        TokenTree::Group(brackets) => Some(brackets.stream()),
        _ => None,
    });
    std::iter::once(entry.clone()).chain(later).filter_map(|attribute| {
        attribute.into_iter().find_map(|token| match token {
            TokenTree::Group(args) if args.delimiter() == Delimiter::Parenthesis => Some(args.stream()),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> TokenStream {
        text.parse().expect("the test's own tokens")
    }

    fn relayed(kind: &str, args: &str, item: &str) -> String {
        relay(kind, &tokens(args), tokens(item)).to_string()
    }

    #[test]
    fn the_first_adds_the_hidden_attribute_behind_all_others() {
        let relayed = relayed(
            "breaker",
            "\"payrail\"",
            "#[doc = \"d\"] #[fallback(spare)] pub async fn f() {}",
        );
        let expected = "#[doc = \"d\"] #[fallback(spare)] \
                        #[::resilience_runtime::__weave(breaker(\"payrail\"))] pub async fn f() {}";
        assert_eq!(relayed, tokens(expected).to_string());
    }

    #[test]
    fn the_others_add_their_entry_to_it() {
        let item = "#[must_use] #[rr::__weave(breaker(\"payrail\"))] async fn f() {}";
        let expected = "#[must_use] #[rr::__weave(breaker(\"payrail\"), fallback(none = \"x\"))] async fn f() {}";
        assert_eq!(relayed("fallback", "none = \"x\"", item), tokens(expected).to_string());
    }

    #[test]
    fn the_path_of_the_runtime_may_stand_in_a_later_attribute() {
        let relayed = relayed(
            "fallback",
            "spare",
            "#[guard(\"payrail\", crate = facade::rt)] async fn f() {}",
        );
        assert!(
            relayed.contains(&tokens("#[facade::rt::__weave(fallback(spare))]").to_string()),
            "{relayed}"
        );
    }
}
