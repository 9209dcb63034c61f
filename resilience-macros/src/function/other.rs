//! Items that are no functions.

use proc_macro2::{Ident, Span};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;

/// What the item is if no function: its keyword, and its name for messages.
pub(super) fn keyword(input: ParseStream<'_>) -> Option<(Span, &'static str)> {
    let ahead = input.fork();
    let word = ahead.call(Ident::parse_any).ok()?;
    let next = |text: &str| ahead.fork().call(Ident::parse_any).is_ok_and(|word| word == text);
    let found = match word.to_string().as_str() {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "trait" => "a trait",
        "impl" => "an impl block: put it on the methods",
        "mod" => "a module",
        "static" => "a static",
        "type" => "a type alias",
        "use" => "an import",
        "let" => "a statement",
        "const" if !next("fn") && !next("async") && !next("unsafe") && !next("extern") => "a constant",
        "unsafe" if next("impl") => "an impl block: put it on the methods",
        "unsafe" | "auto" if next("trait") => "a trait",
        "extern" if next("crate") => "an import",
        _ if ahead.peek(Token![!]) => "a macro call",
        _ => return None,
    };
    Some((word.span(), found))
}
