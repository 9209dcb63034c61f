//! The hidden attribute's side: every entry, and the item they all stand on.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};

use crate::args::{Form, Kind, Layer};
use crate::fault::Faults;
use crate::function::Item;

/// All attributes of one item, in the order in which they are written.
pub(crate) struct Gathered {
    /// The first attribute: where faults about all of them belong.
    pub(crate) first: (Kind, Span),
    pub(crate) layers: Vec<Layer>,
    pub(crate) forms: Vec<Form>,
    /// Whether there is any `#[fallback]`, readable or not.
    pub(crate) has_fallback: bool,
    pub(crate) item: Item,
}

impl Gathered {
    /// Reads what can be read; the rest is in `faults`.
    pub(crate) fn read(entries: TokenStream, item: &TokenStream, faults: &mut Faults) -> Option<Self> {
        let entries = split(entries);
        let Some((kind, word, _)) = entries.first() else {
            faults.at(
                Span::call_site(),
                "this attribute is written by the others: use `#[breaker(\"…\")]`",
            );
            return None;
        };
        let first = (*kind, word.span());
        let mut layers = Vec::new();
        let mut forms = Vec::new();
        let mut has_fallback = false;
        for (kind, word, args) in entries {
            if kind == Kind::Fallback {
                has_fallback = true;
                forms.extend(Form::read(word.span(), args, faults));
            } else {
                layers.push(Layer::read(kind, word.span(), args, faults));
            }
        }
        Some(Self {
            first,
            layers,
            forms,
            has_fallback,
            item: Item::read(item, first.0.name()),
        })
    }
}

/// `breaker("payrail"), fallback(spare)`, as the relays wrote it.
fn split(entries: TokenStream) -> Vec<(Kind, Ident, TokenStream)> {
    let mut found = Vec::new();
    let mut tokens = entries.into_iter();
    while let (Some(word), Some(args)) = (tokens.next(), tokens.next()) {
        if let (TokenTree::Ident(word), TokenTree::Group(args)) = (word, args)
            && let Some(kind) = Kind::from_name(&word)
        {
            found.push((kind, word, args.stream()));
        }
        // The comma.
        tokens.next();
    }
    found
}
