//! The forms of `#[fallback(…)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, Expr, LitStr, Token, parenthesized};

use super::{each_argument, is_argument_end, path, skip_argument};
use crate::code::Code;
use crate::fault::Faults;

/// `word = code`.
#[derive(Clone)]
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

impl ToTokens for Given {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.word.to_tokens(tokens);
        self.code.to_tokens(tokens);
    }
}

/// One `#[fallback(…)]`.
#[derive(Clone)]
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
#[derive(Clone)]
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

/// A word of ours, or any word before `=`: not the path of a function.
fn is_word(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    let Ok(word) = fork.call(Ident::parse_any) else {
        return false;
    };
    if fork.peek(Token![=]) && !fork.peek(Token![==]) {
        return true;
    }
    let ours = ["value", "with", "refuse", "none", "stale", "one_per"];
    ours.iter().any(|ours| word == ours) && !fork.peek(Token![::])
}

fn literal(input: ParseStream<'_>) -> Error {
    let Ok(literal) = input.parse::<syn::Lit>() else {
        return input.error("expected a path");
    };
    let message = match &literal {
        syn::Lit::Str(text) if syn::parse_str::<syn::ExprPath>(&text.value()).is_ok() => {
            format!(
                "expected the path of a function, not a text: `#[fallback({})]`",
                text.value()
            )
        }
        syn::Lit::Str(_) => format!(
            "a text alone is no fallback: `none = {}` for a reason, `value = EXPR` for an answer",
            quote!(#literal)
        ),
        _ => format!("a fallback answer needs its word: `value = {}`", quote!(#literal)),
    };
    Error::new(literal.span(), message)
}

fn reason(word: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let at = if is_argument_end(input) {
        word.span()
    } else {
        input.span()
    };
    let reason: LitStr = input.parse().map_err(|_| {
        skip_argument(input);
        Error::new(at, "`none` takes the reason as a text: `none = \"reason\"`")
    })?;
    if reason.value().trim().is_empty() {
        return Err(Error::new(
            reason.span(),
            "the reason is empty: say in words why there is nothing to fall back on",
        ));
    }
    Ok(reason)
}

fn stale(word: &Ident, input: ParseStream<'_>) -> syn::Result<StaleKey> {
    const WAYS: &str = "`stale(key = EXPR)`, or `stale(shared)` where one answer serves all callers";
    if is_argument_end(input) {
        return Ok(StaleKey::Unsaid);
    }
    if !input.peek(syn::token::Paren) {
        return Err(Error::new(word.span(), format!("expected {WAYS}")));
    }
    let inner;
    parenthesized!(inner in input);
    if inner.is_empty() {
        return Ok(StaleKey::Unsaid);
    }
    let option = inner
        .call(Ident::parse_any)
        .map_err(|error| Error::new(error.span(), format!("expected {WAYS}")))?;
    let key = match option.to_string().as_str() {
        "key" if inner.peek(Token![=]) => {
            inner.parse::<Token![=]>()?;
            StaleKey::Given(Given::expression(&option, &inner)?.code)
        }
        "shared" => StaleKey::Shared,
        _ => return Err(Error::new(option.span(), format!("expected {WAYS}"))),
    };
    if inner.peek(Token![,]) {
        inner.parse::<Token![,]>()?;
    }
    if !inner.is_empty() {
        return Err(inner.error(format!("expected nothing more: {WAYS}")));
    }
    Ok(key)
}
