//! The forms of `#[fallback(…)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, LitStr, Token};

use super::{Given, each_argument, is_argument_end, path};
use crate::code::Code;
use crate::fault::Faults;

mod read;

use read::{is_word, literal, reason, stale};

/// One `#[fallback(…)]`.
pub(crate) enum Form {
    Value(Given),
    /// `path`, `one_per`.
    Path(Code, Option<Given>),
    /// `with = path`, `one_per`.
    With(Given, Option<Given>),
    /// `stale`, `key = EXPR`; without a key one answer serves all callers.
    Stale(Ident, StaleKey),
    Refuse(Given),
    None(Ident, LitStr),
}

/// What a stale answer is an answer to.
pub(crate) enum StaleKey {
    Given(Code),
    /// `stale(shared)`.
    Shared,
    /// `stale` alone, which only a function without arguments may say.
    Unsaid,
}

/// The ways to write a fallback, for those who wrote none.
const FORMS: &str =
    "`path`, `with = path`, `value = EXPR`, `stale(key = EXPR)`, `refuse = path` or `none = \"reason\"`";

impl Form {
    /// Reads the form; nothing if that is impossible, with the reason in `faults`.
    pub(crate) fn read(span: Span, args: TokenStream, faults: &mut Faults) -> Option<Self> {
        let mut parts = Parts::default();
        let empty = args.is_empty();
        let mut mine = Faults::default();
        each_argument(args, &mut mine, |input| parts.argument(input));
        if mine.is_empty() && parts.form.is_none() {
            let message = if empty {
                format!("`#[fallback]` says nothing: write one of {FORMS}")
            } else {
                format!(
                    "`one_per` alone says nothing to run: write `#[fallback(path, one_per = …)]`, or one of {FORMS}"
                )
            };
            mine.at(span, message);
        }
        let sound = mine.is_empty();
        faults.append(mine);
        let form = parts.finish(faults)?;
        sound.then_some(form)
    }

    /// The word or path that says what it is.
    pub(crate) fn head(&self) -> TokenStream {
        match self {
            Self::Value(given) | Self::With(given, _) | Self::Refuse(given) => given.word.to_token_stream(),
            Self::Path(path, _) => path.to_token_stream(),
            Self::Stale(word, _) | Self::None(word, _) => word.to_token_stream(),
        }
    }

    /// Where it begins.
    pub(crate) fn place(&self) -> Span {
        self.head()
            .into_iter()
            .next()
            .map_or_else(Span::call_site, |token| token.span())
    }

    /// What it is called, in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Value(_) => "value".to_owned(),
            Self::Path(path, _) => path.text(),
            Self::With(given, _) => format!("with = {}", given.code.text()),
            Self::Stale(..) => "stale".to_owned(),
            Self::Refuse(_) => "refuse".to_owned(),
            Self::None(..) => "none".to_owned(),
        }
    }

    /// Whether nothing can come after it.
    pub(crate) fn always_answers(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Refuse(_) | Self::None(..))
    }

    /// Whether it may make up a success, which `fail = "closed"` rules out.
    pub(crate) fn makes_up(&self) -> bool {
        !matches!(self, Self::Refuse(_) | Self::None(..))
    }

    /// The expression in which arguments are in scope after the body.
    pub(crate) fn expression(&self) -> Option<&Code> {
        match self {
            Self::Value(given) | Self::Path(_, Some(given)) | Self::With(_, Some(given)) => Some(&given.code),
            _ => None,
        }
    }

    /// Whether it needs the receiver, which `word` spells.
    pub(crate) fn needs_self(&self, word: &Ident) -> bool {
        self.called().is_some_and(Code::begins_with_self_type)
            || self.expression().is_some_and(|code| code.mentions(word))
    }

    /// The function it calls, if that gets the arguments.
    pub(crate) fn called(&self) -> Option<&Code> {
        match self {
            Self::Path(path, _) => Some(path),
            Self::With(given, _) => Some(&given.code),
            _ => None,
        }
    }
}

/// The arguments of one `#[fallback(…)]` while they are read.
#[derive(Default)]
struct Parts {
    form: Option<Form>,
    one_per: Option<Given>,
}

impl Parts {
    fn argument(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(syn::Lit) {
            return Err(literal(input));
        }
        if !is_word(input) {
            let path = path(input).map_err(|error| Error::new(error.span(), format!("expected one of {FORMS}")))?;
            if !is_argument_end(input) {
                return Err(input.error("a fallback is the path of a function; its arguments are passed by themselves"));
            }
            let head = path.to_token_stream();
            return self.set(Form::Path(path, None), &head);
        }
        let word = input.call(Ident::parse_any)?;
        if word == "stale" {
            let key = stale(&word, input)?;
            return self.set(Form::Stale(word.clone(), key), &word);
        }
        if !input.peek(Token![=]) {
            let escape = format!("for a function of that name write `self::{word}`");
            return Err(Error::new(
                word.span(),
                match word.to_string().as_str() {
                    "none" => format!(
                        "`none` needs the reason why there is nothing to fall back on: `none = \"reason\"` ({escape})"
                    ),
                    "value" | "one_per" => format!("`{word}` needs an expression: `{word} = EXPR` ({escape})"),
                    _ => format!("`{word}` needs a path: `{word} = path` ({escape})"),
                },
            ));
        }
        input.parse::<Token![=]>()?;
        match word.to_string().as_str() {
            "value" => self.set(Form::Value(Given::expression(&word, input)?), &word),
            "with" => self.set(Form::With(Given::path(&word, input)?, None), &word),
            "refuse" => self.set(Form::Refuse(Given::path(&word, input)?), &word),
            "none" => self.set(Form::None(word.clone(), reason(&word, input)?), &word),
            "one_per" => Given::expression(&word, input)?.once(&mut self.one_per),
            "classify" | "crate" | "key" => Err(Error::new(
                word.span(),
                format!("`{word}` belongs to a layer, as in `#[breaker(\"…\", {word} = …)]`"),
            )),
            _ => Err(Error::new(
                word.span(),
                format!("`#[fallback]` has no form `{word}`; it has {FORMS}"),
            )),
        }
    }

    fn set(&mut self, form: Form, at: &impl ToTokens) -> syn::Result<()> {
        if self.form.is_some() {
            let message =
                "one form in one `#[fallback(…)]`: write another attribute below, they are tried in that order";
            return Err(Error::new_spanned(at, message));
        }
        self.form = Some(form);
        Ok(())
    }

    fn finish(self, faults: &mut Faults) -> Option<Form> {
        match (self.form?, self.one_per) {
            (Form::Path(path, _), one_per) => Some(Form::Path(path, one_per)),
            (Form::With(given, _), one_per) => Some(Form::With(given, one_per)),
            (form, Some(one_per)) => {
                let message = format!(
                    "`one_per` belongs to `path` and `with = path`: `{}` runs nothing that callers could share",
                    form.name()
                );
                faults.at(one_per.word.span(), message);
                None
            }
            (form, None) => Some(form),
        }
    }
}
