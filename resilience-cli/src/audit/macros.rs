//! What stands inside macros, as far as tokens tell.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::visit::Visit as _;
use syn::{Expr, Macro, Meta};

use super::attributes::{LAYERS, Plain, guard, plain_of};
use super::gather::Walk;
use super::index::{ByHand, Function};

/// The rules of a `macro_rules` macro: the functions that they make.
pub(super) fn rules(walk: &mut Walk<'_>, name: &str, tokens: &TokenStream) {
    scan(walk, Some(name), tokens.clone());
}

/// A macro that is called: the functions among its tokens, and the texts that it is given.
pub(super) fn invocation(walk: &mut Walk<'_>, mac: &Macro) {
    if let Some(name) = mac.path.segments.last() {
        texts(walk, &name.ident.to_string(), &mac.tokens);
    }
    let has_function = mac.tokens.to_string().contains("fn ");
    match syn::parse2::<syn::File>(mac.tokens.clone()) {
        Ok(file) if has_function => file.items.iter().for_each(|item| walk.visit_item(item)),
        Err(_) if has_function => scan(walk, None, mac.tokens.clone()),
        _ => {}
    }
}

/// Attributes, and the name behind the next `fn`.
fn scan(walk: &mut Walk<'_>, rules: Option<&str>, tokens: TokenStream) {
    let mut attributes: Vec<Plain> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.peek().filter(|next| is_bracket(next)) {
                    attributes.extend(
                        syn::parse2::<Meta>(group.stream())
                            .map(|meta| plain_of(&meta))
                            .unwrap_or_default(),
                    );
                    tokens.next();
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => attributes.clear(),
            TokenTree::Ident(word) if word == "fn" => {
                let name = match tokens.next() {
                    Some(TokenTree::Ident(name)) => Some((name.to_string(), name.span())),
                    Some(TokenTree::Punct(punct)) if punct.as_char() == '$' => {
                        tokens.next().map(|name| (format!("${name}"), name.span()))
                    }
                    _ => None,
                };
                if let Some((name, span)) = name {
                    function(walk, rules, name, span, &attributes);
                }
                attributes.clear();
            }
            TokenTree::Group(group) => {
                scan(walk, rules, group.stream());
                if group.delimiter() == Delimiter::Brace {
                    attributes.clear();
                }
            }
            _ => {}
        }
    }
}

fn is_bracket(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

fn function(walk: &mut Walk<'_>, rules: Option<&str>, name: String, span: Span, attributes: &[Plain]) {
    let guard = guard(attributes, |path| walk.kind_of(path));
    let place = walk.place(span);
    if guard.is_none() {
        let layer = |plain: &&Plain| {
            walk.kind_of(&plain.path)
                .is_some_and(|kind| LAYERS.contains(&kind.as_str()))
        };
        let handed_on = |plain: &Plain| plain.args.to_string().starts_with('$');
        if let Some(rules) = rules.filter(|_| attributes.iter().filter(layer).any(handed_on)) {
            walk.index.naming_macros.insert(rules.to_owned());
        }
        return;
    }
    walk.index.add(Function {
        name,
        owner: None,
        of_trait: None,
        place,
        module: walk.module.clone(),
        package: walk.standing.package,
        guard,
        code: None,
        unguarded_because: None,
        by_macro: rules.map(str::to_owned),
    });
}

/// Texts may be names of dependencies, if the macro's rules hand them on to an attribute.
fn texts(walk: &mut Walk<'_>, name: &str, tokens: &TokenStream) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => texts(walk, name, &group.stream()),
            TokenTree::Literal(literal) => {
                let span = literal.span();
                if let Ok(text) = syn::parse2::<syn::LitStr>(TokenTree::Literal(literal).into()) {
                    let by_hand = ByHand {
                        dependency: text.value(),
                        how: format!("`{name}!`"),
                        layer: false,
                        place: walk.place(span),
                        package: walk.standing.package,
                    };
                    walk.index.handed.push((name.to_owned(), by_hand));
                }
            }
            _ => {}
        }
    }
}

/// The expressions among a macro's arguments: of `join!`, of `println!`, of the arms of `select!`.
pub(super) fn expressions(tokens: &TokenStream) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut part = Vec::new();
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let ends = match &token {
            TokenTree::Punct(punct) => match punct.as_char() {
                ',' | ';' => true,
                // An arrow, which is two.
                '=' => matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '>'),
                '>' => part.is_empty(),
                _ => false,
            },
            _ => false,
        };
        if !ends {
            part.push(token);
        } else if let Ok(expression) = syn::parse2(part.drain(..).collect()) {
            found.push(expression);
        }
    }
    found.extend(syn::parse2::<Expr>(part.into_iter().collect()));
    found
}
