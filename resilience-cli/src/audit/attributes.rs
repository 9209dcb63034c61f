//! The attributes of one function: which layers, for which dependency, with which fallbacks.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Meta, Token};

/// The attributes that switch a layer on, in the order of the layers.
pub(crate) const LAYERS: [&str; 4] = ["bulkhead", "retry", "breaker", "timeout"];
const FALLBACK: &str = "fallback";

/// What the attributes of a function say.
#[derive(Clone, Default)]
pub(crate) struct Guard {
    pub(crate) dependency: Option<String>,
    /// In the order of the layers, whatever the order written.
    pub(crate) layers: Vec<&'static str>,
    pub(crate) fallbacks: Vec<Form>,
    /// It is there under a condition only: `feature = "guards"` of a `cfg_attr`.
    pub(crate) condition: Option<String>,
}

/// One fallback.
#[derive(Clone)]
pub(crate) struct Form {
    /// `value path with stale refuse none`
    pub(crate) kind: &'static str,
    /// The path, the expression, the key or the reason, as written.
    pub(crate) text: String,
    pub(crate) one_per: Option<String>,
    pub(crate) code: Option<Expr>,
}

/// An attribute with the conditions of `cfg_attr` taken off.
pub(crate) struct Plain {
    pub(crate) path: syn::Path,
    pub(crate) args: TokenStream,
    condition: Option<String>,
}

/// The attributes, those inside `cfg_attr` included.
pub(crate) fn plain(attributes: &[Attribute]) -> Vec<Plain> {
    let mut found = Vec::new();
    for attribute in attributes {
        unwrap(&attribute.meta, None, &mut found);
    }
    found
}

/// One attribute, read from tokens.
pub(crate) fn plain_of(meta: &Meta) -> Vec<Plain> {
    let mut found = Vec::new();
    unwrap(meta, None, &mut found);
    found
}

fn unwrap(meta: &Meta, condition: Option<&str>, found: &mut Vec<Plain>) {
    let args = match meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    if !meta.path().is_ident("cfg_attr") {
        found.push(Plain {
            path: meta.path().clone(),
            args,
            condition: condition.map(str::to_owned),
        });
        return;
    }
    let Ok(parts) = syn::parse::Parser::parse2(Punctuated::<Meta, Token![,]>::parse_terminated, args) else {
        return;
    };
    let mut parts = parts.into_iter();
    let Some(predicate) = parts.next() else { return };
    let predicate = text(&predicate);
    let both = condition.map_or(predicate.clone(), |outer| format!("{outer}, {predicate}"));
    for part in parts {
        unwrap(&part, Some(&both), found);
    }
}

/// What guards a function, if anything does. `kind_of` says which of our attributes a path is.
pub(crate) fn guard(attributes: &[Plain], kind_of: impl Fn(&syn::Path) -> Option<String>) -> Option<Guard> {
    let mut guard = Guard::default();
    let mut layers = Vec::new();
    for attribute in attributes {
        let Some(kind) = kind_of(&attribute.path) else { continue };
        if kind == FALLBACK {
            guard.fallbacks.extend(form(attribute.args.clone()));
            continue;
        }
        let name = dependency(&attribute.args);
        // `#[timeout(100)]` is some other crate's.
        if name.is_none() && matches!(first(&attribute.args), Some(TokenTree::Literal(_))) {
            continue;
        }
        guard.dependency = guard.dependency.or(name);
        guard.condition = guard.condition.or_else(|| attribute.condition.clone());
        layers.push(kind);
    }
    guard.layers = LAYERS
        .into_iter()
        .filter(|layer| layers.iter().any(|found| found == layer))
        .collect();
    // Ours name the dependency once at least; what does not is an attribute of the same name.
    guard.dependency.is_some().then_some(guard)
}

/// The name in quotes, wherever it stands among the arguments.
fn dependency(args: &TokenStream) -> Option<String> {
    let mut begins = true;
    for token in args.clone() {
        match token {
            TokenTree::Literal(literal) if begins => {
                if let Ok(name) = syn::parse2::<syn::LitStr>(literal.to_token_stream()) {
                    return Some(name.value());
                }
            }
            // A fragment of a `macro_rules` macro, handed on.
            TokenTree::Group(group) if begins && group.delimiter() == proc_macro2::Delimiter::None => {
                return dependency(&group.stream());
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                begins = true;
                continue;
            }
            _ => {}
        }
        begins = false;
    }
    None
}

fn first(args: &TokenStream) -> Option<TokenTree> {
    args.clone().into_iter().next()
}

/// One `#[fallback(…)]`.
fn form(args: TokenStream) -> Option<Form> {
    let mut one_per = None;
    let mut found: Option<(&'static str, Expr)> = None;
    let read = syn::parse::Parser::parse2(Punctuated::<Expr, Token![,]>::parse_terminated, args).ok()?;
    for argument in read {
        match argument {
            Expr::Assign(assign) => match text(&*assign.left).as_str() {
                "one_per" => one_per = Some(text(&*assign.right)),
                "value" => found = Some(("value", *assign.right)),
                "with" => found = Some(("with", *assign.right)),
                "refuse" => found = Some(("refuse", *assign.right)),
                "none" => found = Some(("none", *assign.right)),
                _ => {}
            },
            Expr::Call(call) if text(&*call.func) == "stale" => {
                found = call.args.into_iter().next().map(|key| ("stale", key)).or(found);
            }
            Expr::Path(path) if path.path.is_ident("stale") => found = Some(("stale", Expr::Path(path))),
            path @ Expr::Path(_) => found = Some(("path", path)),
            _ => {}
        }
    }
    let (kind, code) = found?;
    let text = match (&code, kind) {
        (
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(reason),
                ..
            }),
            "none",
        ) => reason.value(),
        (Expr::Path(path), "stale") if path.path.is_ident("stale") => String::new(),
        _ => text(&code),
    };
    Some(Form {
        kind,
        text,
        one_per,
        code: Some(code),
    })
}

/// Code as it is written, on one line.
pub(crate) fn text(code: &(impl quote::ToTokens + ?Sized)) -> String {
    let tokens = code.to_token_stream();
    let written = tokens.span().source_text().unwrap_or_else(|| tokens.to_string());
    written.split_whitespace().collect::<Vec<_>>().join(" ")
}
