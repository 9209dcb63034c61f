//! Pieces of the user's source: kept as tokens, exactly as written.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};

/// Source that was read once to find its end and is passed on as the tokens it is made of: what a `macro_rules`
/// fragment groups stays grouped, and every span is the user's.
#[derive(Debug, Clone)]
pub(crate) struct Code(TokenStream);

impl Code {
    /// Takes what `T` takes.
    pub(crate) fn parse<T: Parse>(input: ParseStream<'_>) -> syn::Result<Self> {
        Self::parse_with(input, T::parse).map(|(_, code)| code)
    }

    /// Takes what `reader` takes, and keeps both its result and the tokens.
    pub(crate) fn parse_with<T>(
        input: ParseStream<'_>,
        reader: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
    ) -> syn::Result<(T, Self)> {
        let mut at = input.cursor();
        let value = reader(input)?;
        let end = input.cursor();
        let mut tokens = TokenStream::new();
        while at != end {
            let Some((token, next)) = at.token_tree() else { break };
            tokens.extend([regrouped(token)]);
            at = next;
        }
        Ok((value, Self(tokens)))
    }

    /// Where it begins and where it ends. A diagnostic that starts at the one and ends at the other covers it.
    pub(crate) fn ends(&self) -> (Span, Span) {
        let mut tokens = flat(self.0.clone());
        let first = tokens.first().map_or_else(Span::call_site, TokenTree::span);
        let last = tokens.pop().map_or(first, |token| token.span());
        (first, last)
    }

    /// Whether the code uses this name; `text` of a format string counts.
    pub(crate) fn mentions(&self, name: &Ident) -> bool {
        mentions(self.0.clone(), name)
    }

    /// The code as a line of text, without the blanks that printing puts between tokens of a path.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for word in self.0.to_string().split_whitespace() {
            let apart = |char: char| char.is_alphanumeric() || char == '_';
            if text.ends_with(apart) && word.starts_with(apart)
                || text.ends_with(',')
                || word == "as"
                || text.ends_with("as")
            {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }

    /// A reference to its value, shown where it stands: what is asked of the value is asked there.
    pub(crate) fn borrowed(&self) -> TokenStream {
        let (first, last) = self.ends();
        let and = Punct::new('&', Spacing::Alone);
        let mut and = TokenTree::Punct(and);
        and.set_span(Span::mixed_site().located_at(first));
        let mut value = Group::new(Delimiter::Parenthesis, self.0.clone());
        value.set_span(Span::mixed_site().located_at(last));
        [and, TokenTree::Group(value)].into_iter().collect()
    }

    /// Its names, if it is nothing but names with `::` between them.
    pub(crate) fn segments(&self) -> Option<Vec<String>> {
        let mut segments = Vec::new();
        for token in flat(self.0.clone()) {
            match token {
                TokenTree::Ident(name) => segments.push(name.unraw().to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => {}
                _ => return None,
            }
        }
        Some(segments)
    }

    /// Whether it begins with `Self::`.
    pub(crate) fn begins_with_self_type(&self) -> bool {
        let tokens = flat(self.0.clone());
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string() == text);
        is(0, "Self") && is(1, ":")
    }
}

impl ToTokens for Code {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.clone());
    }
}

/// Whether `tokens` use this name.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    Mention::of(name).is_in(tokens)
}

struct Mention {
    name: String,
    /// How a format string names it.
    inline: String,
}

impl Mention {
    fn of(name: &Ident) -> Self {
        let name = name.unraw().to_string();
        Self {
            inline: format!("{{{name}"),
            name,
        }
    }

    fn is_in(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => self.is_in(group.stream()),
            TokenTree::Ident(ident) => ident == self.name || ident.unraw() == self.name,
            TokenTree::Literal(literal) => self.is_inline(&literal.to_string()),
            TokenTree::Punct(_) => false,
        })
    }

    fn is_inline(&self, literal: &str) -> bool {
        literal.match_indices(&self.inline).any(|(at, found)| {
            !literal[at + found.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    }
}

/// The tokens with the invisible groups of `macro_rules` fragments taken apart.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let mut out = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => out.extend(flat(group.stream())),
            other => out.push(other),
        }
    }
    out
}

/// An invisible group that comes out of a macro binds nothing any more: with `$e` for `1 + 1`, `2 * $e` would be 3. One
/// that holds an operator gets parentheses. Groups further inside are passed on without being taken apart, and keep it.
fn regrouped(token: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = &token else { return token };
    let binds = |expr: &Expr| {
        matches!(
            expr,
            Expr::Assign(_)
                | Expr::Binary(_)
                | Expr::Cast(_)
                | Expr::Closure(_)
                | Expr::Range(_)
                | Expr::Reference(_)
                | Expr::Unary(_)
        )
    };
    if group.delimiter() != Delimiter::None || !syn::parse2(group.stream()).is_ok_and(|expr| binds(&expr)) {
        return token;
    }
    let mut parentheses = Group::new(Delimiter::Parenthesis, group.stream());
    parentheses.set_span(Span::mixed_site().located_at(group.span()));
    TokenTree::Group(parentheses)
}

/// Inner attributes at the start of a body, and the body without them.
pub(crate) fn lift_inner_attributes(body: &Group) -> (TokenStream, Group) {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut at = 0;
    while let (Some(TokenTree::Punct(pound)), Some(TokenTree::Punct(bang)), Some(TokenTree::Group(_))) =
        (tokens.get(at), tokens.get(at + 1), tokens.get(at + 2))
    {
        if pound.as_char() != '#' || bang.as_char() != '!' {
            break;
        }
        at += 3;
    }
    if at == 0 {
        return (TokenStream::new(), body.clone());
    }
    let mut rest = Group::new(body.delimiter(), tokens[at..].iter().cloned().map(regrouped).collect());
    rest.set_span(body.span());
    (tokens[..at].iter().cloned().collect(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        Code(text.parse().expect("the test's own tokens"))
    }

    fn name(text: &str) -> Ident {
        Ident::new(text, Span::call_site())
    }

    #[test]
    fn a_name_is_found_in_groups_and_in_format_strings() {
        assert!(code("f(&[id])").mentions(&name("id")));
        assert!(code("format!(\"{id:?}\")").mentions(&name("id")));
        assert!(code("r#type + 1").mentions(&name("type")));
        assert!(!code("format!(\"{identity}\")").mentions(&name("id")));
        assert!(!code("idle").mentions(&name("id")));
    }

    #[test]
    fn a_path_is_shown_as_it_is_written() {
        assert_eq!(
            code("crate :: spare :: quote :: < u32 , u8 >").text(),
            "crate::spare::quote::<u32, u8>"
        );
        assert_eq!(code("< T as Desk > :: quote").text(), "<T as Desk>::quote");
    }

    #[test]
    fn segments_are_known_of_plain_paths_only() {
        assert_eq!(
            code("self::again").segments(),
            Some(vec!["self".to_owned(), "again".to_owned()])
        );
        assert_eq!(code("<T>::again").segments(), None);
    }
}
