//! `word = code`, the shape of every option.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Error, Expr};

use super::{is_argument_end, path};
use crate::code::Code;

/// `word = code`.
pub(crate) struct Given {
    pub(crate) word: Ident,
    pub(crate) code: Code,
}

impl Given {
    pub(super) fn expression(word: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        Self::read(word, input, "an expression", Code::parse::<Expr>)
    }

    pub(super) fn path(word: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        Self::read(word, input, "a path", path)
    }

    fn read(
        word: &Ident,
        input: ParseStream<'_>,
        what: &str,
        reader: fn(ParseStream<'_>) -> syn::Result<Code>,
    ) -> syn::Result<Self> {
        let begin = input.span();
        let nothing = is_argument_end(input);
        match reader(input) {
            Ok(code) if is_argument_end(input) => Ok(Self {
                word: word.clone(),
                code,
            }),
            Ok(_) => Err(input.error(format!("`{word}` takes {what}, and this goes on behind its end"))),
            Err(_) => Err(Error::new(
                if nothing { word.span() } else { begin },
                format!("`{word}` takes {what}"),
            )),
        }
    }

    /// Stores it; the second of a kind is a fault at its word.
    pub(super) fn once(self, place: &mut Option<Self>) -> syn::Result<()> {
        if place.is_some() {
            return Err(Error::new(self.word.span(), format!("`{}` is given twice", self.word)));
        }
        *place = Some(self);
        Ok(())
    }
}
